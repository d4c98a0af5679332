"""Means with bootstrap intervals. Seeded: the same values always give the same numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

SAMPLES = 1000
_LEVEL = (2.5, 97.5)
_CELLS = 500_000  # numbers held at once while resampling: what fits a processor's cache


@dataclass(frozen=True)
class Estimate:
    """A value over ``n`` items with its 95 % interval; the interval is missing where resampling cannot give one."""

    mean: float
    low: float | None
    high: float | None
    n: int

    def as_dict(self) -> dict[str, float | int | None]:
        rounded = {"mean": self.mean, "low": self.low, "high": self.high}
        return {k: None if v is None else round(v, 4) for k, v in rounded.items()} | {"n": self.n}


def mean(values: Sequence[float], weights: Sequence[float] | None = None) -> Estimate | None:
    """Mean, weighted where weights are given (of an item with three quotes each of them counts); None of nothing."""
    if not values:
        return None
    w = np.ones(len(values)) if weights is None else np.asarray(weights, float)
    # Drawing n items with replacement is drawing how often each distinct value occurs: far fewer numbers.
    pairs, counts = np.unique(np.column_stack([np.asarray(values, float) * w, w]), axis=0, return_counts=True)
    means = np.concatenate([(d @ pairs[:, 0]) / (d @ pairs[:, 1]) for d in _draws(counts)])
    return _estimate(float(np.average(values, weights=w)), means, len(values))


def quantile(values: Sequence[float], share: float) -> Estimate | None:
    """A value that really occurred: the upper median, else the one at ``share`` of the way, rounded down."""
    if not values:
        return None
    n = len(values)
    place = n // 2 if share == 0.5 else int(share * (n - 1))
    found, counts = np.unique(np.asarray(values, float), return_counts=True)
    # The value at a place of the sorted resample is the first whose running count passes it.
    drawn = np.concatenate([found[(np.cumsum(d, axis=1) > place).argmax(axis=1)] for d in _draws(counts)])
    return _estimate(float(np.sort(values)[place]), drawn, n)


def refusal(unanswerable: Sequence[bool], refused: Sequence[bool]) -> dict[str, Estimate | None]:
    """Precision, recall and F1 of refusing, positive = unanswerable; a precision is None when nothing was refused.

    Empty unless there are items of both sorts: with one sort only, precision says nothing.
    """
    truth, said = np.asarray(unanswerable, bool), np.asarray(refused, bool)
    n = len(truth)
    if not n or truth.all() or not truth.any():
        return {}
    cells = np.array([(truth & said).sum(), (~truth & said).sum(), (truth & ~said).sum(), (~truth & ~said).sum()])
    draws = np.concatenate(list(_draws(cells)))

    def ratios(c: Floats) -> tuple[Floats, Floats, Floats]:
        tp, fp, fn = c[..., 0], c[..., 1], c[..., 2]
        with np.errstate(invalid="ignore", divide="ignore"):
            return tp / (tp + fp), tp / (tp + fn), np.where(tp + fn > 0, 2 * tp / (2 * tp + fp + fn), np.nan)

    points, spreads = ratios(cells.astype(float)), ratios(draws.astype(float))
    names = ("refusal_precision", "refusal_recall", "refusal_f1")
    return {
        name: None if np.isnan(point) else _estimate(float(point), spread, n)
        for name, point, spread in zip(names, points, spreads, strict=True)
    }


def auroc(positive: Sequence[bool], scores: Sequence[float]) -> Estimate | None:
    """Chance that a positive item scores above a negative one, ties half; None unless there are both."""
    truth = np.asarray(positive, bool)
    if not len(truth) or truth.all() or not truth.any():
        return None
    pairs, counts = np.unique(np.column_stack([np.asarray(scores, float), truth]), axis=0, return_counts=True)
    is_positive = pairs[:, 1] == 1
    # Rows are sorted by score: for each, the negatives strictly below, and those that tie.
    first = np.searchsorted(pairs[:, 0], pairs[:, 0], side="left")
    last = np.searchsorted(pairs[:, 0], pairs[:, 0], side="right")

    def area(drawn: Floats) -> Floats:
        below = np.concatenate([np.zeros((len(drawn), 1)), np.cumsum(drawn * ~is_positive, axis=1)], axis=1)
        wins = below[:, first] + (below[:, last] - below[:, first]) / 2
        positives = drawn * is_positive
        with np.errstate(invalid="ignore"):
            found: Floats = (positives * wins).sum(axis=1) / (positives.sum(axis=1) * below[:, -1])
        return found

    spread = np.concatenate([area(d.astype(float)) for d in _draws(counts)])
    return _estimate(float(area(counts[None].astype(float))[0]), spread, len(truth))


def _draws(counts: NDArray[np.int64], samples: int = SAMPLES) -> Iterator[NDArray[np.int64]]:
    """How often each distinct value occurs in resamples, in blocks of (resamples, distinct values)."""
    rng = np.random.default_rng(0)
    n, kinds = int(counts.sum()), len(counts)
    few = kinds * 8 < n  # then drawing the counts is cheaper than drawing the items
    kind_of = np.repeat(np.arange(kinds), counts)
    block = max(1, _CELLS // (kinds if few else n))
    for start in range(0, samples, block):
        rows = min(block, samples - start)
        if few:
            yield rng.multinomial(n, counts / n, size=rows)
        else:
            drawn = kind_of[rng.integers(0, n, size=(rows, n), dtype=np.int32)]
            drawn += np.arange(rows)[:, None] * kinds
            yield np.bincount(drawn.ravel(), minlength=rows * kinds).reshape(rows, kinds)


def _estimate(point: float, spread: Floats, n: int) -> Estimate:
    spread = spread[~np.isnan(spread)]
    if n < 2 or not len(spread):
        return Estimate(point, None, None, n)
    low, high = np.percentile(spread, _LEVEL)
    return Estimate(point, float(low), float(high), n)
