"""What differs between two sides, what moves figures most first."""

from __future__ import annotations

import msgspec
from tests.analysis.made import curve, results_of

from collmark.analysis.compare.differences import differences
from collmark.analysis.results import Results
from collmark.core.plan import Plan
from collmark.core.record import Host, Launch, Timer


def made(*, libraries: dict[str, str], environment: dict[str, str], host: str = "n1", seed: int = 1) -> Results:
    launch = Launch(
        id=1, backend="gloo", placement="1x2", started="2030-01-01T00:00:00Z", launcher="srun",
        hosts=[Host(name=host, ranks=[0, 1], cores=2, cpu="cpu", system="Linux 6", governor="performance")],
        libraries=libraries, environment=environment, scheduling="other", start_seconds=1.0,
        timer=Timer(name="clock", tick=0.0, cost=0.0, cost_p99=0.0, call_overhead=0.0, loop="native"),
    )  # fmt: skip
    results = results_of(curve(sizes=(1024,)))
    run = msgspec.structs.replace(results.run, launches=[launch], plan=Plan(seed=seed))
    return msgspec.structs.replace(results, run=run)


def test_equal_sides_do_not_differ() -> None:
    one = made(libraries={"torch": "2.13.0"}, environment={})
    assert differences([one], [one]) == ()


def test_libraries_come_first_and_our_own_terms_last() -> None:
    a = made(libraries={"torch": "2.12", "NCCL": "2.27"}, environment={"LANG": "C", "NCCL_ALGO": "Ring"})
    b = made(libraries={"torch": "2.13", "NCCL": "2.28"}, environment={"NCCL_ALGO": "Tree"}, host="n2", seed=2)
    found = differences([a], [b])
    assert [one.name for one in found] == ["NCCL", "torch", "hosts", "$NCCL_ALGO", "$LANG", "plan.seed"]
    assert found[0].words == "NCCL 2.27 -> 2.28"
    assert found[4].words == "$LANG C -> not set"


def test_what_a_side_has_two_values_of_differs_unless_the_other_has_both() -> None:
    one, two = (made(libraries={"torch": version}, environment={}) for version in ("2.12", "2.13"))
    assert [found.words for found in differences([one, two], [two])] == ["torch 2.12, 2.13 -> 2.13"]
    assert differences([one, two], [two, one]) == ()
