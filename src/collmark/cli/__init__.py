"""The command line: arguments, progress, tables, exit status; no logic."""
