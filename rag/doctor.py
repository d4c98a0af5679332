"""What is installed, which models, store and keys are in use, and what is wrong with the remedy."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from rag.build import NO_VECTORS, open_store
from rag.chroma import shown
from rag.embed import BUNDLED, BUNDLED_NAME, bundled_folder
from rag.endpoint import Endpoint
from rag.errors import QuothError
from rag.settings import Settings

_PACKAGES = (
    "chromadb",
    "sentence-transformers",
    "torch",
    "tantivy",
    "langchain",
    "langchain-openai",
    "openai",
    "gradio",
)


@dataclass(frozen=True)
class Finding:
    """One line of the report."""

    subject: str
    ok: bool
    text: str

    def line(self) -> str:
        return f"{'ok   ' if self.ok else 'WRONG'}  {self.subject}: {self.text}"

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def examine(settings: Settings) -> list[Finding]:
    """Everything in order, without loading a model or calling a service other than the store."""
    checks: tuple[tuple[str, Callable[[Settings], str]], ...] = (
        ("python", lambda s: f"{platform.python_version()} on {platform.system()} {platform.machine()}"),
        ("packages", _packages),
        ("home", _home),
        ("store", lambda s: f"Chroma at {shown(s.chroma_url)}" if s.chroma_url else "Chroma, embedded on disk"),
        ("library", _library),
        ("encoder", _encoder),
        ("retriever", lambda s: s.retriever + (f", reranked by {s.reranker}" if s.reranker else "")),
        ("answerer", _answerer),
    )
    findings = []
    for subject, check in checks:
        try:
            findings.append(Finding(subject, True, check(settings)))
        except QuothError as e:
            findings.append(Finding(subject, False, str(e)))
    return findings


def _packages(settings: Settings) -> str:
    found, lacking = [], []
    for package in _PACKAGES:
        try:
            found.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            lacking.append(package)
    if lacking:
        raise QuothError(f"missing {', '.join(lacking)}: run `pip install quoth` again")
    return ", ".join(found)


def _home(settings: Settings) -> str:
    folder = settings.home
    try:
        existing = next(p for p in (folder, *folder.absolute().parents) if p.exists())
        with tempfile.TemporaryFile(dir=existing):  # rights on paper do not tell: a file system may be read-only
            pass
    except OSError as e:
        raise QuothError(f"{folder} cannot be written ({e.strerror}): set QUOTH_HOME to a folder that can") from None
    return str(folder)


def _library(settings: Settings) -> str:
    store = open_store(settings)
    if not store.exists():
        return f"{settings.library}: empty; `quoth index PATH` fills it"
    maker = store.embedder["model"]
    wanted = BUNDLED_NAME if settings.embedding_model == BUNDLED else settings.embedding_model
    if settings.retriever != "lexical" and maker != wanted:
        setting = "QUOTH_RETRIEVER=lexical" if maker == NO_VECTORS else f"QUOTH_EMBEDDING_MODEL={maker}"
        raise QuothError(f"{settings.library} was made with the encoder {maker}, not {wanted}: set {setting}")
    return f"{settings.library}: {len(store.catalog())} papers, encoder {maker}"


def _encoder(settings: Settings) -> str:
    if settings.retriever == "lexical":
        return "not used: papers are searched by words only"
    if settings.embedding_model == BUNDLED:
        bundled_folder()
        return f"{BUNDLED_NAME}, bundled, weights checked"
    if settings.embedding_model.startswith("openai:") and not (settings.key() or settings.openai_base_url):
        raise QuothError(f"{settings.embedding_model} needs a key: set OPENAI_API_KEY")
    return settings.embedding_model


def _answerer(settings: Settings) -> str:
    if settings.answerer == "extractive":
        return "extractive: verbatim sentences, no LLM"
    if settings.llm_model:
        endpoint = Endpoint(settings.llm_model, settings.openai_base_url, settings.key(), settings.llm_timeout)
        endpoint.usable_key()
        return f"{settings.llm_model} at {endpoint.shown}, {'with' if settings.key() else 'without'} a key"
    if settings.answerer == "llm":
        raise QuothError("llm is chosen, but no model: set QUOTH_LLM_MODEL")
    if settings.openai_api_key:
        return "extractive; a key is set, but no model: set QUOTH_LLM_MODEL to have the LLM answer"
    return "extractive: no LLM is set"
