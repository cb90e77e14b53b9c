"""What was run and where, with the evidence for the link."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterable

from collmark.analysis.report.cells import name_heading, texts
from collmark.analysis.report.content import Section, Table
from collmark.analysis.report.material import Material
from collmark.analysis.report.sentences import placement_words
from collmark.analysis.results import Results
from collmark.core.marker import reported_words
from collmark.core.numeral import counted
from collmark.core.record import Host, Imported, Launch, Outcome
from collmark.core.units import GIB, format_duration

ANCHOR = "where"
MOST_HOSTS = 8
NOTHING = "-"


def where(material: Material) -> Section | None:
    """Return the facts of each run, side by side."""
    if not material.results:
        return None
    headings = ("", *(material.names[one.name] for one in material.results))
    rows = tuple(texts(name, *(told(one) or NOTHING for one in material.results)) for name, told in FACTS.items())
    caption = "One column a run. Evidence: what the tier is derived from; nothing about a link is assumed."
    table = Table(anchor="where-table", caption=caption, headings=tuple(map(name_heading, headings)), rows=rows)
    return Section(anchor=ANCHOR, title="What and where", question="May I compare this?", blocks=(table,))


def _listed(words: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(word for word in words if word))


def _hosts(one: Results) -> str:
    hosts = {host.name: host for launch in one.run.launches for host in launch.hosts}
    words = [f"{host.name}: {_of_host(host)}" for host in list(hosts.values())[:MOST_HOSTS]]
    more = [f"and {len(hosts) - MOST_HOSTS} more hosts"] if len(hosts) > MOST_HOSTS else []
    return _listed(words + more)


def _of_host(host: Host) -> str:
    """Return what is known of a host; of others than rank 0's little is."""
    memory = f"{host.memory / GIB:.0f} GiB" if host.memory else ""
    return ", ".join(filter(None, (host.cpu, f"{counted(host.cores, 'core')} for a rank", memory, host.system)))


def _ranks(one: Results) -> str:
    return _listed(placement_words(str(placement)) for placement in one.run.plan.placements)


def _backend(one: Results) -> str:
    return _listed(f"{case.backend} on {case.device}" for case in one.run.cases)


def _tier(one: Results) -> str:
    found = {
        (str(e.tier) + (f":{e.fabric}" if e.fabric else ""), " and ".join(e.because))
        for e in (record.evidence for record in one.records)
    }
    return _listed(
        f"{tier}, since {because}" if because else f"{tier}, without evidence" for tier, because in sorted(found)
    )


def _cases(one: Results) -> str:
    operations = dict.fromkeys(case.operation for case in one.run.cases)
    number = len(one.run.cases)
    return f"{number} case{'' if number == 1 else 's'}: {_listed(operations).replace('; ', ', ')}"


def _cadence(one: Results) -> str:
    is_told = not _imported(one)  # what a log does not tell, its cases do not know either
    return _listed(f"{c.cadence}{f', {c.buffers} buffers' if is_told else ''}" for c in one.run.cases)


def _scheduling(one: Results) -> str:
    return "" if _imported(one) else _listed(f"class {c.scheduling}, bound to {c.binding}" for c in one.run.cases)


def _imported(one: Results) -> list[Imported]:
    return [record.imported for record in one.records if record.imported is not None]


def _launches(one: Results) -> str:
    launches = one.run.launches
    ends = Counter(_outcome(launch) for launch in launches)
    words = ", ".join(f"{count} {end}" for end, count in ends.items())
    starters = _listed(launch.launcher for launch in launches)
    if launches:
        return f"{len(launches)} ({words}), started by {starters}"
    numbers = {record.launch for record in one.records if record.imported is not None}
    return f"{len(numbers)} in the logs" if numbers else ""


def _outcome(launch: Launch) -> str:
    return Outcome(launch.outcome).value if launch.outcome else "without an end"


def _records(one: Results) -> str:
    kept = [record for record in one.records if record.sentinel is None]
    words = ", ".join(f"{count} {status}" for status, count in Counter(str(r.status) for r in kept).items())
    reported = reported_words(figure.origin for figure in _imported(one))
    return f"{len(kept)}" + (f": {words}" if words else "") + (f"; T: {reported}" if reported else "")


def _took(one: Results) -> str:
    seconds = sum(record.wall for record in one.records)
    return f"{one.run.created}; {format_duration(seconds)} of measuring" if seconds > 0 else one.run.created


def _clock(one: Results) -> str:
    return _listed(f"{launch.timer.name}, loop: {launch.timer.loop}" for launch in one.run.launches)


FACTS: dict[str, Callable[[Results], str]] = {
    "label": lambda one: one.run.label,
    "created (UTC)": _took,
    "command": lambda one: shlex.join(one.run.command),
    "hosts": _hosts,
    "ranks": _ranks,
    "backend": _backend,
    "tier and evidence": _tier,
    "cases": _cases,
    "cadence": _cadence,
    "scheduling": _scheduling,
    "launches": _launches,
    "records": _records,
    "clock": _clock,
    "collmark": lambda one: one.run.version,
}
"""Facts of a run, in the order in which they are shown."""
