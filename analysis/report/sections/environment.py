"""The environment: can I repeat it? What differs between launches and hosts comes first."""

from __future__ import annotations

from collections.abc import Iterator

from collmark.analysis.facts import facts_of
from collmark.analysis.report.cells import name_heading, texts
from collmark.analysis.report.content import Block, Section, Table, Text
from collmark.analysis.report.material import Material

ABSENT = "not set"
MOST_PLACES = 6
Facts = dict[str, dict[str, list[str]]]
"""Fact to value to the places where it is so."""


def environment(material: Material) -> Section | None:
    """Return libraries, variables and hosts: what differs, then what is the same everywhere."""
    facts = _facts(material)
    if not facts:
        return None
    differing = {name: values for name, values in facts.items() if len(values) > 1}
    shared = {name: next(iter(values)) for name, values in facts.items() if len(values) == 1}
    blocks: list[Block] = []
    if differing:
        blocks.append(
            Table(
                anchor="differences",
                caption="Differs between launches or hosts.",
                headings=tuple(map(name_heading, ("what", "value", "where"))),
                rows=tuple(
                    texts(name if first else "", value, _places(places))
                    for name, values in differing.items()
                    for first, (value, places) in zip([True] + [False] * len(values), values.items(), strict=False)
                ),
            )
        )
    else:
        blocks.append(Text(words="Nothing that was recorded differs between launches or hosts."))
    if shared:
        caption = "The same everywhere. Variables: those that an allow-list names, without credentials."
        rows = tuple(texts(name, value) for name, value in shared.items())
        headings = (name_heading("what"), name_heading("value"))
        blocks.append(Table(anchor="environment-table", caption=caption, headings=headings, rows=rows))
    return Section(anchor="environment", title="Environment", question="Can I repeat it?", blocks=tuple(blocks))


def _places(places: list[str]) -> str:
    more = f" and {len(places) - MOST_PLACES} more" if len(places) > MOST_PLACES else ""
    return ", ".join(places[:MOST_PLACES]) + more


def _facts(material: Material) -> Facts:
    told = list(_told(material))
    kinds: dict[str, dict[str, dict[str, str]]] = {}
    for kind, place, name, value in told:
        kinds.setdefault(kind, {}).setdefault(name, {})[place] = value
    places = {kind: dict.fromkeys(place for k, place, _n, _v in told if k == kind) for kind in kinds}
    facts: Facts = {}
    for kind, names in kinds.items():
        for name, values in names.items():
            for place in places[kind]:
                facts.setdefault(name, {}).setdefault(values.get(place, ABSENT), []).append(place)
    return facts


def _told(material: Material) -> Iterator[tuple[str, str, str, str]]:
    """Yield kind of place, place, fact and value."""
    several = len(material.results) > 1
    for one in material.results:
        prefix = f"{material.names[one.name]} " if several else ""
        for fact in facts_of(one.run):
            yield fact.kind, f"{prefix}launch {fact.launch} {fact.host}".rstrip(), fact.name, fact.value
