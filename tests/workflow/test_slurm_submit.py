"""Submission: each job once, in order, noted before the next; what is measured or queued is not submitted again."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest
from tests.workflow.slurm_stub import SlurmStub

from collmark.bench.cluster.profile import Profile
from collmark.bench.cluster.state import FOLDER, read_state, submitting
from collmark.core.errors import CollmarkError, PlanError, UnavailableError, UsageError
from collmark.core.placement import Placement
from collmark.core.plan import Plan, load_plan
from collmark.core.record import Outcome as Ending
from collmark.core.store import RECORDS_FILE, RunFolder
from collmark.workflow.interruption import StopSignals
from collmark.workflow.prepare import prepare
from collmark.workflow.run import Sink, carry_out, create_run
from collmark.workflow.slurm_jobs import Laid, lay_jobs, time_words
from collmark.workflow.slurm_status import cancel_jobs, missing_launches, status_of
from collmark.workflow.slurm_submit import Outcome, submit_jobs

PLAN = Plan(backends=("simulated",), operations=("all_reduce",), sizes="64B:4KiB:x8", launches=2)
SITE = Profile(nodes=4, cpus_per_node=2)
CASES = 3


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SlurmStub:
    (tmp_path / "bin").mkdir()
    stub = SlurmStub(tmp_path / "bin")
    monkeypatch.setenv("PATH", stub.path)
    return stub


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "results"


def lay(results: Path, plan: Plan = PLAN, profile: Profile = SITE, allocations: int = 1) -> Laid:
    return lay_jobs(plan, profile, results, allocations=allocations)


def submitted(laid: Laid) -> dict[str, Outcome]:
    return {f"{outcome.name}/{outcome.allocation}": outcome for outcome in submit_jobs(laid)}


def ids(outcomes: dict[str, Outcome]) -> dict[str, str]:
    return {name: outcome.id for name, outcome in outcomes.items()}


def measure(results: Path, name: str, launches: int) -> None:
    """Measure what a job would: ranks of simulations need no other nodes."""
    plan = msgspec.structs.replace(load_plan(results / FOLDER / f"{name}.json"), launches=launches)
    prepared = prepare(plan, ranks=None, oversubscribe=False, joined=None)
    path = results / f"{name}-simulated"
    folder = RunFolder(path) if path.exists() else create_run(prepared, output=None, label="", command=[], path=path)
    folder.write_run(msgspec.structs.replace(folder.read_run(), plan=plan))
    with StopSignals(lambda _number: None) as signals:
        carry_out(folder, Sink(emit=lambda _event: None, on_fault=lambda _text: None), signals)


NAMES = ("tier-a", "tier-b", "nodes-2", "nodes-4")


def test_a_job_for_each_placement_and_one_that_collects_after_all(slurm: SlurmStub, results: Path) -> None:
    found = ids(submitted(lay(results)))
    assert found == {
        "tier-a/1": "100",
        "tier-b/1": "101",
        "nodes-2/1": "102_2",
        "nodes-4/1": "102_4",
        "collect/1": "103",
    }
    assert slurm.calls("sbatch")[-1][1] == "--dependency=afterany:100:101:102_2:102_4"
    assert not any("--dependency" in word for words in slurm.calls("sbatch")[:-1] for word in words)


def test_elements_of_an_array_ask_for_as_many_nodes_as_they_use(slurm: SlurmStub, results: Path) -> None:
    submitted(lay(results))
    assert slurm.calls("sbatch")[2][:4] == ["--parsable", "--hold", "--array=2,4", "--nodes=4"]
    assert [words[1:] for words in slurm.calls("scontrol")] == [
        ["JobId=102_2", "NumNodes=2-2", "NumTasks=4", "NumCPUs=4"],
        ["JobId=102_4", "NumNodes=4-4", "NumTasks=8", "NumCPUs=8"],
        ["102"],
    ]


def test_submitting_twice_submits_once(slurm: SlurmStub, results: Path) -> None:
    submitted(lay(results))
    again = submitted(lay(results))
    assert {outcome.words for outcome in again.values()} == {"queued already, pending"}
    assert len(slurm.calls("sbatch")) == 4


@pytest.mark.parametrize("state", ["CONFIGURING", "COMPLETING", "SUSPENDED", "REQUEUED", "SIGNALING", "STAGE_OUT"])
def test_a_job_in_any_state_that_is_not_its_last_is_left_alone(slurm: SlurmStub, results: Path, state: str) -> None:
    plan = msgspec.structs.replace(PLAN, placements=(Placement(nodes=2),))
    submitted(lay(results, plan))
    slurm.set(state)
    assert submitted(lay(results, plan))["2x1/1"].words == f"queued already, {state.lower()}"


def test_a_federations_answer_names_the_cluster_too(slurm: SlurmStub, results: Path) -> None:
    (slurm.folder / "sbatch").write_text("#!/bin/sh\necho 'a word of the site'\necho '7;big'\n", encoding="utf-8")
    assert submitted(lay(results))["tier-a/1"].id == "7"


def test_what_is_measured_is_not_submitted_and_what_was_lost_is(slurm: SlurmStub, results: Path) -> None:
    submitted(lay(results))
    measure(results, "tier-a", 2)
    measure(results, "nodes-2", 1)
    slurm.set("FAILED")
    found = submitted(lay(results))
    assert found["tier-a/1"].words == "all there, nothing to submit"
    assert {name for name, outcome in found.items() if outcome.words == "submitted"} == {
        "tier-b/1",
        "nodes-2/1",
        "nodes-4/1",
    }
    assert slurm.calls("sbatch")[-1][1] == "--dependency=afterany:104:105_2:105_4"
    assert slurm.calls("scancel") == [], "the job that collected has ended"
    for name in NAMES[1:]:
        measure(results, name, 2)
    slurm.set("COMPLETED")
    assert not [outcome for outcome in submitted(lay(results)).values() if outcome.id]


def test_only_the_elements_that_lack_something_are_submitted_again(slurm: SlurmStub, results: Path) -> None:
    submitted(lay(results))
    for name in ("tier-a", "tier-b", "nodes-4"):
        measure(results, name, 2)
    slurm.set("NODE_FAIL")
    found = submitted(lay(results))
    assert found["nodes-2/1"].id.endswith("_2")
    assert {"--array=2", "--nodes=2"} < set(slurm.calls("sbatch")[4])


def test_jobs_that_slurm_has_forgotten_are_judged_by_their_records(slurm: SlurmStub, results: Path) -> None:
    submitted(lay(results))
    measure(results, "tier-a", 2)
    measure(results, "tier-b", 1)
    slurm.set("FORGOTTEN")
    with (results / "tier-b-simulated/records.jsonl").open("ab") as file:
        file.write(b'{"half a ')  # as a job may be writing it
    rows = {row.name: row for row in status_of(results).rows}
    assert [(rows[name].records, rows[name].wanted) for name in NAMES] == [(6, 6), (3, 6), (0, 6), (0, 6)]
    assert rows["tier-a"].is_done
    assert rows["tier-b"].queued.state == "FORGOTTEN"
    assert status_of(results).is_over


def test_allocations_follow_each_other_into_the_same_run(slurm: SlurmStub, results: Path) -> None:
    found = submitted(lay(results, allocations=2))
    first, second = found["tier-a/1"].id, found["tier-a/2"].id
    words = next(words for words in slurm.calls("sbatch") if words[-1].endswith("tier-a-2.sbatch"))
    assert words[1] == f"--dependency=afterany:{first}"
    assert second != first
    slurm.set("FAILED", "100")
    submitted(lay(results))
    assert slurm.calls("scancel") == [[found["collect/1"].id]], "another collects what is measured anew"
    text = (results / FOLDER / "tier-a-2.sbatch").read_text(encoding="utf-8")
    assert "\nlaunches=4\n" in text
    assert "\nname=tier-a\n" in text
    measure(results, "tier-a", 3)
    rows = {row.allocation: row for row in status_of(results).rows if row.name == "tier-a"}
    assert [(rows[number].records, rows[number].wanted) for number in (1, 2)] == [(6, 6), (3, 6)]
    assert missing_launches(results / "tier-a-simulated", 4) == [4]


def test_another_plan_or_site_needs_another_folder(slurm: SlurmStub, results: Path) -> None:
    submitted(lay(results))
    with pytest.raises(PlanError, match="tier-a: the run was made with another plan: launches differ"):
        submitted(lay(results, plan=msgspec.structs.replace(PLAN, launches=3)))
    with pytest.raises(UsageError, match=r"tier-a was submitted as 1x2, and is 1x4 now"):
        submitted(lay(results, profile=Profile(nodes=4, cpus_per_node=4)))
    submitted(lay(results, profile=msgspec.structs.replace(SITE, account="mended")))
    assert len(slurm.calls("sbatch")) == 4


def test_placements_of_several_plans_lie_in_one_folder(slurm: SlurmStub, results: Path) -> None:
    """So that a slow link need not carry the sizes of a fast one."""
    for name, sizes in (("fast", "64B:4KiB:x8"), ("slow", "64B")):
        place = Placement(nodes=2, label=name, nodelist="n[1-2]" if name == "fast" else "n[3-4]")
        plan = msgspec.structs.replace(PLAN, sizes=sizes, placements=(place,))
        submitted(lay(results, plan))
        assert submitted(lay(results, plan))[f"{name}/1"].words == "queued already, pending"
    assert [(row.name, row.wanted) for row in status_of(results).rows] == [("fast", 6), ("slow", 2)]
    assert slurm.calls("sbatch")[-1][1] == "--dependency=afterany:100:102"


def test_a_refusal_keeps_what_was_submitted_before(slurm: SlurmStub, results: Path) -> None:
    outcomes = submit_jobs(lay(results))
    assert next(outcomes).id == "100"
    slurm.fail("sbatch", words="sbatch: error: Batch job submission failed: Invalid account")
    with pytest.raises(UsageError, match="sbatch refused: Batch job submission failed: Invalid account"):
        list(outcomes)
    state = read_state(results)
    assert state is not None
    assert [entry.ids for entry in state.entries] == [("100",)]
    slurm.fail()
    assert submitted(lay(results))["tier-a/1"].words.startswith("queued already")


def test_of_a_launch_whose_budget_is_spent_nothing_more_is_expected(slurm: SlurmStub, results: Path) -> None:
    """Else its job would begin it again and again."""
    del slurm
    plan = msgspec.structs.replace(PLAN, launches=1, placements=(Placement(nodes=2),))
    submitted(lay(results, plan))
    measure(results, "2x1", 1)
    folder = RunFolder(results / "2x1-simulated")
    lines = (folder.path / RECORDS_FILE).read_bytes().splitlines(keepends=True)
    (folder.path / RECORDS_FILE).write_bytes(b"".join(lines[:1]))
    assert missing_launches(folder.path, 1) == [1]
    (launch,) = folder.read_run().launches
    spent = msgspec.structs.replace(launch, outcome=Ending.BUDGET)
    folder.write_run(msgspec.structs.replace(folder.read_run(), launches=[spent]))
    assert missing_launches(folder.path, 1) == []


def test_a_launch_that_was_broken_off_before_its_last_sentinel_goes_on(slurm: SlurmStub, results: Path) -> None:
    del slurm
    plan = msgspec.structs.replace(PLAN, launches=1, placements=(Placement(nodes=2),))
    submitted(lay(results, plan))
    measure(results, "2x1", 1)
    folder = RunFolder(results / "2x1-simulated")
    assert missing_launches(folder.path, 1) == []
    lines = (folder.path / RECORDS_FILE).read_bytes().splitlines(keepends=True)
    (folder.path / RECORDS_FILE).write_bytes(b"".join(line for line in lines if b'"sentinel":"end"' not in line))
    assert missing_launches(folder.path, 1) == [], "it says itself that it is complete"
    (launch,) = folder.read_run().launches
    broken = msgspec.structs.replace(launch, outcome=Ending.INTERRUPTED)
    folder.write_run(msgspec.structs.replace(folder.read_run(), launches=[broken]))
    assert missing_launches(folder.path, 1) == [1]


def test_a_controller_that_does_not_answer(slurm: SlurmStub, results: Path) -> None:
    submitted(lay(results))
    slurm.fail("squeue", words="slurm_load_jobs error: Unable to contact slurm controller (connect failure)")
    with pytest.raises(UnavailableError, match="squeue refused: slurm_load_jobs error: Unable to contact"):
        submitted(lay(results))
    found = status_of(results)
    assert found.notices[0].startswith("what Slurm says is not known")
    assert [row.wanted for row in found.rows] == [6, 6, 6, 6]
    assert {row.queued.state for row in found.rows} == {"UNKNOWN"}
    assert not found.is_over, "whoever watches goes on watching"


def test_elements_that_cannot_be_shrunk_run_all_the_same(slurm: SlurmStub, results: Path) -> None:
    def fail() -> None:
        (slurm.folder / "scontrol").write_text('#!/bin/sh\necho "$@" >>"${0%/*}/asked"\n[ "$1" = release ]\n')

    fail()
    assert submitted(lay(results))["nodes-2/1"].id == "102_2"
    assert (slurm.folder / "asked").read_text().splitlines()[-1] == "release 102"


def test_a_job_that_stays_held_is_named(slurm: SlurmStub, results: Path) -> None:
    slurm.fail("scontrol", words="slurm_update error: Socket timed out on send/recv operation")
    with pytest.raises(UsageError, match=r"job 102 is held, and would wait for ever: scontrol release 102 \(scontrol"):
        submitted(lay(results))


def test_a_job_whose_id_was_lost_is_found_in_the_queue(slurm: SlurmStub, results: Path) -> None:
    submitted(lay(results))
    (results / FOLDER / "jobs.json").unlink()
    again = submitted(lay(results))
    assert {outcome.words for outcome in again.values()} == {"queued already, pending"}
    assert len(slurm.calls("sbatch")) == 4
    assert [row.id for row in status_of(results).rows] == ["100", "101", "102_2", "102_4"]


def test_what_users_keep_in_variables_changes_neither_jobs_nor_answers(
    slurm: SlurmStub, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SBATCH_TIMELIMIT", "SBATCH_WAIT", "SBATCH_ACCOUNT", "SBATCH_QOS", "SQUEUE_PARTITION", "SQUEUE_SORT"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("LOGNAME", "somebody")  # as su leaves it
    monkeypatch.setenv("SLURM_MEM_PER_CPU", "300")  # inside an allocation; srun ends where it finds it beside --mem
    monkeypatch.setenv("SLURM_CONF", "/etc/slurm.conf")
    submitted(lay(results, profile=msgspec.structs.replace(SITE, account="ours")))
    kept = {name for name in slurm.variables("sbatch") if name.startswith("SBATCH_")}
    assert kept == {"SBATCH_QOS"}, "which the profile leaves open; the account is the profile's"
    assert not {name for name in slurm.variables("squeue") if name.startswith("SQUEUE_")}
    assert [name for name in slurm.variables("sbatch") if name.startswith("SLURM_")] == ["SLURM_CONF"]
    assert {"--all", f"--user={os.getuid()}"} < set(slurm.calls("squeue")[0])


def test_another_cluster_is_refused(slurm: SlurmStub, results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_CLUSTERS", "other")
    with pytest.raises(UsageError, match="SLURM_CLUSTERS is set"):
        submitted(lay(results))
    assert not slurm.jobs


def test_an_answer_that_is_not_understood_submits_nothing(slurm: SlurmStub, results: Path) -> None:
    (slurm.folder / "squeue").write_text("#!/bin/sh\necho CLUSTER: other\n", encoding="utf-8")
    with pytest.raises(UnavailableError, match="squeue gave a line that is not understood: 'CLUSTER: other'"):
        submitted(lay(results))
    assert not slurm.jobs


def test_a_plan_that_leaves_a_sites_gpus_idle_is_told(results: Path) -> None:
    site = Profile(nodes=4, cpus_per_node=64, gpus_per_node=4)

    def told(backend: str) -> list[str]:
        plan = msgspec.structs.replace(PLAN, backends=(backend,))
        return [notice for notice in lay(results, plan, site).notices if "the site has GPUs" in notice]

    assert (len(told("gloo")), len(told("nccl"))) == (1, 0)


@pytest.mark.parametrize(
    ("labels", "name"), [(("collect",), "collect"), (("jobs",), "jobs"), (("pair", "pair-2"), "pair-2")]
)
def test_labels_that_would_name_another_file_are_refused(results: Path, labels: tuple[str, ...], name: str) -> None:
    places = tuple(Placement(nodes=2 + number, label=label) for number, label in enumerate(labels))
    with pytest.raises(PlanError, match=f"placements: label '{name}'"):
        lay(results, msgspec.structs.replace(PLAN, placements=places), allocations=2)


def test_two_submissions_at_once(slurm: SlurmStub, results: Path) -> None:
    with submitting(results), pytest.raises(UsageError, match="is at work there"):
        submitted(lay(results))
    assert not slurm.jobs


def test_cancel_ends_what_runs_or_waits(slurm: SlurmStub, results: Path) -> None:
    submitted(lay(results))
    slurm.set("COMPLETED", "100")
    assert cancel_jobs(results) == ["101", "102_2", "102_4", "103"]
    assert slurm.jobs == {"100": "COMPLETED", **dict.fromkeys(("101", "102_2", "102_4", "103"), "CANCELLED")}
    assert cancel_jobs(results) == []


def test_without_slurm_it_is_said(results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnavailableError, match="squeue is not here: run this on a login node"):
        submitted(lay(results))


def test_a_frozen_plan_is_read_as_it_was_written(slurm: SlurmStub, results: Path) -> None:
    del slurm
    plan = msgspec.structs.replace(PLAN, traffic="uniform", shares={"simulated": 2.0}, simulation={"alpha": 1e-6})
    submitted(lay(results, plan=plan))
    wanted = msgspec.structs.replace(plan, placements=(Placement(nodes=2),))
    assert load_plan(results / FOLDER / "tier-b.json") == wanted


def test_the_time_limit_is_above_the_bound_and_below_the_sites(results: Path) -> None:
    (job, *_others) = lay(results).jobs
    assert job.entries[0].seconds > 1.5 * job.bound
    assert "half as much again" in time_words(job)
    longer = msgspec.structs.replace(PLAN, launches=9)
    laid = lay(results, longer, msgspec.structs.replace(SITE, time_limit="6:00"))
    assert laid.jobs[0].entries[0].seconds == 360
    assert any("requeues itself" in notice for notice in laid.notices)
    with pytest.raises(UsageError, match="time_limit: 5:00: too short"):
        lay(results, profile=msgspec.structs.replace(SITE, time_limit="5:00"))


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (msgspec.structs.replace(PLAN, launches="auto"), "launches auto"),
        (msgspec.structs.replace(PLAN, placements=(Placement(nodes=9),)), "placements: 9x1: the profile has 4 nodes"),
        (msgspec.structs.replace(PLAN, placements=(Placement(nodelist="n1"),)), "give it a label"),
        (
            msgspec.structs.replace(PLAN, placements=(Placement(nodelist="n1 --uid=0", label="x"),)),
            "placements: nodelist 'n1 --uid=0': write it as Slurm does",
        ),
        (msgspec.structs.replace(PLAN, placements=(Placement(), Placement())), "stands there twice"),
        (msgspec.structs.replace(PLAN, sizes="nonsense"), "sizes"),
    ],
)
def test_wrong_plans_are_one_line(results: Path, plan: Plan, words: str) -> None:
    with pytest.raises(CollmarkError, match=words) as told:
        lay(results, plan=plan)
    assert len(str(told.value).splitlines()) == 1
