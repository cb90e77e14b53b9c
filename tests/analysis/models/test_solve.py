"""The solver against a library's on the same loss, and what ran to zero."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import optimize

from collmark.analysis.models import solve as solve_module
from collmark.analysis.models.constant import CONSTANT
from collmark.analysis.models.hockney import HOCKNEY, P_NORM, SQUARE_ROOT
from collmark.analysis.models.model import FloatArray, Model, log_value
from collmark.analysis.models.segments import segments
from collmark.analysis.models.solve import SOFT, are_absent, solve, solve_many, upper_limit

NBYTES: FloatArray = 16.0 * np.exp2(np.arange(23))
ALPHA, BETA = 20e-6, 1e-10
MODELS = [CONSTANT, HOCKNEY, P_NORM, SQUARE_ROOT, segments([6000.0]), segments([6000.0, 1e6])]


def noisy(seed: int, sets: int = 8, *, contaminated: float = 0.08) -> FloatArray:
    random = np.random.default_rng(seed)
    shape = (sets, NBYTES.size)
    slow = np.where(random.random(shape) < contaminated, random.uniform(1.5, 4.0, shape), 1.0)
    found: FloatArray = (ALPHA + BETA * NBYTES + 2e-8 * np.sqrt(NBYTES)) * np.exp(random.normal(0, 0.03, shape)) * slow
    return found


def least_cost(model: Model, seconds_N: FloatArray, starts: FloatArray) -> float:
    """Return the least cost that scipy's own solver comes to from some starting points."""
    with np.errstate(divide="ignore"):
        log_terms = np.log(model.terms(NBYTES))

    def residuals(logs_P: FloatArray) -> FloatArray:
        found: FloatArray = log_value(model, logs_P[None], log_terms)[0][0] - np.log(seconds_N)
        return found

    options = {"loss": "soft_l1", "f_scale": SOFT, "xtol": 1e-12, "ftol": 1e-12}
    return min(float(optimize.least_squares(residuals, np.log(start), **options).cost) for start in starts)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_no_other_solver_comes_to_a_lower_cost(model: Model) -> None:
    seconds_KN = noisy(1)
    parameters_KP, costs_K = solve_many(model, NBYTES, seconds_KN)
    random = np.random.default_rng(2)
    for parameters_P, cost, seconds_N in zip(parameters_KP, costs_K, seconds_KN, strict=True):
        starts = parameters_P * np.exp(random.normal(0, 0.5, (6, parameters_P.size)))
        assert cost <= least_cost(model, seconds_N, starts) * (1 + 1e-6) + 1e-12


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_planted_parameters_come_back(model: Model) -> None:
    planted = [2.5 if unit == "" else {"s": 2e-5, "s/B": 1e-10, "s/B^0.5": 3e-8}[unit] for unit in model.units]
    planted = [value * (1 + 0.5 * index) for index, value in enumerate(planted)]
    assert solve(model, NBYTES, model.predict(planted, NBYTES)) == pytest.approx(planted, rel=1e-4)


def test_sets_do_not_touch_each_other_and_times_left_out_do_not_count() -> None:
    seconds_KN = noisy(3)
    together, _costs = solve_many(P_NORM, NBYTES, seconds_KN)
    for index in range(len(seconds_KN)):
        assert solve(P_NORM, NBYTES, seconds_KN[index]) == pytest.approx(together[index], rel=1e-3)
    spoilt = seconds_KN.copy()
    spoilt[:, 7] = np.nan
    spoilt[:, 9] = 1e6
    uses = np.ones(spoilt.shape, dtype=bool)
    uses[:, 9] = False
    kept = [index for index in range(NBYTES.size) if index not in (7, 9)]
    assert solve_many(HOCKNEY, NBYTES, spoilt, uses)[0] == pytest.approx(
        solve_many(HOCKNEY, NBYTES[kept], seconds_KN[:, kept])[0], rel=1e-6
    )


def test_fixed_parameter_stays() -> None:
    parameters_KP, costs_K = solve_many(HOCKNEY, NBYTES, noisy(4), fixed={"beta": 3e-10})
    assert parameters_KP[:, 1] == pytest.approx(3e-10)
    assert (costs_K > solve_many(HOCKNEY, NBYTES, noisy(4))[1]).all()


def test_parameter_that_no_time_shows_is_absent_and_has_a_limit() -> None:
    seconds = BETA * NBYTES[12:] * np.exp(np.random.default_rng(5).normal(0, 0.02, NBYTES.size - 12))
    found = solve(HOCKNEY, NBYTES[12:], seconds)
    assert are_absent(HOCKNEY, found.tolist(), NBYTES[12:]) == {"alpha": True, "beta": False}
    assert 0 < upper_limit(HOCKNEY, NBYTES[12:], seconds, "alpha") < 0.1 * BETA * NBYTES[12]


@pytest.mark.parametrize("model", [P_NORM, SQUARE_ROOT, segments([6000.0]), HOCKNEY], ids=lambda model: model.name)
def test_half_size_is_where_half_the_asymptote_is_reached(model: Model) -> None:
    planted = [{"s": 2e-5, "s/B": 1e-10, "s/B^0.5": 3e-8, "": 2.5}[unit] for unit in model.units]
    half = model.half_size(planted)
    (seconds,) = model.predict(planted, np.array([half]))
    assert half / seconds == pytest.approx(0.5 / 1e-10)
    (sooner,) = model.predict(planted, np.array([half / 2]))
    assert half / 2 / sooner < 0.5 / 1e-10


def test_norm_of_one_is_the_line() -> None:
    line, norm = HOCKNEY.predict([ALPHA, BETA], NBYTES), P_NORM.predict([ALPHA, BETA, 1.0], NBYTES)
    assert norm == pytest.approx(line)
    assert P_NORM.predict([ALPHA, BETA, 2.0], NBYTES) == pytest.approx(np.hypot(ALPHA, BETA * NBYTES))
    assert HOCKNEY.predict([0.0, BETA], NBYTES) == pytest.approx(BETA * NBYTES)
    assert math.isclose(float(CONSTANT.predict([ALPHA], NBYTES)[3]), ALPHA)


def test_a_parameter_that_runs_to_zero_does_not_keep_the_others_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own step is cut short, and would else be part of what the others reckon with: hundreds of detours."""
    steps = 0
    plain = solve_module._steps

    def counted(*words: Any) -> FloatArray:  # noqa: ANN401 - passed on as it is
        nonlocal steps
        steps += 1
        return plain(*words)

    monkeypatch.setattr(solve_module, "_steps", counted)
    nbytes_N = np.array([2.0**power for power in range(10, 30)])
    random = np.random.default_rng(4)
    seconds_KN = 1e-10 * nbytes_N * np.exp(random.normal(0, 0.02, (40, nbytes_N.size)))  # no latency at all
    parameters_KP, _costs = solve_many(SQUARE_ROOT, nbytes_N, seconds_KN)
    assert (parameters_KP[:, 0] < 1e-7).any(), "in some sets the latency ran to zero"
    assert steps < 60
