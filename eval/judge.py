"""A language model as a second opinion on answers: is it right, and do its quotes carry it?

Verdicts are kept in ``judgements.jsonl`` beside the records, so a run is judged once and scored often. A reply that
is no verdict leaves the item unscored, and is counted; it is never a zero.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from eval import stats
from eval.measure import Case
from eval.metrics import without_markers
from eval.records import JUDGEMENTS, line, read_lines, write_lines
from eval.replies import json_object
from rag import prompts
from rag.errors import ModelError

Judgement = dict[str, Any]

FIELDS: dict[str, dict[str, Any]] = {
    "reason": {"type": "string"},
    "correct": {"type": "boolean"},
    "supported": {"type": "boolean"},
}
"""What a reply holds, as JSON schema."""


def judge(
    found: Sequence[Case],
    folder: Path,
    ask: Callable[[str], str],
    model: str,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Have every answer to an answerable item with a reference judged; ``ask`` sends a prompt and gives the reply.

    Verdicts of the same model on the same answer are kept, so an interrupted judging goes on where it stopped.
    Raises ModelError when the model cannot be asked at all: then nothing can be judged.
    """
    path = folder / JUDGEMENTS
    due = [c for c in found if c.item.answerable and c.item.answer and c.answer and not c.refused]
    kept = read_lines(path) if path.is_file() else []
    texts = {c.item.id: c.text for c in due}
    good = {
        j["id"]: j
        for j in kept
        if j["model"] == model and j["answer"] == texts.get(j["id"]) and j["correct"] is not None
    }
    write_lines(path, good.values())
    failures = 0
    with path.open("a", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
        for n, c in enumerate(due, 1):
            if c.item.id not in good:
                try:
                    verdict = parse_verdict(ask(_prompt(c)))
                except ModelError:
                    failures += 1
                    if failures == n:  # not one reply so far
                        raise
                    verdict = parse_verdict("")
                file.write(line({"id": c.item.id, "model": model, "answer": c.text, **verdict}))
                file.flush()
            if progress:
                progress(n, len(due))


def parse_verdict(reply: str) -> Judgement:
    """``correct`` and ``supported`` as booleans, None where the reply does not say; and the reason given."""
    said = json_object(reply) or {}
    reason = said.get("reason")
    return {
        "correct": _boolean(said.get("correct")),
        "supported": _boolean(said.get("supported")),
        "reason": reason if isinstance(reason, str) else "",
    }


def summarize_verdicts(
    found: Sequence[Case], right: Sequence[float | None], judgements: Mapping[str, Judgement]
) -> dict[str, Any]:
    """Shares with intervals, what was left unscored, and agreement with the deterministic ``correct`` (``right``)."""
    judged = [(c, judgements[c.item.id], r) for c, r in zip(found, right, strict=True) if c.item.id in judgements]
    shares = {}
    for name in ("correct", "supported"):
        share = stats.mean([float(j[name]) for _, j, _ in judged if j[name] is not None])
        shares[f"judge_{name}"] = share.as_dict() if share else None
    pairs = [(bool(j["correct"]), r == 1) for _, j, r in judged if j["correct"] is not None and r is not None]
    return {
        "model": next((j["model"] for _, j, _ in judged), ""),
        **shares,
        "unscored": sum(j["correct"] is None or j["supported"] is None for _, j, _ in judged),
        "agreement": round(sum(a == b for a, b in pairs) / len(pairs), 4) if pairs else None,
        "kappa": kappa(pairs),
        "n": len(pairs),
    }


def kappa(pairs: Sequence[tuple[bool, bool]]) -> float | None:
    """Cohen's kappa: agreement beyond chance, 1 = always, 0 = as by chance; None where chance agrees always."""
    n = len(pairs)
    if not n:
        return None
    a, b = sum(x for x, _ in pairs) / n, sum(y for _, y in pairs) / n
    chance = a * b + (1 - a) * (1 - b)
    return round((sum(x == y for x, y in pairs) / n - chance) / (1 - chance), 4) if chance < 1 else None


def _prompt(c: Case) -> str:
    quotes = "\n".join(f"- {text}" for _, text in c.quoted) or "(none)"
    return prompts.load(
        "judge",
        question=c.answer.get("standalone_question") or c.item.question,
        reference=c.item.answer,
        answer=without_markers(c.text),
        quotes=quotes,
    )


def _boolean(value: Any) -> bool | None:
    if isinstance(value, str):
        return {"true": True, "yes": True, "false": False, "no": False}.get(value.strip().lower())
    return value if isinstance(value, bool) else None
