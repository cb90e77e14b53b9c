"""The repetitions of one case so far, and which T the clocks allow to be told of them."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from collmark.bench.stamps import Stamps, joined, repetition_times
from collmark.bench.stopping import StoppingRule
from collmark.core.case import Case


class Series:
    """Blocks of repetitions under a stopping rule.

    What T is, the first look decides, from its repetitions and the clocks' bound so far: the rule then judges one and
    the same quantity from look to look. At the end the bound is known, and where it is too large for the median, all is
    judged anew as the longest local duration. So what is recorded is what was judged.

    Parameters
    ----------
    case : Case
        What is repeated.
    rule : StoppingRule
        Judges T at each look.

    Attributes
    ----------
    count : int
        Repetitions so far.
    """

    def __init__(self, case: Case, rule: StoppingRule) -> None:
        self.rule = rule
        self.count = 0
        self.case = case
        self._blocks: list[Stamps] = []
        self._error = 0.0
        self._is_apart = False

    def add(self, block: Stamps) -> None:
        """Take the stamps of some more repetitions, those of the case's ranks."""
        self._blocks.append(block)
        self.count += block.repetitions

    @property
    def stamps(self) -> Stamps:
        """All stamps; those of clocks that cannot be compared where the bound is too large."""
        stamps = joined(self._blocks)
        if self._is_apart:
            return stamps.apart()
        return msgspec.structs.replace(stamps, error=max(stamps.error, self._error))

    def _times(self) -> NDArray[np.float64]:
        return repetition_times(self.stamps, self.case.estimand, self.case.messages)

    def look(self, *, is_over: bool) -> None:
        """Judge all repetitions so far; `is_over` where there are fewer than were asked for."""
        if self.rule.judgement is None:
            self._is_apart = not self.stamps.tells(float(np.median(self._times())))
        (self.rule.end if is_over else self.rule.add)(self._times())

    def conclude(self, error: float) -> None:
        """Take the bound in s that looks at the clocks have proven since; the rule may not be finished any more."""
        judgement = self.rule.judgement
        assert judgement is not None, "somebody looked"
        self._error = max(self._error, error)
        if not self._is_apart and not self.stamps.tells(float(np.median(self._times()[judgement.cut :]))):
            self._is_apart = True
            self.rule.start_over(self._times())
