"""nccl-tests' JSON (-J): one object a run, numbers of the table with six decimals.

Source: nccl-tests src/util.cu (jsonOutputInit, writeDeviceReport, writeBenchmarkLineBody, writePerIterReport): the root
is a padded string, NaN is the string "nan", what was not checked is null, booleans are strings. Rows of several cycles
(-N) follow each other. The environment is in it too, and is not looked at.
"""

from __future__ import annotations

import re
from typing import Any

from msgspec import structs

from collmark.analysis.importers.document import Document, Located
from collmark.analysis.importers.line import Line
from collmark.analysis.importers.nccl_draft import Context, drafts_of
from collmark.analysis.importers.nccl_head import complete, rule_of
from collmark.analysis.importers.nccl_json_row import Result, read_result, text_of
from collmark.analysis.importers.nccl_names import operation_of
from collmark.analysis.importers.nccl_operation import refusal
from collmark.analysis.importers.nccl_ranks import Counted, give
from collmark.analysis.importers.nccl_seen import operations_of
from collmark.analysis.importers.section import Log
from collmark.core.case import Cadence

_WHOLE = re.compile(r"0|[1-9]\d{0,17}", re.ASCII)


def reads(log: Log, document: Document) -> bool:
    """Return whether a document is a run of nccl-tests, which the log then has."""
    value = document.value
    if not isinstance(value, Located) or not isinstance(value.get("results"), list):
        return False
    if not isinstance(value.get("config"), Located) and "nccl_version" not in value:
        return False
    log.groups += 1
    _Run(log, document, value).read()
    return True


class _Run:
    def __init__(self, log: Log, document: Document, value: Located) -> None:
        self._log = log
        self._document = document
        self._value = value
        config = value.get("config")
        self._config: dict[str, Any] = config if isinstance(config, Located) else {}
        self._arguments = [one for one in value.get("args") or () if isinstance(one, str)]

    def read(self) -> None:
        """Give the rows to the log."""
        found: list[tuple[Located, Result]] = []
        for one in self._value["results"]:
            if isinstance(one, Located):
                self._collect(one, found)
        rows = [result.row for _, result in found]
        named = self._claimed()
        possible = operations_of(rows, claimed=named, named=True, asked=self._log.facts.operation)
        drafts: dict[tuple[str, ...], list[Counted]] = {}
        for (one, result), operations in zip(found, possible, strict=True):
            if not operations:
                self._skip(one, refusal(named))
                continue
            line, lines = self._document.lines_of(one)
            context = self._context(cpu_time=result.cpu_time, in_place=result.in_place)
            drafts.setdefault(operations, []).extend(
                Counted(structs.replace(draft, row=structs.replace(draft.row, lines=lines)), result.row.times)
                for draft in drafts_of(result.row, operations, line, context)
            )
        shape = self._shape()
        for counted in drafts.values():
            give(self._log, counted, *shape)

    def _collect(self, one: Located, found: list[tuple[Located, Result]]) -> None:
        """Read a result; name what is wrong about it, or about one of its halves."""
        _, lines = self._document.lines_of(one)
        result, faults = read_result(one, ragged=self._claimed() == "all_to_all_v", one_line=lines == 1)
        for fault in faults:
            self._skip(one, fault)
        if result is not None:
            found.append((one, result))

    def _skip(self, found: Located, reason: str) -> None:
        number, _ = self._document.lines_of(found)
        text = self._document.text[found.start : found.end].partition("\n")[0]
        self._log.skip(Line(number, text, text, ended=True), reason)

    def _claimed(self) -> str | None:
        return operation_of(self._arguments[0]) if self._arguments else None

    def _number(self, name: str) -> int | None:
        token = self._config.get(name)
        return int(token) if isinstance(token, str) and _WHOLE.fullmatch(token) else None

    def _shape(self) -> tuple[int | None, int | None]:
        """Return numbers of ranks and nodes: a device is listed for each process, the first of its own."""
        per_process = (self._number("nthreads") or 0) * (self._number("ngpus") or 0)
        devices = self._config.get("devices")
        if not isinstance(devices, list) or not 0 < per_process <= 2**10 or len(devices) > 2**20:
            return None, None
        lines: list[tuple[int, str, str]] = []
        for one in devices:
            fields = [one.get(name) for name in ("rank", "group", "hostname")] if isinstance(one, Located) else []
            if len(fields) != 3 or not all(isinstance(field, str) for field in fields):
                return None, None
            rank, group, host = fields
            if not _WHOLE.fullmatch(str(rank)):
                return None, None
            lines.extend((int(str(rank)) + index, str(group), str(host)) for index in range(per_process))
        return complete(lines, per_process)

    def _context(self, *, cpu_time: bool, in_place: bool) -> Context:
        repetitions = self._number("iterations")
        cadence = Cadence.ISOLATED if self._config.get("blocking_collectives") == "true" else Cadence.STREAMING
        return Context(
            file=self._log.name,
            group=self._log.groups,
            version=_version_of(self._value.get("nccl_version")),
            cadence=Cadence.GRAPH if self._number("graph") else cadence,
            rule=rule_of(" ".join(("", *self._arguments[1:]))),
            repetitions=repetitions and repetitions * (self._number("aggregated_iterations") or 1),
            in_place=in_place,
            cpu_time=cpu_time,
        )


def _version_of(code: object) -> str:
    """Return the version of NCCL by its number (nccl.h NCCL_VERSION: since 2.9 in steps of 10000, 100 and 1)."""
    text = text_of(code)
    if not _WHOLE.fullmatch(text) or len(text) > 6:
        return ""
    major, rest = divmod(int(text), 10000 if int(text) >= 10000 else 1000)
    return f"NCCL {major}.{rest // 100}.{rest % 100}"
