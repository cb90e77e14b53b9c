"""What a predicate is: a small function that works out or measures the figure that a rule then judges."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

import msgspec

from collmark.analysis.claims.constants import REFERENCE, Constants
from collmark.analysis.claims.finding import Figure
from collmark.analysis.claims.quantity import Quantity, natural_unit, read_quantity, scale_of, shown
from collmark.core.errors import UsageError, nearest
from collmark.core.operation_table import OPERATIONS


class Form(StrEnum):
    """What a parameter of a predicate may be in TOML."""

    QUANTITY = "a quantity or the name of a constant"
    QUANTITIES = "a list of quantities or names of constants"
    PAIRS = "a list of tables with name, over and under"
    OPERATION = "an operation"
    TRUTH = "true or false"
    WORDS = "a list of texts"


class Parameter(msgspec.Struct, frozen=True, kw_only=True):
    """One parameter of a predicate.

    Attributes
    ----------
    form : Form
        What it may be.
    unit : str or None
        SI unit of its quantities; None for any.
    optional : bool
        Whether it may be left away.
    zero : bool
        Whether it may be zero.
    least, most : float
        The least and the most that it may be, in `unit`.
    choices : tuple of str
        For texts: those allowed.
    meaning : str
        What it is.
    """

    form: Form = Form.QUANTITY
    unit: str | None = ""
    optional: bool = False
    zero: bool = False
    least: float = 0.0
    most: float = math.inf
    choices: tuple[str, ...] = ()
    meaning: str = ""


class Worked(msgspec.Struct, frozen=True, kw_only=True):
    """A figure that was worked out.

    Attributes
    ----------
    value : float
        In `unit`.
    unit : str
        SI unit.
    steps : tuple of str
        The formula, step by step, with units.
    by : str
        The same in a few characters.
    also : tuple of Figure
        Related figures.
    """

    value: float
    unit: str = ""
    steps: tuple[str, ...]
    by: str
    also: tuple[Figure, ...] = ()


class Arithmetic(msgspec.Struct, frozen=True, kw_only=True):
    """A predicate of kind S or W.

    Attributes
    ----------
    work : callable
        ``work(claimed, **parameters)`` gives a :class:`Worked`; `claimed` is None where the rule needs none.
    parameters : mapping of str to Parameter
        By name.
    """

    work: Callable[..., Worked]
    parameters: Mapping[str, Parameter]

    @property
    def summary(self) -> str:
        """The first line of its function's docstring."""
        return (self.work.__doc__ or "").strip().splitlines()[0]


def figure_of(name: str, value: float, unit: str = "", shown_in: str | None = None) -> Figure:
    """Return a figure from a value in SI units, in a unit of one's choice or the natural one."""
    chosen = natural_unit(value, unit) if shown_in is None else shown_in
    return Figure(name=name, value=value / scale_of(chosen), unit=chosen)


def given(quantity: Quantity) -> str:
    """Return a quantity with what it is, as a step of a formula."""
    rate = f" = {shown(quantity.value, quantity.unit)}" if quantity.shown_in.endswith("b/s") else ""
    return f"{quantity.text}{rate}" + (f": {quantity.meaning}, {quantity.key}" if quantity.meaning else "")


def read_parameters(
    declared: Mapping[str, Parameter], table: Mapping[str, Any], constants: Constants
) -> tuple[dict[str, Any], list[str]]:
    """Read the parameters of a predicate from a TOML table.

    Returns
    -------
    dict, list of str
        Values by name, and everything that is wrong.
    """
    values: dict[str, Any] = {}
    problems: list[str] = []
    for key in table:
        if key not in declared:
            close = nearest(key, declared)
            hint = f"; did you mean {close!r}?" if close else f"; allowed: {', '.join(declared) or 'none'}"
            problems.append(f"unknown parameter {key!r}{hint}")
    for key, parameter in declared.items():
        if key not in table:
            if not parameter.optional:
                problems.append(f"parameter {key!r} is missing: {parameter.meaning or parameter.form}")
            continue
        try:
            values[key] = _read(parameter, table[key], constants)
        except UsageError as error:
            problems.append(f"parameter {key!r}: {error}")
    return values, problems


def _read(parameter: Parameter, written: object, constants: Constants) -> object:
    form = parameter.form
    if form is Form.QUANTITY:
        return _quantity(written, parameter, constants)
    if form is Form.TRUTH:
        return _of_type(written, bool, form)
    if form is Form.OPERATION:
        return _operation(written)
    items = _of_type(written, list, form)
    if not items:
        raise UsageError(f"is empty: must be {form}")
    return [_item(parameter, item, constants) for item in items]


def _item(parameter: Parameter, written: object, constants: Constants) -> object:
    if parameter.form is Form.QUANTITIES:
        return _quantity(written, parameter, constants)
    if parameter.form is Form.WORDS:
        return _word(written, parameter.choices)
    return _pair(written, parameter, constants)


def _of_type(written: object, kind: type, form: Form) -> Any:  # noqa: ANN401 - of the type asked for
    if not isinstance(written, kind):
        raise UsageError(f"must be {form}")
    return written


def _quantity(written: object, parameter: Parameter, constants: Constants) -> Quantity:
    if isinstance(written, str) and REFERENCE.fullmatch(written):
        quantity = constants[written]
    else:
        quantity = read_quantity(written)
    if parameter.unit is not None and quantity.unit != parameter.unit:
        raise UsageError(f"{quantity.text!r} must be in {parameter.unit or 'no unit'}")
    if quantity.low != quantity.high:
        raise UsageError(f"{quantity.text!r} must be one number and no range")
    if quantity.value == 0 and not parameter.zero:
        raise UsageError("must be above 0")
    if not parameter.least <= quantity.value <= parameter.most:
        bound = f"at least {parameter.least:g}" if quantity.value < parameter.least else f"at most {parameter.most:g}"
        raise UsageError(f"{quantity.text!r} must be {bound}")
    return quantity


def _operation(written: object) -> str:
    return OPERATIONS[str(written)].name


def _word(written: object, choices: tuple[str, ...]) -> str:
    if written not in choices:
        close = nearest(str(written), choices)
        hint = f" did you mean {close!r}?" if close else ""
        raise UsageError(f"{written!r} is none of {', '.join(choices)};{hint}")
    return str(written)


def _pair(written: object, parameter: Parameter, constants: Constants) -> tuple[str, Quantity, Quantity]:
    wanted = ("name", "over", "under")
    if not isinstance(written, Mapping) or set(written) != set(wanted):
        raise UsageError(f"each must be a table with {', '.join(wanted)}")
    return (str(written["name"]), *(_quantity(written[key], parameter, constants) for key in wanted[1:]))  # type: ignore[return-value]
