"""What each command does, as functions: no argument parsing, no printing."""
