"""Fits: planted parameters are found, and what limits a fit is said."""

import math

import msgspec
import numpy as np
import pytest
from tests.analysis.claims.links import imported
from tests.analysis.made import SIZES, case_of, curve, noisy, record_of, replaced, results_of, times

from collmark.analysis.figures.place import series_names
from collmark.analysis.frame import frame
from collmark.analysis.models.fit import Fit, Fits, fit_frame
from collmark.analysis.models.quantity import Quantity
from collmark.core.operation_table import OPERATIONS
from collmark.core.record import Record, Status


def fits_of(records: list[Record], **options: bool) -> Fits:
    return fit_frame(frame([results_of(records)]), **options)


def fit_of(records: list[Record], **options: bool) -> Fit:
    (fit,) = fits_of(records, **options).fits
    return fit


@pytest.mark.parametrize("operation", [name for name, row in OPERATIONS.items() if row.sized])
def test_planted_parameters_are_found_for_every_operation(operation: str) -> None:
    ranks = 2 if OPERATIONS[operation].minimum_ranks == 2 else 4
    fit = fit_of(curve(operation, alpha=30e-6, beta=2e-10, ranks=ranks, levels=[1.0, 1.0]))
    assert fit.alpha.value == pytest.approx(30e-6, rel=1e-5)
    assert fit.beta is not None
    assert fit.beta.value == pytest.approx(2e-10, rel=1e-5)
    assert fit.asymptote is not None
    assert fit.asymptote.value == pytest.approx(5e9, rel=1e-5)
    assert fit.rms == pytest.approx(0, abs=1e-5)


def test_half_size_is_the_nbytes_with_half_the_asymptotic_bandwidth() -> None:
    fit = fit_of(curve("all_reduce", ranks=8, levels=[1.0, 1.0]))
    assert fit.half_size is not None
    assert fit.half_size.value is not None
    assert fit.asymptote is not None
    assert fit.asymptote.value is not None
    bus_nbytes = fit.half_size.value * OPERATIONS["all_reduce"].bus_factor(8)
    (seconds,) = fit.predict(np.array([bus_nbytes]))
    assert bus_nbytes / seconds == pytest.approx(fit.asymptote.value / 2, rel=1e-4)


def test_parameters_are_refitted_per_launch_and_have_intervals_over_launches() -> None:
    levels = [0.9, 1.0, 1.2]
    fit = fit_of(curve(levels=levels))
    assert fit.alpha.per_launch == pytest.approx([20e-6 * level for level in levels], rel=1e-4)
    assert fit.alpha.estimate is not None
    assert fit.alpha.estimate.count == 3
    assert fit.alpha.estimate.over == "launches"
    assert fit.half_size is not None
    assert fit.half_size.per_launch == pytest.approx([20e-6 / 1e-10] * 3, rel=1e-3)


def test_one_launch_has_values_and_no_interval() -> None:
    fit = fit_of(curve(levels=[1.0]))
    assert fit.alpha.value == pytest.approx(20e-6, rel=1e-4)
    assert fit.alpha.estimate is None


def test_one_odd_size_moves_little() -> None:
    records = [times(r, 3) if r.case.nbytes == 4096 else r for r in curve(levels=[1.0, 1.0])]
    fit = fit_of(records)
    assert fit.alpha.value == pytest.approx(20e-6, rel=0.05)
    assert fit.worst == pytest.approx(2.0, rel=0.1)
    assert fit.worst_at == 4096


@pytest.mark.parametrize(
    ("sizes", "alpha", "beta"),
    [
        (SIZES, "", ""),
        ([n for n in SIZES if n >= 64 << 10], "alpha is 76 % of T at the smallest size, needs 89 %", ""),
        ([n for n in SIZES if n <= 256 << 10], "", "the largest size reaches 57 % of 1/beta, needs 89 %"),
        ([n for n in SIZES if n <= 64 << 10], "", "the largest size reaches 25 % of 1/beta, needs 89 %"),
    ],
)
def test_parameter_that_the_grid_does_not_identify_is_weak(sizes: list[int], alpha: str, beta: str) -> None:
    fit = fit_of(curve(sizes=sizes))
    assert fit.alpha.weak == alpha
    assert fit.beta is not None
    assert fit.beta.weak == beta


def test_bandwidth_that_a_soft_bend_never_comes_near_is_weak() -> None:
    """Five octaves above the bend a norm of 0.4 has reached three quarters of what it comes near."""
    sizes = [16 << power for power in range(24)]
    soft = {n: ((20e-6**0.4 + (1e-10 * n) ** 0.4) ** 2.5) / (20e-6 + 1e-10 * n) for n in sizes}
    fit = fit_of([times(record, soft[record.case.nbytes]) for record in curve(sizes=sizes)])
    assert fit.model == "p-norm"
    assert fit.beta is not None
    assert "of 1/beta, needs 89 %" in fit.beta.weak


def test_bandwidth_of_a_model_that_runs_beside_the_largest_sizes_is_weak() -> None:
    """Times of an all_reduce over 2 x 4 GPUs: a step, and behind it a bend too soft for the line of a segment."""
    microseconds = [
        18.7, 18.7, 18.3, 18.8, 21.0, 21.7, 22.0, 23.1, 24.9, 38.0, 42.9, 50.6, 50.8, 140, 194, 348, 674, 921, 129, 189,
        300, 437, 632, 1087, 1841, 3320, 6260, 12158, 23928, 47498,
    ]  # fmt: skip
    measured = {8 << power: 1e-6 * value for power, value in enumerate(microseconds)}
    level = {nbytes: seconds / (20e-6 + 1e-10 * 1.75 * nbytes) for nbytes, seconds in measured.items()}

    def fitted(*levels: float) -> Quantity:
        records = curve(sizes=measured, ranks=8, levels=levels)
        fit = fit_of([times(record, level[record.case.nbytes]) for record in records])
        assert fit.describes
        assert fit.asymptote is not None
        return fit.asymptote

    alone = fitted(1.0)
    assert alone.value == pytest.approx(149e9, rel=0.01)  # and 158 GB/s were reached
    assert alone.weak == "no model describes the 3 largest sizes, which take 0.94 times as long as this one says"
    assert not fitted(0.8, 1.0, 1.2).weak  # intervals over launches hold the model


@pytest.mark.parametrize(("operation", "first"), [("all_reduce", 16), ("ping_pong", 0)])
def test_a_collective_of_no_bytes_does_nothing_and_does_not_enter(operation: str, first: int) -> None:
    records = curve(operation, sizes=[0, *SIZES])
    fit = fit_of([times(record, 0.01) if not record.case.nbytes else record for record in records])
    assert fit.first == first
    assert not fit.cliffs or operation == "ping_pong"


def test_latency_that_is_not_there_has_a_limit_and_no_value() -> None:
    fit = fit_of(noisy(curve(alpha=1e-12, sizes=[n for n in SIZES if n >= 1 << 20])))
    assert fit.alpha.value is None
    assert fit.alpha.below is not None
    assert 1e-12 < fit.alpha.below < 1e-10 * (1 << 20)
    assert fit.asymptote is not None
    assert fit.asymptote.value == pytest.approx(1e10, rel=0.05)
    assert fit.half_size is not None
    assert fit.half_size.value is None


def test_bandwidth_that_is_not_reached_has_a_limit_and_no_value() -> None:
    records = curve(beta=1e-16, sizes=[16, 64, 256, 1024, 4096])
    fits = [fit_of(noisy(records, seed=seed)) for seed in range(20)]
    limited = 0
    for fit in fits:
        assert fit.alpha.value == pytest.approx(20e-6, rel=0.05)
        assert fit.beta is not None
        assert fit.asymptote is not None
        if fit.beta.below is None:  # by chance it seems to be told
            assert fit.beta.weak
        else:
            limited += 1
            assert fit.beta.value is None
            assert fit.asymptote.above == pytest.approx(1 / fit.beta.below)
    assert limited >= 17


def test_limit_of_a_small_latency_holds_in_95_of_100() -> None:
    sizes = [1 << power for power in range(16, 26)]
    alpha, held = 1e-8, 0
    for seed in range(60):
        fit = fit_of(noisy(curve(alpha=alpha, sizes=sizes, levels=[1, 1]), seed=seed))
        held += fit.alpha.below is None or fit.alpha.below >= alpha
    assert held >= 54


def test_barrier_is_a_constant() -> None:
    fit = fit_of(curve("barrier", ranks=4, sizes=[0], alpha=7e-6, levels=[1.0, 1.1]))
    assert fit.model == "constant"
    assert fit.beta is fit.asymptote is fit.half_size is None
    assert fit.alpha.value == pytest.approx(7e-6 * math.sqrt(1.1))


def test_what_has_no_shape_is_not_described() -> None:
    random = np.random.default_rng(1)
    scattered = {nbytes: float(np.exp(random.normal(0, 0.6))) for nbytes in SIZES}
    fit = fit_of([times(record, scattered[record.case.nbytes]) for record in curve()])
    assert not fit.describes
    assert fit_of(curve()).describes


def test_segments_are_found_and_told_apart() -> None:
    records = curve(sizes=SIZES[:6], levels=[0.97, 1.0, 1.05]) + curve(
        sizes=SIZES[6:], alpha=20e-3, levels=[0.97, 1.0, 1.05]
    )
    fit = fit_of(records)
    assert fit.model == "2 segments"
    assert fit.breaks == ((SIZES[5], SIZES[6]),)
    assert fit.alpha.value == pytest.approx(20e-6, rel=0.02)
    assert fit.asymptote is not None
    assert fit.asymptote.value == pytest.approx(1e10, rel=0.02)
    assert len(fit.asymptote.per_launch) == 3
    assert fit.parameters["alpha_2"].value == pytest.approx(20e-3, rel=0.02)
    assert fit.line_rms > 10 * fit.rms
    bus = np.array([SIZES[5], SIZES[6]], dtype=np.float64)
    assert fit.predict(bus) == pytest.approx([20e-6 + 1e-10 * SIZES[5], 20e-3 + 1e-10 * SIZES[6]], rel=0.02)
    assert fit.predict_each(bus).shape == (3, 2)
    assert fit.predict_each(bus)[2] / fit.predict_each(bus)[0] == pytest.approx(1.05 / 0.97)


def test_one_size_that_takes_ten_times_as_long_is_a_cliff() -> None:
    records = [times(r, 10) if r.case.nbytes == SIZES[8] else r for r in curve(levels=[0.97, 1.0, 1.05])]
    fit = fit_of(records)
    assert [cliff.nbytes for cliff in fit.cliffs] == [SIZES[8]]
    assert fit.cliffs[0].misfit == pytest.approx(9, rel=0.01)
    assert fit.describes
    assert fit.asymptote is not None
    assert fit.asymptote.value == pytest.approx(1e10, rel=0.02)
    assert "takes 10 times as long" in fit.cliff_words


def test_unstable_records_do_not_enter_unless_asked() -> None:
    records = [replaced(r, status=Status.UNSTABLE) if r.launch == 1 else r for r in curve(levels=[2.0, 1.0, 1.0])]
    assert fit_of(records).launches == 2
    assert fit_of(records).left_out == len(SIZES)
    assert fit_of(records).alpha.value == pytest.approx(20e-6, rel=1e-4)
    assert fit_of(records, include_unstable=True).launches == 3


def test_one_rank_is_refused() -> None:
    fits = fits_of(curve(ranks=1))
    assert not fits.fits
    assert fits.refused[0].reason == "one rank moves nothing"


@pytest.mark.parametrize("count", [1, 2])
def test_too_few_sizes_are_refused(count: int) -> None:
    assert "need at least 3" in fits_of(curve(sizes=SIZES[:count])).refused[0].reason


def test_nothing_usable_is_refused() -> None:
    records = [replaced(r, status=Status.WRONG) for r in curve(levels=[1.0])]
    assert fits_of(records).refused[0].reason == "no record to fit to: 12 wrong"


def test_directions_placements_and_runs_are_never_fitted_together() -> None:
    records = curve("stream") + curve("bidirectional_stream") + curve("all_reduce") + curve("all_reduce", ranks=4)
    table = frame([results_of(records, name="a"), results_of(records, name="b")])
    fits = fit_frame(table)
    assert len(fits.fits) == 8
    assert len({fit.series for fit in fits.fits}) == 8
    assert fits.of(fits.fits[3].series) is fits.fits[3]


def test_streams_of_unlike_windows_in_a_log_are_never_fitted_together() -> None:
    logs = [imported(curve("stream", of_case={"messages": most}, levels=[1.0])) for most in (16, 64)]
    fits = fits_of(logs[0] + logs[1]).fits
    assert [(fit.series.window, fit.sizes) for fit in fits] == [(16, len(SIZES)), (64, len(SIZES))]
    assert [name.split()[1:] for name in series_names([fit.series for fit in fits]).values()] == [
        ["window", "16"],
        ["window", "64"],
    ]


def test_a_sweep_that_has_fewer_large_messages_in_flight_is_one_curve() -> None:
    small, large = (
        curve("stream", of_case={"messages": most}, sizes=sizes) for most, sizes in ((64, SIZES[:6]), (4, SIZES[6:]))
    )
    (fit,) = fits_of(small + large).fits
    assert (fit.series.window, fit.sizes) == (64, len(SIZES))


def test_fits_can_be_written_as_json_and_read_back() -> None:
    fits = fits_of(curve())
    assert msgspec.json.decode(msgspec.json.encode(fits), type=Fits) == fits


def test_nothing_is_fitted_to_nothing() -> None:
    assert fits_of([]) == Fits(fits=(), refused=())


def test_a_size_of_zero_is_a_size() -> None:
    fit = fit_of(curve("ping_pong", sizes=[0, *SIZES], levels=[1.0, 1.0]))
    assert fit.alpha.value == pytest.approx(20e-6, rel=1e-3)
    assert fit.first == 0


@pytest.mark.parametrize("seconds", [5e-324, 1e307])
def test_a_time_that_no_clock_reads_is_none(seconds: float) -> None:
    records = [record_of(case_of(nbytes=nbytes), seconds, launch) for nbytes in SIZES for launch in (1, 2)]
    assert fits_of(records).refused[0].reason == "no record to fit to: 24 without a time"


def test_launches_are_those_that_were_fitted() -> None:
    whole, short = curve(levels=[1.0, 1.1]), curve(sizes=SIZES[:2], levels=[1, 1, 1, 1])[4:]
    fit = fit_of(whole + short)
    assert (fit.launches, fit.too_short) == (2, 2)
    assert fit.alpha.estimate is not None
    assert fit.alpha.estimate.count == 2
