"""Papers, passages and vectors in Chroma, embedded or on a server: the only file that knows Chroma.

One collection a library. A record is a passage: its text, its vector, its place in the abstract; the passages of a
paper tile its abstract, so the abstract is their concatenation. The first one carries the paper's metadata.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rag import environment
from rag.errors import StoreError
from rag.types import Paper, Passage

if TYPE_CHECKING:
    from rag.types import Vectors

_EMBEDDER, _GENERATION = "embedder", "generation"


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


class Store:
    """One library. Opening reads; ``create`` makes the collection. All failures are StoreError."""

    def __init__(self, folder: Path, library: str, url: str = "", token: str = "") -> None:
        self._folder, self._url, self._token = folder / "chroma", url, token
        self._name = f"quoth-{library}"
        self._seen = -1
        self._client: Any = None
        self._collection: Any = None
        self._catalog: dict[str, Entry] | None = None

    # -- opening ----------------------------------------------------------------------------------------------------

    def exists(self) -> bool:
        """Whether the library has been made; opens it if so."""
        if not self._url and not self._folder.is_dir():
            return False  # a look must not create an empty database
        return self._open() is not None

    def create(self, embedder: Mapping[str, str | int]) -> None:
        """Make the library if there is none; the embedder's identity is remembered."""
        if self.exists():
            return
        with _translated(self._url):
            self._collection = self._connect().create_collection(
                self._name,
                embedding_function=None,
                configuration={"hnsw": {"space": "cosine"}},
                metadata={_EMBEDDER: json.dumps(dict(embedder), sort_keys=True), _GENERATION: 0},
            )

    @property
    def embedder(self) -> dict[str, str | int]:
        """Identity of the encoder that made the vectors."""
        known: dict[str, str | int] = json.loads(self._opened().metadata[_EMBEDDER])
        return known

    @property
    def generation(self) -> int:
        """Number of the last change, read afresh. Odd while a writer is at work."""
        with _translated(self._url):
            current = self._connect().get_collection(self._name, embedding_function=None)
            return int(current.metadata[_GENERATION])

    def refresh(self) -> bool:
        """Reopen when another process has written since; True when it did.

        Embedded Chroma caches what it has read, deletions included, for the life of a process.
        """
        now = self.generation
        if now == self._seen:
            return False
        if self._seen >= 0 and not self._url:
            from chromadb.api.shared_system_client import SharedSystemClient

            SharedSystemClient.clear_system_cache()
            self._client = None
        self._collection, self._catalog = None, None
        self._opened()
        self._seen = now
        return True

    @contextmanager
    def writing(self) -> Iterator[int]:
        """Bracket a change; yields the generation that it ends in. Readers see an odd number meanwhile, and after
        a crash, so that what is derived from the store is known to be behind."""
        start = self.generation | 1
        self._set_generation(start)
        yield start + 1
        self._set_generation(start + 1)
        self._seen = start + 1

    # -- writing ----------------------------------------------------------------------------------------------------

    def write(self, rows: Sequence[Row]) -> None:
        """Add or replace papers with their passages and vectors."""
        ids, texts, metadatas = [], [], []
        vectors: list[Any] = []
        surplus: list[str] = []
        for row in rows:
            old = self.catalog().get(row.entry.paper.paper_id)
            if old:
                paper_id = row.entry.paper.paper_id
                surplus += [f"{paper_id}/{n}" for n in range(len(row.passages), old.passages)]
            for n, passage in enumerate(row.passages):
                ids.append(passage.passage_id)
                texts.append(passage.text)
                metadatas.append(_metadata(row.entry, n, passage))
                vectors.append(row.vectors[n])
        with _translated(self._url):
            step = self._connect().get_max_batch_size()
            for i in range(0, len(ids), step):
                part = slice(i, i + step)
                self._opened().upsert(
                    ids=ids[part], documents=texts[part], metadatas=metadatas[part], embeddings=vectors[part]
                )
            if surplus:
                self._opened().delete(ids=surplus)
        for row in rows:
            self.catalog()[row.entry.paper.paper_id] = row.entry

    def write_cards(self, entries: Sequence[Entry]) -> None:
        """Update metadata of papers whose title and abstract, hence vectors, stay the same."""
        if not entries:
            return
        first = self._records([f"{e.paper.paper_id}/0" for e in entries])
        with _translated(self._url):
            self._opened().update(
                ids=[f"{e.paper.paper_id}/0" for e in entries],
                metadatas=[_metadata(e, 0, first[f"{e.paper.paper_id}/0"]) for e in entries],
            )
        for e in entries:
            self.catalog()[e.paper.paper_id] = e

    def remove(self, paper_ids: Sequence[str]) -> None:
        """Take papers out; unknown ids are ignored."""
        ids = [f"{p}/{n}" for p in paper_ids if p in self.catalog() for n in range(self.catalog()[p].passages)]
        with _translated(self._url):
            step = self._connect().get_max_batch_size()
            for i in range(0, len(ids), step):
                self._opened().delete(ids=ids[i : i + step])
        for p in paper_ids:
            self.catalog().pop(p, None)

    # -- reading ----------------------------------------------------------------------------------------------------

    def catalog(self) -> dict[str, Entry]:
        """All papers by id, without abstracts; kept until the library changes."""
        if self._catalog is None:
            with _translated(self._url):
                found = self._opened().get(where={"n": 0}, include=["metadatas"])
            entries = (_entry(m) for m in found["metadatas"] or ())
            self._catalog = {e.paper.paper_id: e for e in entries}
        return self._catalog

    def papers(self, paper_ids: Iterable[str]) -> dict[str, Paper]:
        """Papers with their abstracts, by id, in the order asked; unknown ids are left out."""
        wanted = list(dict.fromkeys(paper_ids))
        if not wanted:
            return {}  # Chroma refuses an empty list
        with _translated(self._url):
            got = self._opened().get(ids=[f"{p}/0" for p in wanted], include=["documents", "metadatas"])
        first = {m["paper_id"]: (_entry(m), d) for m, d in zip(got["metadatas"], got["documents"], strict=True)}
        rest = self._records([f"{p}/{n}" for p, (e, _) in first.items() for n in range(1, e.passages)])
        found = {}
        for p in wanted:
            if p in first:
                entry, text = first[p]
                text += "".join(rest[f"{p}/{n}"].text for n in range(1, entry.passages))
                found[p] = Paper(**{**_fields(entry.paper), "abstract": text})
        return found

    def texts(self, batch: int = 500) -> Iterator[Paper]:
        """Every paper with its abstract."""
        ids = list(self.catalog())
        for i in range(0, len(ids), batch):
            yield from self.papers(ids[i : i + batch]).values()

    def nearest(self, vector: Vectors, n: int, only: Sequence[str] | None = None) -> list[tuple[Passage, float]]:
        """The ``n`` nearest passages with their cosine similarity (-1..1), best first; ``only``: of these papers."""
        where = None if only is None else {"paper_id": {"$in": list(only)}}
        if only is not None and not only:
            return []
        with _translated(self._url):
            got = self._opened().query(
                query_embeddings=[vector], n_results=n, where=where, include=["documents", "metadatas", "distances"]
            )
        rows = zip(got["ids"][0], got["documents"][0], got["metadatas"][0], got["distances"][0], strict=True)
        return [(_passage(i, d, m), 1.0 - float(distance)) for i, d, m, distance in rows]

    def first_passages(self, paper_ids: Iterable[str]) -> dict[str, Passage]:
        """The first passage of each paper, by paper id."""
        found = self._records([f"{p}/0" for p in paper_ids])
        return {passage.paper_id: passage for passage in found.values()}

    # -- inside -----------------------------------------------------------------------------------------------------

    def _connect(self) -> Any:
        if self._client is None:
            environment.prepare(offline=False)
            import chromadb
            from chromadb.config import Settings

            quiet = Settings(anonymized_telemetry=False)
            with _translated(self._url):
                if not self._url:
                    self._folder.mkdir(parents=True, exist_ok=True)
                    self._client = chromadb.PersistentClient(str(self._folder), settings=quiet)
                else:
                    self._client = chromadb.HttpClient(**_address(self._url, self._token), settings=quiet)
        return self._client

    def _open(self) -> Any:
        if self._collection is None:
            from chromadb.errors import NotFoundError

            with _translated(self._url):
                try:
                    self._collection = self._connect().get_collection(self._name, embedding_function=None)
                except NotFoundError:
                    return None
            if _EMBEDDER not in (self._collection.metadata or {}):
                raise StoreError(f"the collection {self._name} was not made by quoth: choose another --library")
            if self._seen < 0:
                self._seen = int(self._collection.metadata[_GENERATION])
        return self._collection

    def _opened(self) -> Any:
        opened = self._open()
        if opened is None:
            raise StoreError(
                f"there is no library {self._name.removeprefix('quoth-')!r} yet: run `quoth index PATH` first"
            )
        return opened

    def _set_generation(self, number: int) -> None:
        metadata = {**self._opened().metadata, _GENERATION: number}
        with _translated(self._url):
            self._opened().modify(metadata=metadata)

    def _records(self, ids: Sequence[str]) -> dict[str, Passage]:
        if not ids:
            return {}
        with _translated(self._url):
            got = self._opened().get(ids=list(ids), include=["documents", "metadatas"])
        rows = zip(got["ids"], got["documents"], got["metadatas"], strict=True)
        return {i: _passage(i, d, m) for i, d, m in rows}


def _metadata(entry: Entry, n: int, passage: Passage) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "paper_id": entry.paper.paper_id,
        "n": n,
        "start": passage.start,
        "end": passage.end,
    }
    if n == 0:
        card = {k: v for k, v in _fields(entry.paper).items() if k != "abstract" and v not in ("", (), None)}
        metadata |= {
            "card": json.dumps(card, ensure_ascii=False),
            "text_sha": entry.text_sha,
            "content_sha": entry.content_sha,
            "passages": entry.passages,
        }
    return metadata


def _entry(metadata: Mapping[str, Any]) -> Entry:
    card: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in json.loads(metadata["card"]).items()}
    paper = Paper(abstract="", **card)
    return Entry(paper, metadata["text_sha"], metadata["content_sha"], int(metadata["passages"]))


def _passage(passage_id: str, text: str, metadata: Mapping[str, Any]) -> Passage:
    return Passage(passage_id, metadata["paper_id"], text, int(metadata["start"]), int(metadata["end"]))


def _fields(paper: Paper) -> dict[str, Any]:
    return asdict(paper)


def _address(url: str, token: str) -> dict[str, Any]:
    parts = urlsplit(url)
    secure = parts.scheme == "https"
    address: dict[str, Any] = {"host": parts.hostname, "port": parts.port or (443 if secure else 8000), "ssl": secure}
    place = [p for p in parts.path.split("/") if p]
    if len(place) == 2:
        address |= {"tenant": place[0], "database": place[1]}
    if token:
        address["headers"] = {"x-chroma-token": token}
    return address


@contextmanager
def _translated(url: str) -> Iterator[None]:
    """Foreign errors of the store's engine, as sentences."""
    import httpx
    from chromadb.errors import ChromaError

    where = f"the Chroma server at {url}" if url else "the library's database"
    remedy = "check QUOTH_CHROMA_URL and that the server runs" if url else "check the folder given by QUOTH_HOME"
    try:
        yield
    except (ChromaError, httpx.HTTPError, OSError) as e:
        from chromadb.errors import NotFoundError

        if isinstance(e, NotFoundError):
            raise
        raise StoreError(f"{where} failed ({_line(e)}): {remedy}") from e
    except ValueError as e:
        if "connect" in str(e).lower():
            raise StoreError(f"{where} does not answer: {remedy}") from e
        raise


def _line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text[:160] or type(error).__name__
