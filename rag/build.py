"""Settings in, working objects out: the one place where parts are chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from rag import environment
from rag.embed import BUNDLED, BUNDLED_NAME, OpenAIEmbedder, SentenceTransformerEmbedder
from rag.errors import ModelError, StoreError
from rag.index import Indexer, Report, follow_if_free
from rag.lexical import LexicalIndex
from rag.library import Library
from rag.pipeline import Quoth
from rag.retrieve import HybridRetriever
from rag.settings import Settings
from rag.store import Store
from rag.types import Embedder
from rag.writing import LLM

if TYPE_CHECKING:
    from rag.types import Vectors

NO_VECTORS = "none"


class PlaceholderEmbedder:
    """Stands in where papers are searched by words only: every text has the same vector."""

    def __init__(self) -> None:
        self.identity: dict[str, str | int] = {
            "model": NO_VECTORS,
            "sha256": "",
            "dimension": 2,
            "window": 1_000_000,
            "prompts": "[]",
        }

    def documents(self, texts: Sequence[str], /) -> Vectors:
        import numpy as np

        return np.tile(np.asarray([1.0, 0.0], dtype=np.float32), (len(texts), 1))

    def query(self, text: str, /) -> Vectors:
        first: Vectors = self.documents([text])[0]
        return first

    def token_count(self, text: str, /) -> int:
        return len(text.split())


def open_store(settings: Settings) -> Store:
    """The library's store; nothing is created. Raises StoreError when the home can be no folder."""
    home = settings.home
    try:
        nearest = next((p for p in (home, *home.absolute().parents) if p.exists()), home)
        unusable = not settings.chroma_url and nearest.exists() and not nearest.is_dir()
    except OSError as e:
        raise StoreError(
            f"{str(home)[:60]} cannot be used ({e.strerror}): set QUOTH_HOME, or --home, to another"
        ) from None
    if unusable:
        raise StoreError(f"{nearest} is no folder: set QUOTH_HOME, or --home, to a folder")
    token = settings.chroma_token.get_secret_value() if settings.chroma_token else ""
    return Store(settings.library_folder, settings.library, settings.chroma_url, token)


def open_quoth(settings: Settings) -> Quoth:
    """A library that can be asked.

    Raises StoreError when it is missing, empty or made by another encoder; ModelError when a model is not there.
    """
    store = open_store(settings)
    if not store.exists() or not store.catalog():
        raise StoreError(f"the library {settings.library!r} is empty: run `quoth index PATH` first")
    embedder = None if settings.retriever == "lexical" else make_embedder(settings, store)
    lexical = LexicalIndex(settings.library_folder)
    follow_if_free(store, lexical, settings.library_folder)
    retriever = HybridRetriever(store, lexical, embedder, settings.retriever, make_reranker(settings))
    llm, notices = make_llm(settings)
    library = Library(store, lexical, settings.library_folder)
    return Quoth(settings, library, lexical, retriever, embedder, llm, notices)


def open_catalog(settings: Settings) -> Library:
    """A library whose papers can be listed and shown: no encoder, no LLM."""
    store = open_store(settings)
    if not store.exists():
        raise StoreError(f"the library {settings.library!r} is empty: run `quoth index PATH` first")
    return Library(store, LexicalIndex(settings.library_folder), settings.library_folder)


def make_indexer(settings: Settings) -> Indexer:
    """The writer of a library; its encoder loads when there is something to embed."""
    store = open_store(settings)

    def embedder() -> Embedder:
        return make_embedder(settings, store)

    return Indexer(
        store, LexicalIndex(settings.library_folder), settings.library_folder, embedder, settings.passage_tokens
    )


def index_paths(
    settings: Settings,
    paths: Sequence[Path],
    progress: Callable[[int, int | None], None] | None = None,
    *,
    title_only: bool = False,
) -> Report:
    """Read files and folders into the library; ``progress(done, total)`` is called as records are settled.

    ``title_only`` keeps records without an abstract: they are found and listed, never quoted.

    Raises CorpusError for a path that cannot be read, StoreError when the library cannot be written.
    """
    from rag import formats

    mended: list[str] = []
    report = make_indexer(settings).index(formats.read(paths, mended.append, title_only=title_only), progress)
    return replace(report, notices=(*report.notices, *mended))


def make_embedder(settings: Settings, store: Store) -> Embedder:
    """The encoder of the settings, checked against the one that made the library.

    Raises StoreError when they differ: vectors of two encoders cannot be compared.
    """
    known = store.embedder if store.exists() else None
    wanted = settings.embedding_model
    if known and known["model"] == NO_VECTORS and settings.retriever != "lexical":
        raise StoreError(
            f"the library {settings.library!r} was indexed for words only: set QUOTH_RETRIEVER=lexical, "
            "or index the files into another library (--library NAME)"
        )
    if known is None and settings.retriever == "lexical":
        return PlaceholderEmbedder()
    if known and known["model"] == NO_VECTORS:
        return PlaceholderEmbedder()
    _refuse_other(known, BUNDLED_NAME if wanted == BUNDLED else wanted, settings)  # before a slow load
    embedder = _load_embedder(
        wanted,
        settings.embedding_dtype,
        settings.passage_tokens,
        settings.key() if wanted.startswith("openai:") else "",
        settings.openai_base_url,
    )
    if known and known != embedder.identity:
        differs = ", ".join(k for k in known if known[k] != embedder.identity.get(k))
        raise StoreError(
            f"the library {settings.library!r} was made by another state of {known['model']} ({differs} differ): "
            "restore the setting, or index the files into another library (--library NAME)"
        )
    return embedder


def _refuse_other(known: dict[str, str | int] | None, model: str, settings: Settings) -> None:
    if known and known["model"] != model:
        setting = BUNDLED if known["model"] == BUNDLED_NAME else known["model"]
        raise StoreError(
            f"the library {settings.library!r} was made with the encoder {known['model']}, not {model}: "
            f"set QUOTH_EMBEDDING_MODEL={setting}, or index the files into another library (--library NAME)"
        )


@lru_cache(maxsize=2)
def _load_embedder(model: str, dtype: str, window: int, key: str, base_url: str) -> Embedder:
    if model.startswith("openai:"):
        return OpenAIEmbedder(model.removeprefix("openai:"), key, base_url)
    return SentenceTransformerEmbedder(model, dtype, window)


def make_reranker(settings: Settings) -> Callable[[str, Sequence[str]], Sequence[float]] | None:
    """The cross-encoder of the settings as a function of question and texts to logits, if one is set."""
    if not settings.reranker:
        return None
    local = Path(settings.reranker).expanduser().is_dir()
    environment.prepare(offline=local)
    from sentence_transformers import CrossEncoder

    try:
        model = CrossEncoder(str(Path(settings.reranker).expanduser()) if local else settings.reranker)
    except (OSError, ValueError) as e:
        raise ModelError(f"cannot load the reranker {settings.reranker}: set QUOTH_RERANKER to a folder or name") from e
    return lambda question, texts: [float(x) for x in model.predict([(question, t) for t in texts])]


def make_llm(settings: Settings) -> tuple[LLM | None, list[str]]:
    """The LLM of the settings, or None for extractive answers, with what the user should know about the choice.

    Raises ModelError when the LLM is asked for and no model is set.
    """
    if settings.answerer == "extractive":
        return None, []
    if not settings.llm_model:
        if settings.answerer == "llm":
            raise ModelError("the answerer is llm but no model is set: set QUOTH_LLM_MODEL (and OPENAI_API_KEY)")
        if settings.openai_api_key:
            return None, ["OPENAI_API_KEY is set, but no model: set QUOTH_LLM_MODEL to have the LLM answer."]
        return None, []
    from rag.llm import LLMAnswerer

    llm = LLMAnswerer(
        settings.llm_model,
        base_url=settings.openai_base_url,
        api_key=settings.key(),
        timeout=settings.llm_timeout,
        retries=settings.llm_retries,
    )
    return llm, []
