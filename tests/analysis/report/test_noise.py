"""What a machine did to its ranks stands among the warnings, and takes the place of "nothing disturbed"."""

from __future__ import annotations

import msgspec
from tests.analysis.made import curve, results_of
from tests.analysis.report.conftest import with_launches
from tests.analysis.report.test_sections import said

from collmark.analysis.report.material import gather
from collmark.analysis.report.sentences import sentences
from collmark.analysis.results import Results
from collmark.core.host_noise import HostNoise


def results(lost: float) -> Results:
    """Return a run of three launches whose two ranks lost such a share of their time, in many gaps."""
    noise = HostNoise(
        loop="native", threshold=5e-6, watched=[0.3, 0.3], lost=[0.3 * lost] * 2, long=[10, 10], largest=[0.002] * 2
    )
    made = with_launches(results_of(curve(levels=(1.0, 1.0, 1.0))))
    launches = [
        msgspec.structs.replace(launch, hosts=[msgspec.structs.replace(launch.hosts[0], noise=noise)])
        for launch in made.run.launches
    ]
    return msgspec.structs.replace(made, run=msgspec.structs.replace(made.run, launches=launches))


def test_a_bad_machine_is_among_the_warnings() -> None:
    words = said(results(0.2), "warnings")
    assert (
        "disturbance plain took 20 % of its ranks' time just before the cases (gaps up to 2 ms, 1.8 s watched)" in words
    )


def test_a_bad_machine_is_the_first_thing_to_look_at() -> None:
    assert "Look at this first: plain took 20 %" in sentences(gather([results(0.2)])).next


def test_a_quiet_machine_is_not_mentioned() -> None:
    assert "ranks' time" not in said(results(0.005), "warnings")
    assert "Nothing that was looked for disturbed these figures" in sentences(gather([results(0.005)])).next
