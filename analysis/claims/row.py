"""A claim as it is judged: its kinds, and for each the predicate, the rule and the claimed figure."""

from __future__ import annotations

from typing import Any

import msgspec

from collmark.analysis.claims.finding import Kind
from collmark.analysis.claims.measured.selector import Selector
from collmark.analysis.claims.quantity import Quantity
from collmark.analysis.claims.rule import Rule


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to judge: a predicate with its parameters, a rule, and the claimed figure.

    Attributes
    ----------
    kind : Kind
        What decides it.
    predicate : str
        Name; empty for a projection.
    rule : Rule
        Decision rule.
    claimed : Quantity or None
        None where the rule needs none.
    parameters : dict
        Values by name.
    says, by : str
        The statement, where a row makes several; words behind what it was decided by.
    tiers : tuple of Selector
        For kind M.
    needs : str
        For kind P: what has to be projected.
    """

    kind: Kind
    predicate: str = ""
    rule: Rule
    claimed: Quantity | None = None
    parameters: dict[str, Any] = {}
    says: str = ""
    by: str = ""
    tiers: tuple[Selector, ...] = ()
    needs: str = ""

    @property
    def cell(self) -> str:
        """The claimed figure with its tolerance, in a few characters."""
        return self.rule.cell(self.claimed)


class Aspect(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of a claim.

    Attributes
    ----------
    kind : Kind
        What decides it.
    questions : tuple of Question
        More than one for a claim that makes several statements.
    closed_form : bool
        Whether a formula decides it, without a layout.
    would_change : str
        What would change the verdict.
    """

    kind: Kind
    questions: tuple[Question, ...]
    closed_form: bool = True
    would_change: str = ""


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A claim.

    Attributes
    ----------
    id, sentence, source, figures : str
        Name, the claim in words, where it was made, its figures as given there.
    notes : tuple of str
        What to look out for, contradictions among it.
    aspects : tuple of Aspect
        What can decide it, in the order S, W, M, P.
    rivals : tuple of str
        Ids of claims that cannot be true together with it.
    file : str
        The user's file that it stands in; empty for those that come with collmark.
    """

    id: str
    sentence: str
    source: str = ""
    figures: str = ""
    notes: tuple[str, ...] = ()
    aspects: tuple[Aspect, ...]
    rivals: tuple[str, ...] = ()
    file: str = ""
