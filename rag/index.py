"""The ``quoth index`` job: read, recognise, embed, write, report. Safe to repeat and to interrupt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from rag.errors import StoreError
from rag.identity import Match, Register, content_sha, text_sha
from rag.lexical import LexicalIndex
from rag.passages import embedded_text, passages
from rag.records import Entry, Row
from rag.store import Store
from rag.types import BadRecord, Embedder, Paper

_CHUNK = 256  # papers embedded and written at a time: what an interruption can cost


@dataclass(frozen=True)
class Report:
    """What became of every record."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    duplicates: int = 0
    skipped: tuple[BadRecord, ...] = ()
    notices: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return {
            "added": self.added,
            "updated": self.updated,
            "unchanged": self.unchanged,
            "duplicates": self.duplicates,
            "skipped": [{"source": b.source, "reason": b.reason} for b in self.skipped],
            "notices": list(self.notices),
        }


class Indexer:
    """Writes one library. The encoder is asked for only when there is something to embed."""

    def __init__(
        self, store: Store, lexical: LexicalIndex, folder: Path, embedder: Callable[[], Embedder], limit: int = 0
    ) -> None:
        self._store, self._lexical, self._folder = store, lexical, folder
        self._embedder, self._limit = embedder, limit

    def index(
        self, records: Iterable[Paper | BadRecord], progress: Callable[[int, int | None], None] | None = None
    ) -> Report:
        """Add or update papers; ``progress(done, total)`` is called as records are settled.

        Raises StoreError when another process is writing to the library.
        """
        with writer_lock(self._folder):
            heal(self._store, self._lexical)
            register = Register(self._store.catalog() if self._store.exists() else {})
            counts: Counter[str] = Counter()
            skipped: list[BadRecord] = []
            notices: list[str] = []
            for chunk in _chunks(self._matches(records, register, skipped, notices)):
                counts.update(m.outcome for m in chunk)
                self._write([m for m in chunk if m.changed], register)
                if progress:
                    progress(sum(counts.values()) + len(skipped), None)
            return Report(
                counts["added"],
                counts["updated"],
                counts["unchanged"],
                counts["duplicate"],
                tuple(skipped),
                tuple(notices),
            )

    def remove(self, paper_ids: Sequence[str]) -> None:
        """Take papers out of the library."""
        with writer_lock(self._folder):
            heal(self._store, self._lexical)
            with self._store.writing() as generation:
                self._store.remove(paper_ids)
                self._lexical.update((), paper_ids, generation)

    def _matches(
        self,
        records: Iterable[Paper | BadRecord],
        register: Register,
        skipped: list[BadRecord],
        notices: list[str],
    ) -> Iterator[Match]:
        for _, source in groupby(records, key=lambda r: r.source.rpartition("#")[0]):
            conflicts: list[Paper] = []
            for record in source:
                if isinstance(record, BadRecord):
                    skipped.append(record)
                    continue
                match = register.meet(record)
                if match.outcome == "conflict":
                    conflicts.append(record)
                else:
                    yield match
            for paper in conflicts:
                holder = register.holder(paper.paper_id)
                stored = self._store.papers([holder]) if self._store.exists() else {}
                match = register.settle(paper, stored[holder].abstract if holder in stored else "")
                if match.outcome == "added":
                    notices.append(
                        f"{paper.source}: {paper.paper_id} is another paper's id; kept as {match.paper.paper_id}"
                    )
                yield match

    def _write(self, matches: Sequence[Match], register: Register) -> None:
        if not matches:
            return
        papers = self._complete(matches)
        embedder = self._embedder()
        if not self._store.exists():
            self._store.create(embedder.identity)
            self._lexical.rebuild((), 0)  # none may be left of an earlier library in this folder
        known = self._store.catalog()
        rows, cards = [], []
        changed = [p for p in papers if not _same_embedding(p, known.get(p.paper_id), self._store)]
        pieces = {p.paper_id: passages(p, embedder.token_count, self._limit or _window(embedder)) for p in changed}
        texts = [embedded_text(p.title, q.text) for p in changed for q in pieces[p.paper_id]]
        vectors = embedder.documents(texts) if texts else None
        at = 0
        for p in papers:
            entry = Entry(replace(p, abstract=""), text_sha(p.abstract), content_sha(p), 1)
            if p.paper_id not in pieces:
                cards.append(replace(entry, passages=known[p.paper_id].passages))
                continue
            own = pieces[p.paper_id]
            assert vectors is not None
            rows.append(Row(replace(entry, passages=len(own)), own, vectors[at : at + len(own)]))
            at += len(own)
        with self._store.writing() as generation:
            self._store.write(rows)
            self._store.write_cards(cards)
            self._lexical.update(changed, (), generation)
        for entry in (*(r.entry for r in rows), *cards):
            register.accepted(entry)

    def _complete(self, matches: Sequence[Match]) -> list[Paper]:
        """The latest state of each paper, with the abstract that an earlier match or the store has."""
        latest: dict[str, Paper] = {}
        bare: set[str] = set()
        for paper, stored_text in ((m.paper, m.stored_text) for m in matches):
            earlier = latest.get(paper.paper_id)
            if stored_text and earlier is not None:
                paper = replace(paper, abstract=earlier.abstract)
            elif stored_text:
                bare.add(paper.paper_id)
            else:
                bare.discard(paper.paper_id)
            latest[paper.paper_id] = paper
        stored = self._store.papers(bare) if bare else {}
        return [replace(p, abstract=stored[n].abstract) if n in bare else p for n, p in latest.items()]


@contextmanager
def writer_lock(folder: Path, wait: float = 2) -> Iterator[None]:
    """One writer a library. Raises StoreError when there still is one after ``wait`` seconds.

    A reader that mends the word index is soon done: a writer waits for it.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / "lock", timeout=wait)
        with lock:
            yield
    except Timeout:
        raise StoreError(f"another quoth is writing to the library in {folder}: wait until it is done") from None
    except OSError as e:
        if e.filename is not None and Path(str(e.filename)).is_relative_to(folder.parent.parent):
            raise StoreError(f"cannot write to {folder} ({e.strerror}): check QUOTH_HOME and its permissions") from e
        raise


def heal(store: Store, lexical: LexicalIndex) -> None:
    """Settle an interrupted run: no stray passages, the word index as the store. Call with the writer's lock held."""
    if store.exists() and store.generation % 2:
        with store.writing() as generation:
            store.sweep()
            lexical.rebuild(store.texts(), generation)
    else:
        follow(store, lexical)


def follow(store: Store, lexical: LexicalIndex) -> None:
    """Make the word index mirror the store, of which nothing is changed: another machine may have written to it."""
    if store.exists() and lexical.generation != store.generation:
        lexical.rebuild(store.texts(), store.generation)


def follow_if_free(store: Store, lexical: LexicalIndex, folder: Path) -> None:
    """The same for a reader: while a writer is at work in this folder, its files are read as they are."""
    if lexical.generation == store.generation:
        return
    try:
        with writer_lock(folder, wait=0):  # a question must not wait for a writer
            follow(store, lexical)
    except StoreError:
        return


def _same_embedding(paper: Paper, entry: Entry | None, store: Store) -> bool:
    if entry is None or entry.text_sha != text_sha(paper.abstract) or entry.paper.title != paper.title:
        return False
    return store.papers([paper.paper_id])[paper.paper_id].abstract == paper.abstract


def _chunks(matches: Iterator[Match]) -> Iterator[list[Match]]:
    while chunk := list(islice(matches, _CHUNK)):
        yield chunk


def _window(embedder: Embedder) -> int:
    return int(embedder.identity["window"])
