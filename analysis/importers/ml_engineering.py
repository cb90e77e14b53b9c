"""The all_reduce benchmarks of ml-engineering that print a few lines a figure (network/benchmarks).

all_reduce_bench.py until 2024: a title with payload, trials and ranks, then algbw and busbw; both are means of rates
over trials and ranks, so T is their payload over algbw. Its versions of 2022 and 2023, and all_reduce_latency_comp.py:
under a title each rank prints duration, algbw (or "algo throughput", twice as much) and busbw; T is told best by busbw,
which alone is printed everywhere, and the number of ranks. In latency_comp, "1000x 0.004GB" is a loop of so many calls.
GB are 1e9 bytes of float32. The tables of later versions are in ml_engineering_table.py.
"""

from __future__ import annotations

import re

import msgspec

from collmark.analysis.importers.figure import Figure, figure, quotient, ratio
from collmark.analysis.importers.line import Line
from collmark.analysis.importers.row import Row
from collmark.analysis.importers.section import Draft, Importer, Log, Section
from collmark.analysis.importers.settle import SLACK, recovered, settle
from collmark.core.case import Cadence, Device

_AVERAGE = re.compile(
    r"The average bandwidth of all_reduce with a (\d{1,6}\.\d{1,9})GB payload \((\d{1,9}) trials, (\d{1,7}) ranks\):"
)
_BOTH_UNITS = re.compile(r"\s*(algbw|busbw): (\d+\.\d{3}) GBps \((\d+\.\d) Gbps\)")
_PAYLOAD = re.compile(r"-{11} (\d{1,9})x (\d{1,6}\.\d{1,9})GB -{16}")
_TRIAL = re.compile(r"-{11}trial-(\d{1,9})-{16}")
_DATA = re.compile(r"(?:\S+ )?data size: (\d{1,6}\.\d{1,9}) GB")
_DURATION = re.compile(r"\s*duration: (\d+\.\d{3,4}) sec")
_ALGORITHM = re.compile(r"\s*(?:algbw: (\d+\.\d{3})|algo throughput: (?:\d+\.\d{4} bps, )?(\d+\.\d{4})) Gbps")
_BUS = re.compile(r"\s*busbw: (\d+\.\d{3,4})  ?Gbps")
_PROCESSES = re.compile(r"--nproc[_-]per[_-]node[ =](\d{1,6})(?=\s|$)")
_NODES = re.compile(r"--nnodes[ =](\S+)")
_LAUNCHED = re.compile(r"\b(?:all_reduce_bench|all_reduce_latency_comp|torch-dist-bench)\.py(?=\s|$)")
_MARKS = ("bw: ", "throughput: ", "duration: ", "-----------", "data size: ", " of all_reduce with ")
GIGA, GIGABIT = 1e9, 1e9 / 8
MEAN_RATE = "mean of rates of iterations, mean of rates of ranks"


class _Run(msgspec.Struct, frozen=True, kw_only=True):
    """What the lines above figures say.

    Attributes
    ----------
    tool : str
    nbytes : int or None
        Of one call.
    calls : int
        In the loop that is timed; 0 where only the mean over trials is printed.
    ranks, trials : int or None
    title : Line or None
        With the payload, where that is part of the figure.
    """

    tool: str = "all_reduce_bench"
    nbytes: int | None = None
    calls: int = 1
    ranks: int | None = None
    trials: int | None = None
    title: Line | None = None
    payload: str = ""


class AllReduceSection(Section):
    """Figures under titles, in the order in which they stand."""

    def __init__(self, log: Log) -> None:
        super().__init__(log)
        self._run = _Run()
        self._trial = -1
        self._launched: tuple[int | None, int | None] = (None, None)
        self._forget()

    def _forget(self) -> None:
        self._duration: Figure | None = None
        self._algorithm: tuple[Line, str, Figure, float] | None = None

    def take(self, line: Line) -> bool:
        """Read a title or one of the lines of a figure."""
        text = line.text
        if not any(mark in text for mark in _MARKS):
            return False
        if text.startswith(("The average bandwidth of all_reduce with", "-----------")) or "data size: " in text:
            return self._title(line)
        if match := _DURATION.fullmatch(text):
            self._forget()
            self._duration = figure(match[1])
        elif match := _BOTH_UNITS.fullmatch(text):
            self._both_units(line, match)
        elif match := _ALGORITHM.fullmatch(text):
            self._give_up()
            scale = 1.0 if match[1] else 2.0
            bandwidth = figure(match[1] or match[2], GIGABIT)
            self._algorithm = (line, match[1] or match[2], bandwidth, scale) if bandwidth else None
        elif match := _BUS.fullmatch(text):
            self._of_one_rank(line, match[1])
        elif re.match(r"\s*(?:algbw|busbw|algo throughput|duration): ", text):
            self.log.skip(line, "not a figure of the benchmark, or cut off")
            self._forget()
        else:
            return False
        return True

    def finish(self) -> None:
        """Name a figure that is not whole."""
        self._give_up()

    def _give_up(self) -> None:
        """Name the title of a figure whose bandwidths did not come."""
        if self._run.title is not None:
            self.log.skip(self._run.title, "its bandwidths do not follow")
            self._run = _Run()
        self._algorithm = None

    def _title(self, line: Line) -> bool:
        text = line.text
        if "data size: " in text:
            if match := _DATA.fullmatch(text):
                self._begin(_Run(nbytes=_bytes(match[1])), trial=-1)
                self._launched = launched(self.log)
            return True
        if match := _TRIAL.fullmatch(text):
            again = int(match[1]) <= self._trial
            self._begin(_Run() if again else self._run, trial=int(match[1]))
        elif match := _PAYLOAD.fullmatch(text):
            run = _Run(tool="all_reduce_latency_comp", nbytes=_bytes(match[2]), calls=int(match[1]))
            if run.calls <= self._run.calls or run.tool != self._run.tool:
                self._launched = launched(self.log)  # the fewest calls come first
            self._begin(run, trial=self._trial)
        elif match := _AVERAGE.fullmatch(text):
            ranks, trials = int(match[3]) or None, int(match[2])
            run = _Run(nbytes=_bytes(match[1]), calls=0, trials=trials, ranks=ranks, title=line, payload=match[1])
            self._begin(run, trial=-1)
            self._launched = launched(self.log)
        elif text.startswith("The") or re.match(r"-{11}(?:trial| \d+x)", text):
            self._begin(_Run(), trial=-1)
        else:
            return False
        return True

    def _begin(self, run: _Run, trial: int) -> None:
        if run is not self._run:
            self._give_up()
        self._forget()
        self._run, self._trial = run, trial

    def _both_units(self, line: Line, match: re.Match[str]) -> None:
        """Read a line of the three: the two units must agree."""
        run, gigabytes, gigabits = self._run, figure(match[2], GIGA), figure(match[3], GIGABIT)
        if run.title is None or gigabytes is None or gigabits is None:
            self.log.skip(line, "no title above says its payload")
        elif gigabytes.lower > gigabits.upper or gigabits.lower > gigabytes.upper:
            self.log.skip(line, "its two units do not agree")
            self._give_up()
        elif match[1] == "algbw":
            self._algorithm = (line, match[2], gigabytes, 1.0)
        elif self._algorithm is None:
            self.log.skip(line, "no algbw above it")
            self._give_up()
        else:
            self._of_all_ranks(line, match, run, run.title, gigabytes)

    def _of_all_ranks(self, line: Line, match: re.Match[str], run: _Run, title: Line, bus: Figure) -> None:
        assert self._algorithm is not None, "checked"
        _, token, algorithm, _ = self._algorithm
        self._run = _Run()
        self._forget()
        if run.ranks is None or not run.nbytes or algorithm.lower <= 0:
            self.log.skip(title, "a payload, ranks or a bandwidth of nothing")
            return
        factor = 2 * (run.ranks - 1) / run.ranks
        if not _overlap(bus, Figure("", 0.0, algorithm.lower * factor, algorithm.upper * factor)):
            self.log.skip(title, "busbw is not that of algbw and so many ranks")
            return
        printed = {"payload": run.payload, "algbw": token, "busbw": match[2]}
        row = self._row(title, run, printed, statistic=MEAN_RATE, lines=line.number - title.number + 1)
        row = msgspec.structs.replace(row, repetitions=run.trials)
        ranks, nodes = self._launched
        draft = Draft(row=row, algorithm=algorithm, bus=bus)
        settle(self.log, [draft], ranks=run.ranks, nodes=nodes if ranks == run.ranks else None)

    def _of_one_rank(self, line: Line, token: str) -> None:
        """Give the figure of one rank to the log; algbw may be missing above its busbw."""
        run, bus, algorithm, duration = self._run, figure(token, GIGABIT), self._algorithm, self._duration
        self._forget()
        if run.title is not None or not run.nbytes or not run.calls or bus is None or bus.lower <= 0:
            self.log.skip(line, "no title above says its payload")
            return
        factor = None
        if algorithm is not None:
            _, _, bandwidth, scale = algorithm
            plain = Figure("", bandwidth.value / scale, bandwidth.lower / scale, bandwidth.upper / scale)
            factor = ratio(bus, plain)
            time = quotient(float(run.nbytes * run.calls), plain)
            if time is not None and duration is not None and not _overlap(time, duration):
                self.log.skip(line, "its bandwidth is not the payload over its duration")
                return
        row = self._row(line, run, {"busbw": token}, statistic="one loop, one rank", lines=1)
        row = msgspec.structs.replace(
            row,
            repetitions=run.calls,
            cadence=Cadence.STREAMING if run.calls > 1 else Cadence.ISOLATED,
        )
        draft = Draft(row=row, bus=bus, factor=factor)
        least, most = recovered([draft]) if factor else (1, 0)
        if factor and least > most:
            self.log.skip(line, "busbw is not that of algbw and any number of ranks")
            return
        ranks, nodes = self._launched
        if ranks is None and least != most and self.log.facts.ranks is None:
            self.log.skip(line, "no time can be told from busbw alone, without the number of ranks")
            return
        settle(self.log, [draft], ranks=ranks, nodes=nodes)

    def _row(self, line: Line, run: _Run, printed: dict[str, str], *, statistic: str, lines: int) -> Row:
        return Row(
            tool=run.tool,
            operation="all_reduce",
            dtype="float32",
            reduction="sum",
            nbytes_printed=run.nbytes,
            seconds=None,
            statistic=statistic,
            in_place=True,
            group=self.group,
            file=self.log.name,
            line=line.number,
            lines=lines,
            printed=printed,
            backend="nccl",
            device=Device.CUDA,
            cadence=Cadence.ISOLATED,
        )


def _bytes(gigabytes: str) -> int:
    return round(float(gigabytes) * GIGA)


def _overlap(one: Figure, other: Figure) -> bool:
    return one.lower <= other.upper * (1 + SLACK) and other.lower <= one.upper * (1 + SLACK)


def launched(log: Log) -> tuple[int | None, int | None]:
    """Return the ranks and nodes that the command above told torchrun, where these are numbers."""
    shapes = {_shape(command) for command in log.take_commands(_LAUNCHED.search)}
    return shapes.pop() if len(shapes) == 1 else (None, None)


def _shape(command: str) -> tuple[int | None, int | None]:
    processes, nodes = _PROCESSES.search(command), _NODES.search(command)
    if processes is None or (nodes is not None and not nodes[1].isdigit()):
        return None, None
    many = int(nodes[1]) if nodes else 1
    return int(processes[1]) * many or None, many or None


IMPORTER = Importer(
    name="ml-engineering",
    says="ml-engineering's all_reduce_bench",
    opens=re.compile(
        r"The average bandwidth of all_reduce with |-{11} \d+x \d|-{11}trial-\d|(?:\S+ )?data size: \d"
        r"|\s*(?:algbw|busbw|algo throughput): \d"
    ),
    section=AllReduceSection,
)
