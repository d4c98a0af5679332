"""The nouns of quoth: frozen values that flow one way.

file → Paper → Passage → Evidence → Answer

Offsets are Unicode code points into ``Paper.abstract``, and for every quote ``abstract[start:end] == text``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

Status = Literal["answered", "partial", "not_in_corpus"]


@dataclass(frozen=True)
class Paper:
    """One paper of a library: its abstract as stored, and what is known about it."""

    paper_id: str
    abstract: str
    title: str = ""
    authors: tuple[str, ...] = ()
    year: int | None = None
    venue: str = ""
    url: str = ""
    keywords: tuple[str, ...] = ()
    source: str = ""
    """Where the record was read: file name and position."""
    aliases: tuple[str, ...] = ()
    """Other ids of the same paper; every command takes them instead."""
    label: str = ""
    """A short readable name: the method's name, or the first words."""
    note: str = ""
    """Something every card and citation of this paper must say."""

    def card(self) -> dict[str, Any]:
        """The paper without its abstract, as ``papers list`` gives it."""
        names = ("paper_id", "aliases", "label", "title", "authors", "year", "venue", "url", "source", "note")
        return {name: _plain(getattr(self, name)) for name in names}


@dataclass(frozen=True)
class BadRecord:
    """A record that could not become a paper: where it stands and why."""

    source: str
    reason: str


@dataclass(frozen=True)
class Passage:
    """A stretch of an abstract that the encoder can read whole."""

    passage_id: str
    paper_id: str
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Evidence:
    """A paper that was found for a question, with its best passage. ``rank`` counts from 1."""

    rank: int
    paper: Paper
    passage: Passage
    score: float
    """Fused score in 0..1, comparable within one question only."""
    similarity: float | None = None
    """Cosine of question and best passage, -1..1; None when only words were compared."""


@dataclass(frozen=True)
class Sentence:
    """A sentence of an abstract with its place in it."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Turn:
    """One earlier message. ``papers`` are the papers that an answer cited, in the order of their numbers."""

    role: Literal["user", "assistant"]
    content: str
    papers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Filters:
    """What restricts a search. Venue and author are case-insensitive substrings; years are inclusive."""

    year_from: int | None = None
    year_to: int | None = None
    venue: str = ""
    author: str = ""
    papers: tuple[str, ...] = ()
    """Only these papers, by id (alias or unique label too); empty: all."""

    def __bool__(self) -> bool:
        return self != Filters()

    def as_dict(self) -> dict[str, Any]:
        """Only what is set."""
        return {k: _plain(v) for k, v in asdict(self).items() if v not in (None, "", ())}


@dataclass(frozen=True)
class Brief:
    """A question made ready for retrieval."""

    question: str
    """As the user typed it."""
    standalone: str
    """The same question, rewritten where a model made it understandable without the conversation."""
    context: str = ""
    """The last exchange, where the question leans on it."""
    in_play: tuple[str, ...] = ()
    """Ids of papers that the conversation is about: candidates whatever their rank."""
    meant: tuple[str, ...] = ()
    """Ids of papers that the question points at by number, as "[2]" or "the second one": they come first."""

    @property
    def query(self) -> str:
        """What retrieval reads."""
        return f"{self.standalone} ({self.context})" if self.context else self.standalone


@dataclass(frozen=True)
class Quote:
    """Verbatim characters of a stored abstract. ``support`` in 0..1: how well they carry the sentence."""

    text: str
    start: int
    end: int
    support: float


@dataclass(frozen=True)
class Citation:
    """A numbered reference of an answer: a paper and what is quoted from it."""

    number: int
    paper: Paper
    quotes: tuple[Quote, ...]

    def as_dict(self) -> dict[str, Any]:
        p = self.paper
        return {
            "number": self.number,
            "paper_id": p.paper_id,
            "aliases": list(p.aliases),
            "label": p.label,
            "title": p.title,
            "authors": list(p.authors),
            "year": p.year,
            "venue": p.venue,
            "url": p.url,
            "note": p.note,
            "quotes": [asdict(q) for q in self.quotes],
        }


@dataclass(frozen=True)
class Answer:
    """What the user gets. Built only by ``rag.verify``, which holds its invariants."""

    question: str
    standalone_question: str
    status: Status
    answer: str
    """Text in Markdown; ``[n]`` are markers, ``\\[n\\]`` are brackets of the quoted abstract."""
    citations: tuple[Citation, ...] = ()
    unsupported: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    answerability: float = 0.0
    missing: tuple[str, ...] = ()
    nearest: tuple[Evidence, ...] = ()
    filters: Filters = Filters()
    notices: tuple[str, ...] = ()
    answerer: str = "extractive"
    usage: dict[str, int] = field(default_factory=lambda: {"input_tokens": 0, "output_tokens": 0})
    seconds: dict[str, float] = field(default_factory=dict)

    def turn(self) -> Turn:
        """The answer as a turn of a conversation."""
        return Turn("assistant", self.answer, tuple(c.paper.paper_id for c in self.citations))

    def as_dict(self) -> dict[str, Any]:
        """The answer as JSON; the shape is a contract with other programs."""
        return {
            "question": self.question,
            "standalone_question": self.standalone_question,
            "status": self.status,
            "answer": self.answer,
            "citations": [c.as_dict() for c in self.citations],
            "unsupported": list(self.unsupported),
            "evidence": [
                {
                    "rank": e.rank,
                    "paper_id": e.paper.paper_id,
                    "passage_id": e.passage.passage_id,
                    "score": round(e.score, 4),
                    "text": e.passage.text,
                }
                for e in self.evidence
            ],
            "answerability": round(self.answerability, 4),
            "missing": list(self.missing),
            "nearest": [
                {
                    "paper_id": e.paper.paper_id,
                    "label": e.paper.label,
                    "title": e.paper.title,
                    "score": round(e.score, 4),
                }
                for e in self.nearest
            ],
            "filters": self.filters.as_dict(),
            "notices": list(self.notices),
            "answerer": self.answerer,
            "usage": dict(self.usage),
            "seconds": {k: round(v, 4) for k, v in self.seconds.items()},
        }


class Embedder(Protocol):
    """Texts to unit vectors. ``identity`` is what a library remembers of the encoder that made it."""

    @property
    def identity(self) -> dict[str, str | int]: ...

    def documents(self, texts: Sequence[str], /) -> Vectors:
        """(n, dimension) float32 unit vectors of passages or sentences."""
        ...

    def query(self, text: str, /) -> Vectors:
        """(dimension,) float32 unit vector of a question."""
        ...

    def token_count(self, text: str, /) -> int:
        """Tokens of the text as the encoder counts them, special tokens included."""
        ...


class Retriever(Protocol):
    """A brief to evidence, best first, one entry a paper."""

    def search(self, brief: Brief, k: int, filters: Filters = Filters(), /) -> list[Evidence]: ...


class Answerer(Protocol):
    """Numbered evidence to text with ``[n]`` markers; ``n`` is the evidence's rank."""

    @property
    def name(self) -> str: ...

    def stream(self, brief: Brief, evidence: Sequence[Evidence], history: Sequence[Turn], /) -> Iterator[str]: ...


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
