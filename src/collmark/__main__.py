"""Run the command line: ``python -m collmark``."""

from collmark.cli.main import main

if __name__ == "__main__":
    main()
