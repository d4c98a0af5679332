"""Is B better than A on the same items? Differences with bootstrap intervals and permutation p-values. Seeded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eval import stats

Floats = NDArray[np.float64]

PERMUTATIONS = 10_000
_CELLS = 2_000_000


@dataclass(frozen=True)
class Difference:
    """B − A over ``n`` items that have a value in both runs."""

    a: float
    b: float
    mean: float
    low: float | None
    high: float | None
    p: float
    """Two-sided: how often chance alone gives so large a difference."""
    n: int


def difference(a: Sequence[float], b: Sequence[float]) -> Difference | None:
    """Mean difference of paired values; None without pairs.

    The p-value is a sign-flip test: were A and B the same system, each difference could as well be its negative.
    """
    if not a:
        return None
    d = np.asarray(b, float) - np.asarray(a, float)
    spread = stats.mean(d.tolist())
    assert spread is not None
    return Difference(float(np.mean(a)), float(np.mean(b)), spread.mean, spread.low, spread.high, _sign_flip(d), len(d))


def _sign_flip(d: Floats) -> float:
    sizes, counts = np.unique(np.round(np.abs(d[np.abs(d) > 1e-12]), 12), return_counts=True)
    if not len(sizes):
        return 1.0
    rng = np.random.default_rng(0)
    block = max(1, _CELLS // len(sizes))
    reached, observed = 0, abs(d.sum()) - 1e-9  # sums that differ by rounding only are equal
    for start in range(0, PERMUTATIONS, block):
        # Of the differences of one size, how many come out positive.
        positive = rng.binomial(counts, 0.5, size=(min(block, PERMUTATIONS - start), len(sizes)))
        reached += int((np.abs((2 * positive - counts) @ sizes) >= observed).sum())
    return (reached + 1) / (PERMUTATIONS + 1)


def refusal_f1(unanswerable: Sequence[bool], a: Sequence[bool], b: Sequence[bool]) -> Difference | None:
    """Difference of the F1 of refusing; the permutation swaps the two runs' replies to an item."""
    truth = np.asarray(unanswerable, bool)
    if not len(truth) or truth.all() or not truth.any():
        return None
    kinds = truth * 4 + np.asarray(a, bool) * 2 + np.asarray(b, bool)
    counts = np.bincount(kinds, minlength=8).astype(np.int64)
    rng = np.random.default_rng(0)
    f1_a, f1_b = _f1s(counts[None].astype(float))
    observed = float(f1_b[0] - f1_a[0])
    drawn_a, drawn_b = _f1s(rng.multinomial(len(truth), counts / len(truth), size=stats.SAMPLES).astype(float))
    low, high = np.nanpercentile(drawn_b - drawn_a, (2.5, 97.5))
    swapped = np.repeat(counts[None], PERMUTATIONS, axis=0).astype(float)
    for only_a, only_b in ((2, 1), (6, 5)):  # replies that differ: refused by A only, by B only
        both = int(counts[only_a] + counts[only_b])
        swapped[:, only_a] = rng.binomial(both, 0.5, size=PERMUTATIONS)
        swapped[:, only_b] = both - swapped[:, only_a]
    perm_a, perm_b = _f1s(swapped)
    reached = int((np.abs(perm_b - perm_a) >= abs(observed) - 1e-12).sum())
    p = (reached + 1) / (PERMUTATIONS + 1)
    return Difference(float(f1_a[0]), float(f1_b[0]), observed, float(low), float(high), p, len(truth))


def _f1s(counts: Floats) -> tuple[Floats, Floats]:
    """F1 of both runs from counts of the eight kinds (unanswerable, refused by A, refused by B)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        wanted = counts[:, 4:].sum(axis=1)
        a = 2 * (counts[:, 6] + counts[:, 7]) / (wanted + counts[:, [2, 3, 6, 7]].sum(axis=1))
        b = 2 * (counts[:, 5] + counts[:, 7]) / (wanted + counts[:, [1, 3, 5, 7]].sum(axis=1))
    return a, b


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """p-values corrected for being many (Holm): one of twenty measures is always "significant" at 0.05."""
    corrected, worst = {}, 0.0
    for n, (name, p) in enumerate(sorted(p_values.items(), key=lambda x: x[1])):
        worst = max(worst, min(1.0, p * (len(p_values) - n)))
        corrected[name] = worst
    return corrected
