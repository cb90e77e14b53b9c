"""The command line's flags are frozen: a new, changed or lost one has to be meant.

To write the list anew: ``COLLMARK_WRITE_FLAGS=1 .venv/bin/pytest tests/architecture/test_flags.py``.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from typer.main import get_command

from collmark.cli.main import app

FROZEN = Path(__file__).with_name("flags.txt")


def flags() -> Iterator[str]:
    """Yield a line for each argument and option of every command."""
    commands = [("collmark", get_command(app))]
    for name, command in commands:  # which grows as groups are met
        commands += [(f"{name} {word}", child) for word, child in getattr(command, "commands", {}).items()]
        for parameter in command.params:
            if parameter.param_type_name == "argument":
                yield f"{name} <{parameter.name}>"
            else:
                yield f"{name} {' '.join((*parameter.opts, *parameter.secondary_opts))}"


def test_flags_are_the_frozen_ones() -> None:
    found = sorted(flags())
    if os.environ.get("COLLMARK_WRITE_FLAGS"):
        FROZEN.write_text("\n".join(found) + "\n", encoding="utf-8")
    frozen = FROZEN.read_text(encoding="utf-8").splitlines()
    changes = [f"+ {line}" for line in found if line not in frozen]
    changes += [f"- {line}" for line in frozen if line not in found]
    assert not changes, (
        "flags changed; if that is meant, say so in CHANGELOG.md and run\n"
        "COLLMARK_WRITE_FLAGS=1 .venv/bin/pytest tests/architecture/test_flags.py\n" + "\n".join(changes)
    )
