"""What a library keeps of a paper: passages with their places, and the card on the first of them, as flat metadata."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from rag.types import Paper, Passage

if TYPE_CHECKING:
    from rag.types import Vectors


@dataclass(frozen=True)
class Entry:
    """What a library knows of a paper without its abstract."""

    paper: Paper
    """The card: ``abstract`` is empty."""
    text_sha: str
    """Digest of title and abstract as compared between records."""
    content_sha: str
    """Digest of everything stored."""
    passages: int


@dataclass(frozen=True)
class Row:
    """A paper ready to be written: its passages with one vector each."""

    entry: Entry
    passages: Sequence[Passage]
    vectors: Vectors


def metadata_of(entry: Entry, n: int, passage: Passage) -> dict[str, Any]:
    """The metadata of the n-th passage (from 0) of a paper; the first one carries the card."""
    metadata: dict[str, Any] = {
        "paper_id": entry.paper.paper_id,
        "n": n,
        "start": passage.start,
        "end": passage.end,
    }
    if n == 0:
        card = {k: v for k, v in asdict(entry.paper).items() if k != "abstract" and v not in ("", (), None)}
        metadata |= {
            "card": json.dumps(card, ensure_ascii=False),
            "text_sha": entry.text_sha,
            "content_sha": entry.content_sha,
            "passages": entry.passages,
        }
    return metadata


def entry_of(metadata: Mapping[str, Any]) -> Entry:
    """The paper whose first passage has this metadata."""
    card: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in json.loads(metadata["card"]).items()}
    paper = Paper(abstract="", **card)
    return Entry(paper, metadata["text_sha"], metadata["content_sha"], int(metadata["passages"]))


def passage_of(passage_id: str, text: str, metadata: Mapping[str, Any]) -> Passage:
    """The passage with this id, text and metadata."""
    return Passage(passage_id, metadata["paper_id"], text, int(metadata["start"]), int(metadata["end"]))
