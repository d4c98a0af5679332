"""Papers, passages and vectors in Chroma; with ``rag.chroma`` the only file that knows it.

One collection a library. A record is a passage: its text, its vector, its place in the abstract; the passages of a
paper tile its abstract, so the abstract is their concatenation. The first one carries the paper's metadata.
"""

from __future__ import annotations

import gc
import json
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag.chroma import connect, translated
from rag.errors import StoreError
from rag.records import Entry, Row, entry_of, metadata_of, passage_of
from rag.types import Paper, Passage

if TYPE_CHECKING:
    from rag.types import Vectors

_EMBEDDER, _GENERATION = "embedder", "generation"
_FILTERED = 10_000  # papers named in one query: the engine's database takes 32,766 values


class _View:
    """The library as one opening sees it; readers that hold one are not disturbed by a later opening."""

    def __init__(self, collection: Any) -> None:
        self.collection = collection
        self.catalog: dict[str, Entry] | None = None

    @property
    def state(self) -> tuple[str, int]:
        return _state(self.collection)


class Store:
    """One library. Opening reads; ``create`` makes the collection. All failures are StoreError.

    Threads may read one store together; a writer has a store of its own.
    """

    def __init__(self, folder: Path, library: str, url: str = "", token: str = "") -> None:
        self._folder, self._url, self._token = folder / "chroma", url, token
        self._name = f"quoth-{library}"
        self._client: Any = None
        self._view: _View | None = None
        self._opening = threading.RLock()

    # -- opening ----------------------------------------------------------------------------------------------------

    def exists(self) -> bool:
        """Whether the library has been made; opens it if so."""
        with translated(self._url):
            if not self._url and not self._folder.is_dir():
                return False  # a look must not create an empty database
        return self._open() is not None

    def create(self, embedder: Mapping[str, str | int]) -> None:
        """Make the library if there is none; the embedder's identity is remembered."""
        if self.exists():
            return
        with translated(self._url):
            made = self._connect().create_collection(
                self._name,
                embedding_function=None,
                configuration={"hnsw": {"space": "cosine"}},
                metadata={_EMBEDDER: json.dumps(dict(embedder), sort_keys=True), _GENERATION: 0},
            )
        self._view = _View(made)

    @property
    def embedder(self) -> dict[str, str | int]:
        """Identity of the encoder that made the vectors."""
        known: dict[str, str | int] = json.loads(self._opened().metadata[_EMBEDDER])
        return known

    @property
    def generation(self) -> int:
        """Number of the last change, read afresh. Odd while a writer is at work."""
        return self._now()[1]

    def refresh(self) -> bool:
        """Reopen when another process has written since; True when it did.

        Embedded Chroma caches what it has read, deletions included, for the life of a process.
        """
        with self._opening:
            if self._view is not None and self._view.state == self._now():
                return False
            if self._view is not None and not self._url:
                self._client = None
            self._view = None
            gc.collect()  # the engine's parts refer to each other: what is left behind holds a dozen files open
            self._opened()
            return True

    @contextmanager
    def writing(self) -> Iterator[int]:
        """Bracket a change; yields the generation that it ends in. Readers see an odd number meanwhile, and after
        a crash, so that what is derived from the store is known to be behind."""
        start = self.generation | 1
        self._set_generation(start)
        yield start + 1
        self._set_generation(start + 1)

    # -- writing ----------------------------------------------------------------------------------------------------

    def write(self, rows: Sequence[Row]) -> None:
        """Add or replace papers with their passages and vectors."""
        records = [(n, passage, row) for row in rows for n, passage in enumerate(row.passages)]
        records.sort(key=lambda r: r[0] == 0)  # a paper is known by its first passage, so that one is written last
        surplus: list[str] = []
        for row in rows:
            paper_id = row.entry.paper.paper_id
            if old := self.catalog().get(paper_id):
                surplus += [f"{paper_id}/{n}" for n in range(len(row.passages), old.passages)]
        with translated(self._url):
            for part in self._batches(records):
                self._opened().upsert(
                    ids=[passage.passage_id for _, passage, _ in part],
                    documents=[passage.text for _, passage, _ in part],
                    metadatas=[metadata_of(row.entry, n, passage) for n, passage, row in part],
                    embeddings=[row.vectors[n] for n, _, row in part],
                )
        self._delete(surplus)
        for row in rows:
            self.catalog()[row.entry.paper.paper_id] = row.entry

    def write_cards(self, entries: Sequence[Entry]) -> None:
        """Update metadata of papers whose title and abstract, hence vectors, stay the same."""
        if not entries:
            return
        first = self._records([f"{e.paper.paper_id}/0" for e in entries])
        with translated(self._url):
            self._opened().update(
                ids=[f"{e.paper.paper_id}/0" for e in entries],
                metadatas=[metadata_of(e, 0, first[f"{e.paper.paper_id}/0"]) for e in entries],
            )
        for e in entries:
            self.catalog()[e.paper.paper_id] = e

    def remove(self, paper_ids: Sequence[str]) -> None:
        """Take papers out; unknown ids are ignored."""
        self._delete([f"{p}/{n}" for p in paper_ids if p in self.catalog() for n in range(self.catalog()[p].passages)])
        for p in paper_ids:
            self.catalog().pop(p, None)

    def sweep(self) -> None:
        """Delete passages that an interrupted change has left without a paper."""
        with translated(self._url):
            got = self._opened().get(where={"n": {"$gt": 0}}, include=["metadatas"])
        known = {p: entry.passages for p, entry in self.catalog().items()}
        rows = zip(got["ids"], got["metadatas"], strict=True)
        self._delete([i for i, m in rows if m["n"] >= known.get(m["paper_id"], 0)])

    # -- reading ----------------------------------------------------------------------------------------------------

    def catalog(self) -> dict[str, Entry]:
        """All papers by id, without abstracts; kept until the library changes."""
        view = self._viewed()
        if view.catalog is None:
            with translated(self._url):
                found = view.collection.get(where={"n": 0}, include=["metadatas"])
            entries = (entry_of(m) for m in found["metadatas"] or ())
            view.catalog = {e.paper.paper_id: e for e in entries}
        return view.catalog

    def papers(self, paper_ids: Iterable[str]) -> dict[str, Paper]:
        """Papers with their abstracts, by id, in the order asked.

        Unknown ids are left out, and papers that another process is changing at this moment.
        """
        wanted = list(dict.fromkeys(paper_ids))
        if not wanted:
            return {}  # Chroma refuses an empty list
        with translated(self._url):
            got = self._opened().get(ids=[f"{p}/0" for p in wanted], include=["documents", "metadatas"])
        first = {m["paper_id"]: (entry_of(m), d) for m, d in zip(got["metadatas"], got["documents"], strict=True)}
        rest = self._records([f"{p}/{n}" for p, (e, _) in first.items() for n in range(1, e.passages)])
        found = {}
        for p in wanted:
            if p in first:
                entry, text = first[p]
                others = [f"{p}/{n}" for n in range(1, entry.passages)]
                if rest.keys() >= set(others):
                    text += "".join(rest[i].text for i in others)
                    found[p] = replace(entry.paper, abstract=text)
        return found

    def texts(self, batch: int = 500) -> Iterator[Paper]:
        """Every paper with its abstract."""
        ids = list(self.catalog())
        for i in range(0, len(ids), batch):
            yield from self.papers(ids[i : i + batch]).values()

    def nearest(self, vector: Vectors, n: int, only: Sequence[str] | None = None) -> list[tuple[Passage, float]]:
        """The ``n`` nearest passages with their cosine similarity (-1..1), best first; ``only``: of these papers."""
        if only is None:
            return self._nearest(vector, n, None)
        parts = [list(only[i : i + _FILTERED]) for i in range(0, len(only), _FILTERED)]
        found = [hit for part in parts for hit in self._nearest(vector, n, {"paper_id": {"$in": part}})]
        return sorted(found, key=lambda hit: -hit[1])[:n]

    def first_passages(self, paper_ids: Iterable[str]) -> dict[str, Passage]:
        """The first passage of each paper, by paper id."""
        found = self._records([f"{p}/0" for p in paper_ids])
        return {passage.paper_id: passage for passage in found.values()}

    # -- inside -----------------------------------------------------------------------------------------------------

    def _connect(self) -> Any:
        with self._opening:
            if self._client is None:
                self._client = connect(self._folder, self._url, self._token)
            return self._client

    def _collection(self) -> Any:
        """The collection as it is now, or None."""
        from chromadb.errors import NotFoundError

        with translated(self._url):
            try:
                return self._connect().get_collection(self._name, embedding_function=None)
            except NotFoundError:
                return None

    def _open(self) -> _View | None:
        view = self._view  # one look: another thread may be opening the library anew
        if view is not None:
            return view
        with self._opening:
            if self._view is None and (collection := self._collection()) is not None:
                if _EMBEDDER not in (collection.metadata or {}):
                    raise StoreError(f"the collection {self._name} was not made by quoth: choose another --library")
                self._view = _View(collection)
            return self._view

    def _viewed(self) -> _View:
        view = self._open()
        if view is None:
            raise self._missing()
        return view

    def _opened(self) -> Any:
        return self._viewed().collection

    def _missing(self) -> StoreError:
        library = self._name.removeprefix("quoth-")
        return StoreError(f"there is no library {library!r} yet: run `quoth index PATH` first")

    def _now(self) -> tuple[str, int]:
        """Which collection there is, and the number of its last change."""
        collection = self._collection()
        if collection is None:
            raise self._missing()
        return _state(collection)

    def _set_generation(self, number: int) -> None:
        metadata = {**self._opened().metadata, _GENERATION: number}
        with translated(self._url):
            self._opened().modify(metadata=metadata)

    def _batches(self, items: Sequence[Any]) -> Iterator[Sequence[Any]]:
        step = self._connect().get_max_batch_size()
        return (items[i : i + step] for i in range(0, len(items), step))

    def _delete(self, passage_ids: Sequence[str]) -> None:
        with translated(self._url):
            for part in self._batches(passage_ids):
                self._opened().delete(ids=list(part))

    def _nearest(self, vector: Vectors, n: int, where: Mapping[str, Any] | None) -> list[tuple[Passage, float]]:
        with translated(self._url):
            got = self._opened().query(
                query_embeddings=[vector], n_results=n, where=where, include=["documents", "metadatas", "distances"]
            )
        rows = zip(got["ids"][0], got["documents"][0], got["metadatas"][0], got["distances"][0], strict=True)
        return [(passage_of(i, d, m), 1.0 - float(distance)) for i, d, m, distance in rows]

    def _records(self, ids: Sequence[str]) -> dict[str, Passage]:
        if not ids:
            return {}
        with translated(self._url):
            got = self._opened().get(ids=list(ids), include=["documents", "metadatas"])
        rows = zip(got["ids"], got["documents"], got["metadatas"], strict=True)
        return {i: passage_of(i, d, m) for i, d, m in rows}


def _state(collection: Any) -> tuple[str, int]:
    return str(collection.id), int(collection.metadata[_GENERATION])
