"""Questions with known answers: the items of an evaluation, one JSON object a line."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rag.errors import CorpusError
from rag.types import Turn

_ROLES = ("user", "assistant")


@dataclass(frozen=True)
class Gold:
    """A verbatim sentence of a paper that supports the answer."""

    paper: str
    quote: str


@dataclass(frozen=True)
class Item:
    """One question and what a right reply to it holds. Everything but the first four may be empty."""

    id: str
    question: str
    answerable: bool
    papers: tuple[str, ...]
    """Ids of all papers that the answer needs; an id may be an alias."""
    type: str = ""
    """What the question tries; scores are also given by type."""
    kind: str = ""
    """A finer division of the type."""
    history: tuple[Turn, ...] = ()
    evidence: tuple[Gold, ...] = ()
    answer: str = ""
    key_facts: tuple[str, ...] = ()
    """What a right answer contains: all of them, each as alternatives separated by ``|``."""
    grades: Mapping[str, float] = field(default_factory=dict)
    """Gain of each judged paper, where judgements are graded; empty: 1 for each of ``papers``."""

    def as_dict(self) -> dict[str, Any]:
        """The item as a line of an item file; empty optional fields are left out."""
        optional = {
            "kind": self.kind,
            "history": [{"role": t.role, "content": t.content} for t in self.history],
            "evidence": [{"paper": g.paper, "quote": g.quote} for g in self.evidence],
            "answer": self.answer,
            "key_facts": list(self.key_facts),
            "grades": dict(self.grades),
        }
        return {
            "id": self.id,
            **({"type": self.type} if self.type else {}),
            "question": self.question,
            "answerable": self.answerable,
            "papers": list(self.papers),
            **{name: value for name, value in optional.items() if value},
        }


def load_items(path: Path) -> list[Item]:
    """All items of a file, in its order.

    Raises CorpusError, naming file, line and remedy, for a file that cannot be read or holds no item, a line that
    is no item, and an id that occurs twice.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as e:
        raise CorpusError(f"{path} cannot be read ({e.strerror}): give the path of an item file") from None
    except UnicodeDecodeError:
        raise CorpusError(f"{path} is not UTF-8 text: save it as UTF-8") from None
    items: dict[str, Item] = {}
    lines: dict[str, int] = {}
    # Not splitlines(): U+2028 and its like may stand inside a JSON string.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        item = _parse(line, f"{path}, line {number}")
        if item.id in items:
            raise CorpusError(
                f"{path}, line {number}: the id {item.id!r} is taken by line {lines[item.id]}: give it another id"
            )
        items[item.id], lines[item.id] = item, number
    if not items:
        raise CorpusError(f"{path} holds no items: write one JSON object a line")
    return list(items.values())


def _parse(line: str, where: str) -> Item:
    try:
        raw = json.loads(line)
    except ValueError as e:
        raise CorpusError(f"{where} is not JSON ({e}): write one JSON object a line") from None
    if not isinstance(raw, dict):
        raise CorpusError(f'{where} is not a JSON object: write {{"id": …, "question": …}}')
    for problem in _problems(raw):
        raise CorpusError(f"{where}: {problem}")
    return Item(
        id=raw["id"],
        question=raw["question"],
        answerable=raw["answerable"],
        papers=tuple(raw["papers"]),
        type=raw.get("type") or "",
        kind=raw.get("kind") or "",
        history=tuple(Turn(t["role"], t["content"]) for t in raw.get("history") or ()),
        evidence=tuple(Gold(g["paper"], g["quote"]) for g in raw.get("evidence") or ()),
        answer=raw.get("answer") or "",
        key_facts=tuple(raw.get("key_facts") or ()),
        grades={paper: float(gain) for paper, gain in (raw.get("grades") or {}).items()},
    )


def _problems(raw: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with an item, each as a sentence with its remedy."""
    for name in ("id", "question"):
        if not isinstance(raw.get(name), str) or not raw[name].strip():
            yield f"`{name}` is missing or empty: give it a text"
    if not isinstance(raw.get("answerable"), bool):
        yield "`answerable` must be true or false: say whether the corpus holds the answer"
    if not _texts(raw.get("papers")):
        yield "`papers` must be a list of paper ids (empty if the corpus does not say)"
    for name in ("type", "kind", "answer"):
        if not isinstance(raw.get(name) or "", str):
            yield f"`{name}` must be a text: quote it"
    if not _texts(raw.get("key_facts") or []):
        yield "`key_facts` must be a list of texts"
    if not _objects(raw.get("evidence") or [], "paper", "quote"):
        yield '`evidence` must be a list of {"paper": id, "quote": text}'
    history = raw.get("history") or []
    if not _objects(history, "role", "content") or any(t["role"] not in _ROLES for t in history):
        yield '`history` must be a list of {"role": "user" or "assistant", "content": text}'
    grades = raw.get("grades") or {}
    if not isinstance(grades, dict) or any(
        isinstance(g, bool) or not isinstance(g, int | float) or not abs(g) <= sys.float_info.max
        for g in grades.values()
    ):
        yield "`grades` must give a finite number for each paper id"


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) and v for v in value)


def _objects(value: Any, *names: str) -> bool:
    return isinstance(value, list) and all(
        isinstance(v, dict) and all(isinstance(v.get(name), str) for name in names) for v in value
    )
