"""What the doctor found stands among the warnings, each thing once."""

from __future__ import annotations

import msgspec
import pytest
from tests.analysis.made import curve, results_of
from tests.analysis.report.conftest import with_launches
from tests.analysis.report.test_sections import said

from collmark.analysis.report.material import gather
from collmark.analysis.report.sentences import sentences
from collmark.analysis.results import Results
from collmark.core.doctor.finding import Diagnosis, Finding, Level


def results(*findings: Finding) -> Results:
    """Return a run of three launches in each of which the same was found."""
    made = with_launches(results_of(curve(levels=(1.0, 1.0, 1.0))))
    diagnosis = Diagnosis(findings=list(findings), good=["world"], unknown={})
    launches = [msgspec.structs.replace(launch, doctor=diagnosis) for launch in made.run.launches]
    return msgspec.structs.replace(made, run=msgspec.structs.replace(made.run, launches=launches))


def test_what_was_found_is_said_once() -> None:
    found = Finding(
        check="governor",
        level=Level.WARNING,
        where="node-b",
        found="powersave",
        breaks="clocks follow",
        mend="cpupower",
    )
    words = said(results(found), "warnings")
    assert words.count("doctor governor: node-b: powersave: clocks follow -> cpupower") == 1


@pytest.mark.parametrize(("level", "is_said"), [(Level.WARNING, True), (Level.HINT, False)])
def test_what_was_found_is_the_first_thing_to_look_at(level: Level, is_said: bool) -> None:  # noqa: FBT001
    found = Finding(check="rdma", level=level, where="node-b", found="a port is down", breaks="slow", mend="ibstat")
    words = sentences(gather([results(found)])).next
    assert ("Look at this first, rdma: node-b: a port is down: slow -> ibstat." in words) is is_said
    assert ("Nothing that was looked for disturbed" in words) is not is_said


def test_nothing_is_said_of_what_was_good() -> None:
    assert "doctor" not in said(results(), "warnings")
