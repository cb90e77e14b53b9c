"""The two changes that are not made are those whose outcome is a log of another run, and no others."""

from random import Random

import pytest
from tests.analysis.importers import mutations

COMMAND = "$ mpirun -np 8 ./comms.py --f 8 --collective all_to_allv\n"
ROWS = [
    "      10000         72         77         94        172        0.238      25581\n",
    "      20000         89         95        116        212        0.387      20754\n",
]


def test_a_command_line_is_cut_everywhere_but_where_it_names_another_collective() -> None:
    random = Random(1)
    left = {"".join(mutations.cut_line(random, [COMMAND])).rstrip("\n") for _ in range(4000)}
    assert left == {COMMAND[:end].rstrip("\n") for end in range(len(COMMAND))} - {COMMAND[:-2]}


@pytest.mark.parametrize(
    ("line", "is_forged"),
    [
        (ROWS[0], False),
        (ROWS[0].replace("25581", "  200"), True),
        (ROWS[0].replace("25581", "200"), False),
        (ROWS[0].replace("0.238", "0.239"), False),
        (ROWS[0].replace("      25581", ""), False),
        ("\n", False),
    ],
)
def test_only_a_row_whose_last_number_alone_is_another_is_a_forged_one(line: str, *, is_forged: bool) -> None:
    assert mutations.forged([ROWS[1], line], ROWS) == ([2] if is_forged else [])
