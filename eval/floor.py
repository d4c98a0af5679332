"""Recorded scores below which a project does not want to fall again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rag.errors import CorpusError

MEASURES = (
    *("recall@5", "MRR", "key_fact_recall", "citation_precision", "citation_recall"),
    *("evidence_recall", "quote_validity", "refusal_f1"),
)
"""What is held: finding, answering, citing and refusing, each by a measure that repeats exactly on any machine."""


def record(scores: Mapping[str, Any], path: Path) -> None:
    """Keep the overall scores with their intervals. Raises CorpusError when the file cannot be written."""
    kept = [f"{json.dumps(m)}: {json.dumps(scores['overall'][m])}" for m in MEASURES if m in scores["overall"]]
    try:
        path.write_text("{\n  " + ",\n  ".join(kept) + "\n}\n", encoding="utf-8")
    except OSError as e:
        raise CorpusError(f"{path} cannot be written ({e.strerror}): give another file") from None


def fallen(scores: Mapping[str, Any], path: Path) -> list[str]:
    """Each recorded measure whose mean lies below its recorded interval, as a sentence; one that is missing too.

    Raises CorpusError for a file that `record` did not write.
    """
    try:
        recorded = json.loads(path.read_text(encoding="utf-8"))
        # Where one item gives no interval, its value is the bound.
        bounds = {name: float(e["mean"] if e["low"] is None else e["low"]) for name, e in recorded.items()}
    except OSError as e:
        raise CorpusError(f"{path} cannot be read ({e.strerror}): write it with --record") from None
    except (ValueError, TypeError, KeyError, AttributeError):
        raise CorpusError(f"{path} holds no recorded scores: write it anew with --record") from None
    if not bounds:
        raise CorpusError(f"{path} records no measure, so nothing would be held: write it anew with --record")
    found = scores["overall"]
    told = []
    for name, bound in bounds.items():
        mean = recorded[name]["mean"]
        if name not in found:
            told.append(f"{name} is missing (recorded: {mean:.4f})")
        elif found[name]["mean"] < bound:
            told.append(f"{name} is {found[name]['mean']:.4f}, below {bound:.4f} (recorded: {mean:.4f})")
    return told
