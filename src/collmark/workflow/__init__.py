"""What each command does, as plain functions: no argument parsing, no printing."""
