"""What a run was made with, for ``run.json``, and in what two runs differ."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib import metadata
from typing import TYPE_CHECKING, Any, get_args
from urllib.parse import urlsplit, urlunsplit

from eval.items import Item
from rag import __version__

if TYPE_CHECKING:
    from rag.pipeline import Quoth
    from rag.settings import Settings

_PACKAGES = ("chromadb", "tantivy", "sentence-transformers", "torch", "langchain", "openai", "numpy")
# What may differ between the beginning of a run and its resumption: it does not change what is measured.
_FREE = ("date", "workers", "items.file", "settings.home")


def describe(quoth: Quoth, items: Sequence[Item], search_only: bool, workers: int, source: str) -> dict[str, Any]:
    """All that is needed to repeat a run, and no secret."""
    settings = quoth.settings
    papers = quoth.papers()
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "items": {"file": source, "count": len(items), "sha256": _digest(item.as_dict() for item in items)},
        "search_only": search_only,
        "workers": workers,
        "models": {
            "embedding": settings.embedding_model,
            "reranker": settings.reranker or None,
            "answerer": settings.llm_model
            if settings.answerer != "extractive" and settings.llm_model
            else "extractive",
        },
        "library": {
            "name": settings.library,
            "papers": len(papers),
            "fingerprint": quoth.library.fingerprint(),
        },
        "settings": public(settings),
        "versions": {"quoth": __version__, "python": platform.python_version(), **_versions()},
        "machine": f"{platform.system()} {platform.machine()}",
    }


def public(settings: Settings) -> dict[str, Any]:
    """Settings as JSON without keys, tokens, and user names in addresses."""
    from pydantic import SecretStr

    fields = type(settings).model_fields
    secret = {name for name, field in fields.items() if SecretStr in (field.annotation, *get_args(field.annotation))}
    shown = settings.model_dump(mode="json", exclude=secret)
    return {name: _without_user(value) if name.endswith("_url") else value for name, value in shown.items()}


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """In what two descriptions differ so that their records must not be mixed, as ``settings.k was 5, is 8``."""
    a, b = _flat(before), _flat(now)
    names = sorted(n for n in a.keys() | b.keys() if n not in _FREE and a.get(n) != b.get(n))
    return [f"{n} was {a.get(n)!r}, is {b.get(n)!r}" for n in names]


def _digest(values: Iterable[Mapping[str, Any]]) -> str:
    """sha256 of JSON objects, whatever their order."""
    lines = sorted(json.dumps(v, sort_keys=True) for v in values)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _versions() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def _flat(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested objects as dotted names."""
    flat: dict[str, Any] = {}
    for name, v in value.items():
        flat |= _flat(v, f"{prefix}{name}.") if isinstance(v, Mapping) else {prefix + name: v}
    return flat


def _without_user(address: str) -> str:
    """An address without user name and password."""
    parts = urlsplit(address)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])) if address else ""
