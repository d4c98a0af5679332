"""A small library made in a moment: real Chroma and tantivy on disk, an encoder that needs no weights."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from rag.build import open_quoth
from rag.identity import content_sha, text_sha
from rag.index import Indexer, Report
from rag.labels import label
from rag.lexical import LexicalIndex
from rag.records import Entry
from rag.retrieve import HybridRetriever
from rag.settings import Settings
from rag.store import Store
from rag.types import BadRecord, Brief, Evidence, Filters, Paper
from tests.fakes import encode

if TYPE_CHECKING:
    from rag.pipeline import Quoth
    from rag.types import Vectors


class Tiny:
    """Bags of stemmed words as unit vectors; a token is a word. ``read`` are the texts it was asked to encode."""

    def __init__(self, window: int = 512) -> None:
        self.identity: dict[str, str | int] = {"model": "tiny", "dimension": 512, "window": window}
        self.read: list[str] = []

    def documents(self, texts: Sequence[str], /) -> Vectors:
        self.read += texts
        return encode(texts)

    def query(self, text: str, /) -> Vectors:
        return encode([text])[0]

    def token_count(self, text: str, /) -> int:
        return len(text.split())


class Shelf:
    """A library in a home folder, opened afresh whenever it is used, as by commands that follow each other."""

    def __init__(self, home: Path, embedder: Tiny | None = None) -> None:
        self.settings = Settings(home=home, library="tiny", embedding_model="tiny")
        self.folder = self.settings.library_folder
        self.embedder = embedder or Tiny()

    def parts(self) -> tuple[Store, LexicalIndex]:
        return Store(self.folder, "tiny"), LexicalIndex(self.folder)

    def store(self) -> Store:
        return self.parts()[0]

    def indexer(self) -> Indexer:
        return Indexer(*self.parts(), self.folder, lambda: self.embedder)

    def index(self, *records: Paper | BadRecord) -> Report:
        return self.indexer().index(records)

    def quoth(self) -> Quoth:
        with patch("rag.build._load_embedder", lambda *_: self.embedder):
            return open_quoth(self.settings)

    def stored(self) -> dict[str, str]:
        """Abstracts by paper id."""
        return {p.paper_id: p.abstract for p in self.store().texts()}

    def paper(self, paper_id: str) -> Paper:
        return self.store().papers([paper_id])[paper_id]

    def search(self, question: str, filters: Filters = Filters(), mode: str = "hybrid", **brief: Any) -> list[Evidence]:
        retriever = HybridRetriever(*self.parts(), self.embedder, mode)
        return retriever.search(Brief(question, question, **brief), 10, filters)

    def found(self, question: str, filters: Filters = Filters(), mode: str = "lexical", **brief: Any) -> list[str]:
        """Ids of the papers found, best first."""
        return [e.paper.paper_id for e in self.search(question, filters, mode, **brief)]


def listed(*abstracts: str, file: str = "list.txt") -> list[Paper]:
    """Papers as a reader of a plain-text list gives them: known by their places."""
    return [record(f"{file}#{n}", text, f"{file}#{n}") for n, text in enumerate(abstracts, 1)]


def record(paper_id: str, abstract: str, at: str = "export.jsonl#1", **known: Any) -> Paper:
    """A paper as a reader of records gives it."""
    return Paper(paper_id, abstract, source=at, label=label(known.get("title", ""), abstract), **known)


def entry(paper: Paper) -> Entry:
    """What a library remembers of a paper of one passage."""
    return Entry(replace(paper, abstract=""), text_sha(paper.abstract), content_sha(paper), 1)


def counts(report: Report) -> tuple[int, int, int, int]:
    """Added, updated, unchanged, duplicates."""
    return report.added, report.updated, report.unchanged, report.duplicates


def ids(found: Iterable[Evidence]) -> list[str]:
    return [e.paper.paper_id for e in found]
