"""Two runs over the same items: what changed, whether it is more than chance, and where."""

from __future__ import annotations

import difflib
import operator
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from eval import stats
from eval.about import differences
from eval.measure import Case, cases, measure, seconds
from eval.paired import Difference, difference, holm, refusal_f1
from eval.records import Run, read_run
from eval.score import number, sort_key
from rag.errors import CorpusError

SIGNIFICANT = 0.05
_SHOWN = 10
# What makes an item worth a look: it was found, answered and cited, or not.
_TELLING = ("correct", "refused", "answered", "key_fact_recall", "citation_f1", "nDCG@10", "MRR")
_SIDE_EFFECTS = ("input_tokens", "output_tokens", "quoted_share")
"""Measures that are neither good nor bad: they are compared, but do not enter the correction."""
_OPERATORS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@dataclass(frozen=True)
class Condition:
    """A difference that must not be, such as ``recall@5 < -0.02``."""

    measure: str
    operator: str
    bound: float

    def __str__(self) -> str:
        return f"{self.measure} {self.operator} {self.bound:g}"

    def holds(self, measures: Mapping[str, Mapping[str, Any]]) -> bool:
        """Whether the difference B − A is so. Raises CorpusError when the runs do not tell: silence would pass."""
        if self.measure not in measures:
            near = difflib.get_close_matches(self.measure, measures, 3, 0.3)
            raise CorpusError(
                f"--fail-if: the runs have no {self.measure!r} in common; did you mean {' or '.join(near or measures)}?"
            )
        return bool(_OPERATORS[self.operator](measures[self.measure]["mean"], self.bound))


def parse_condition(text: str) -> Condition:
    """``recall@5 < -0.02`` → Condition. Raises CorpusError for anything that is not measure, comparison, number."""
    m = re.fullmatch(r"\s*([A-Za-z][\w@.]*)\s*(<=|>=|<|>)\s*([-+−]?\d*\.?\d+)\s*", text)
    if not m:
        raise CorpusError(f"--fail-if {text!r}: write a measure, < or >, and a difference, as in 'recall@5 < -0.02'")
    return Condition(m[1], m[2], float(m[3].replace("−", "-")))


def compare_runs(a: Path, b: Path) -> dict[str, Any]:
    """All differences B − A between two runs' folders, as JSON. Raises CorpusError when they share no items."""
    return compare(read_run(a), read_run(b))


def compare(a: Run, b: Run) -> dict[str, Any]:
    """As ``compare_runs``, of runs that have been read."""
    pairs = _pairs(a, b)
    if not pairs:
        raise CorpusError(f"{a.folder} and {b.folder} have no items in common: compare runs of one item file")
    before, after = [x for x, _ in pairs], [y for _, y in pairs]
    table_a, table_b = measure(before), measure(after)
    found: dict[str, Difference] = {}
    for name in table_a.keys() & table_b.keys():
        both = [(x, y) for x, y in zip(table_a[name], table_b[name], strict=True) if x is not None and y is not None]
        result = difference([x for x, _ in both], [y for _, y in both])
        if result:
            found[name] = result
    refusing = [(x, y) for x, y in pairs if x.due and y.due]
    f1 = refusal_f1(
        [not x.item.answerable for x, _ in refusing],
        [x.refused for x, _ in refusing],
        [y.refused for _, y in refusing],
    )
    if f1:
        found["refusal_f1"] = f1
    corrected = holm({name: d.p for name, d in found.items() if name not in _SIDE_EFFECTS})
    return {
        "a": {"folder": a.folder.name, "run": dict(a.about)},
        "b": {"folder": b.folder.name, "run": dict(b.about)},
        "items": len(pairs),
        "settings": differences(a.about, b.about),
        "notices": _notices(a, b, pairs),
        "measures": {
            name: _rounded(asdict(found[name]) | {"p_corrected": corrected.get(name)})
            for name in sorted(found, key=sort_key)
        },
        "latency": _latency(before, after),
        "changed": _most_changed(pairs, table_a, table_b),
    }


def as_markdown(result: Mapping[str, Any]) -> str:
    """The comparison for a terminal; ``*`` marks what is significant after correction for the number of measures."""
    lines = [f"A: {result['a']['folder']}   B: {result['b']['folder']}   items in both: {result['items']}", ""]
    lines += [f"- {text}" for text in (*result["settings"], *result["notices"])]
    lines += ["", "| measure | A | B | B − A | 95 % interval | p | n |", "|---|---:|---:|---:|:---:|---:|---:|"]
    for name, d in result["measures"].items():
        interval = "" if d["low"] is None else f"{signed(d['low'])} – {signed(d['high'])}"
        star = " *" if is_significant(d) else ""
        lines.append(
            f"| {name} | {number(d['a'])} | {number(d['b'])} | {signed(d['mean'])}{star} | {interval} "
            f"| {d['p']:.4f} | {d['n']} |"
        )
    for name, v in result["latency"].items():
        lines.append(f"| {name} | {number(v['a'])} | {number(v['b'])} | {signed(v['b'] - v['a'])} | | | |")
    lines += ["", "`*` significant at 0.05, corrected for the number of measures (Holm)"]
    if result["changed"]:
        lines += ["", "Changed most:"]
    for item in result["changed"]:
        changes = ", ".join(f"{name} {signed(v)}" for name, v in item["changes"].items())
        lines.append(f"- {item['id']}: {changes}. {item['question']}")
    return "\n".join(lines)


def is_significant(d: Mapping[str, Any]) -> bool:
    """Whether a measure's difference is more than chance, given how many measures were looked at."""
    return d["p_corrected"] is not None and d["p_corrected"] <= SIGNIFICANT


def signed(value: float) -> str:
    """A difference with its sign; what rounds to zero has none."""
    text = number(abs(value))
    return text if float(text) == 0 else ("+" if value > 0 else "−") + text


def _pairs(a: Run, b: Run) -> list[tuple[Case, Case]]:
    of_b = {c.item.id: c for c in cases(b)}
    return [
        (c, of_b[c.item.id]) for c in cases(a) if c.item.id in of_b and of_b[c.item.id].item.question == c.item.question
    ]


def _notices(a: Run, b: Run, pairs: Sequence[tuple[Case, Case]]) -> list[str]:
    notices = []
    for run in (a, b):
        alone = len(run.records) - len(pairs)
        if alone > 0:
            notices.append(f"{alone} items of {run.folder.name} are not compared: the other run has no record of them")
    changed = sum(x.item != y.item for x, y in pairs)
    if changed:
        notices.append(f"{changed} items differ in what is expected of an answer, though not in their question")
    return notices


def _latency(a: Sequence[Case], b: Sequence[Case]) -> dict[str, dict[str, float]]:
    """Told without a p-value: a machine is never twice the same."""
    found: dict[str, dict[str, float]] = {}
    spent_a, spent_b = seconds(a), seconds(b)
    for name in spent_a.keys() & spent_b.keys():
        for label, share in (("p50", 0.5), ("p95", 0.95)):
            x, y = stats.quantile(spent_a[name], share), stats.quantile(spent_b[name], share)
            assert x is not None and y is not None
            found[f"{name}@{label}"] = {"a": round(x.mean, 4), "b": round(y.mean, 4)}
    return dict(sorted(found.items()))


def _most_changed(
    pairs: Sequence[tuple[Case, Case]],
    a: Mapping[str, Sequence[float | None]],
    b: Mapping[str, Sequence[float | None]],
) -> list[dict[str, Any]]:
    found = []
    for n, (x, y) in enumerate(pairs):
        changes = {}
        for name in _TELLING:
            before, after = a.get(name, [None] * len(pairs))[n], b.get(name, [None] * len(pairs))[n]
            if before is not None and after is not None and before != after:
                changes[name] = round(after - before, 4)
        if changes:
            shown = {"id": x.item.id, "question": x.item.question, "changes": changes, "a": _side(x), "b": _side(y)}
            found.append((sum(abs(v) for v in changes.values()), shown))
    found.sort(key=lambda f: -f[0])
    return [shown for _, shown in found[:_SHOWN]]


def _side(c: Case) -> dict[str, Any]:
    return {
        "status": c.answer.get("status"),
        "answer": c.text,
        "cited": c.cited,
        "ranked": c.ranked[:5],
        "error": c.record.get("error"),
    }


def _rounded(values: Mapping[str, Any]) -> dict[str, Any]:
    return {k: round(v, 5) if isinstance(v, float) else v for k, v in values.items()}
