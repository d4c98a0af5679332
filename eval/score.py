"""A run's records → a table of measures with intervals. No model, no library: it can be done again and again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eval import stats
from eval.judge import summarize_verdicts
from eval.measure import WEIGHTS, Case, Table, cases, measure, seconds
from eval.records import Run, read_run
from eval.stats import Estimate

Scores = dict[str, Estimate]
ORDER = (
    *("recall@1", "recall@3", "recall@5", "recall@10", "recall@20", "recall@50", "success@1", "MRR"),
    *("nDCG@5", "nDCG@10", "MAP"),
    *("correct", "key_fact_recall", "token_f1", "exact_match"),
    *("citation_precision", "citation_recall", "citation_f1"),
    *("evidence_precision", "evidence_recall", "evidence_f1"),
    *("quote_validity", "marker_match", "sentence_coverage", "quoted_share"),
    *("answered", "refused", "refusal_precision", "refusal_recall", "refusal_f1", "answerability_auroc"),
)
"""Measures as a reader wants them; further ones follow by name."""


def score_run(folder: Path, items: Path | None = None, price: tuple[float, float] | None = None) -> dict[str, Any]:
    """All scores of a run, overall and by type, as JSON.

    ``price``: what a million input and output tokens cost, for the ``cost`` of the run. Raises CorpusError when the
    folder is no run.
    """
    return score(read_run(folder, items), price)


def score(run: Run, price: tuple[float, float] | None = None) -> dict[str, Any]:
    """As ``score_run``, of a run that has been read."""
    found = cases(run)
    table = measure(found)
    if price:
        table["cost"] = _costs(table, price)
    types = list(dict.fromkeys(c.item.type for c in found if c.item.type))
    failed = {c.item.id: c.record["error"] for c in found if c.failed}
    return {
        "run": dict(run.about),
        "items": len(run.items),
        "recorded": len(found),
        "failed": failed,
        "notices": _notices(run, found, table, failed),
        "overall": _as_dict(summarize(found, table)),
        "by_type": {t: _as_dict(_of_type(found, table, t)) for t in types},
        **({"judge": summarize_verdicts(found, table["correct"], run.judgements)} if run.judgements else {}),
        **({"total_cost": sum(v for v in table["cost"] if v is not None)} if price else {}),
    }


def summarize(found: Sequence[Case], table: Table) -> Scores:
    """Means of all measures that apply to any of the cases, and what is only defined over many of them."""
    scores: dict[str, Estimate | None] = {}
    for name, values in table.items():
        kept = [(v, c) for v, c in zip(values, found, strict=True) if v is not None]
        weights = [WEIGHTS[name](c) for _, c in kept] if name in WEIGHTS else None
        scores[name] = stats.mean([v for v, _ in kept], weights)
    replies = [c for c in found if c.due]
    scores |= stats.refusal([not c.item.answerable for c in replies], [c.refused for c in replies])
    sure = [c for c in replies if "answerability" in c.answer]
    scores["answerability_auroc"] = stats.auroc(
        [c.item.answerable for c in sure], [c.answer["answerability"] for c in sure]
    )
    scores["answer_words@p50"] = stats.quantile([float(len(c.text.split())) for c in found if c.text], 0.5)
    for name, spent in seconds(found).items():
        scores[f"{name}@p50"], scores[f"{name}@p95"] = stats.quantile(spent, 0.5), stats.quantile(spent, 0.95)
    return {name: e for name in sorted(scores, key=sort_key) if (e := scores[name]) is not None}


def sort_key(name: str) -> tuple[int, str]:
    """Puts measures into the reader's order."""
    return (ORDER.index(name), "") if name in ORDER else (len(ORDER), name)


def as_markdown(scores: Mapping[str, Any]) -> str:
    """The scores for a terminal: overall with intervals, then the means by type."""
    overall, by_type = scores["overall"], scores["by_type"]
    lines = ["| measure | mean | 95 % interval | n |", "|---|---:|:---:|---:|"]
    for name, e in overall.items():
        interval = "" if e["low"] is None else f"{number(e['low'])} – {number(e['high'])}"
        lines.append(f"| {name} | {number(e['mean'])} | {interval} | {e['n']} |")
    if len(by_type) > 1:
        lines += ["", "| measure | " + " | ".join(by_type) + " |", "|---|" + "---:|" * len(by_type)]
        for name in overall:
            row = [number(t[name]["mean"]) if name in t else "–" for t in by_type.values()]
            if set(row) != {"–"}:
                lines.append(f"| {name} | " + " | ".join(row) + " |")
    if judge := scores.get("judge"):
        lines += ["", judge_line(judge)]
    lines += ["", *(f"- {notice}" for notice in scores["notices"])] if scores["notices"] else []
    return "\n".join(lines)


def judge_line(judge: Mapping[str, Any]) -> str:
    """A second opinion in one sentence, with how far it can be trusted."""
    shares = [
        f"{name.removeprefix('judge_')} {number(e['mean'])} ({number(e['low'])} – {number(e['high'])})"
        for name in ("judge_correct", "judge_supported")
        if (e := judge[name]) and e["low"] is not None
    ]
    agreement = "" if judge["agreement"] is None else f"; agrees with `correct` on {judge['agreement']:.0%}"
    kappa = "" if judge["kappa"] is None else f" (kappa {judge['kappa']:.2f}, n = {judge['n']})"
    return f"Judge {judge['model']}: {', '.join(shares)}{agreement}{kappa}; {judge['unscored']} unscored"


def number(value: float) -> str:
    """Three decimals, fewer for large numbers: shares, seconds and token counts stand in one table."""
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"


def _of_type(found: Sequence[Case], table: Table, wanted: str) -> Scores:
    places = [n for n, c in enumerate(found) if c.item.type == wanted]
    return summarize([found[n] for n in places], {name: [values[n] for n in places] for name, values in table.items()})


def _notices(run: Run, found: Sequence[Case], table: Table, failed: Mapping[str, str]) -> list[str]:
    notices = []
    if run.missing:
        notices.append(
            f"{len(run.missing)} of {len(run.items)} items have no record: repeat `quoth eval run` to finish"
        )
    if failed:
        first = next(iter(failed))
        notices.append(f"{len(failed)} items failed and count as 0, the first is {first}: {failed[first]}")
    if "MAP" not in table:
        notices.append("nDCG and MAP are left out: `pip install ir-measures`")
    if run.abstracts is None and any(c.quotes for c in found):
        notices.append("quotes were not checked: the run kept no papers.jsonl")
    return notices


def _costs(table: Table, price: tuple[float, float]) -> list[float | None]:
    pairs = zip(table["input_tokens"], table["output_tokens"], strict=True)
    return [None if i is None or o is None else (i * price[0] + o * price[1]) / 1e6 for i, o in pairs]


def _as_dict(scores: Scores) -> dict[str, Any]:
    return {name: e.as_dict() for name, e in scores.items()}
