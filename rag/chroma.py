"""A connection with Chroma, embedded or on a server, and its failures as sentences."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from rag import environment
from rag.errors import StoreError

_CONNECTING = threading.Lock()  # Chroma keeps a table of open databases that threads must not change together


def connect(folder: Path, url: str, token: str) -> Any:
    """A client of the server at ``url``, else of the database in ``folder``, read afresh. Raises StoreError."""
    environment.prepare(offline=False)
    import chromadb
    import httpx
    from chromadb.api.shared_system_client import SharedSystemClient
    from chromadb.config import Settings
    from chromadb.errors import ChromaError

    quiet = Settings(anonymized_telemetry=False)
    address = _address(url, token) if url else {}
    with translated(url), _CONNECTING:
        if url:
            try:
                return chromadb.HttpClient(**address, settings=quiet)
            except (ChromaError, httpx.HTTPError, OSError):
                raise
            except Exception as e:  # what Chroma's client makes of another server's reply
                if "could not connect" in str(e).lower():
                    raise
                raise StoreError(f"what answers at {shown(url)} is no Chroma server: check QUOTH_CHROMA_URL") from e
        folder.mkdir(parents=True, exist_ok=True)
        SharedSystemClient.clear_system_cache()  # else this process goes on with what it once read
        return chromadb.PersistentClient(str(folder), settings=quiet)


@contextmanager
def translated(url: str) -> Iterator[None]:
    """Foreign errors of the store's engine, as sentences."""
    import httpx
    from chromadb.errors import ChromaError

    where = f"the Chroma server at {shown(url)}" if url else "the library's database"
    remedy = "check QUOTH_CHROMA_URL and that the server runs" if url else "check the folder given by QUOTH_HOME"
    try:
        yield
    except (ChromaError, httpx.HTTPError, OSError) as e:
        raise StoreError(f"{where} failed ({_line(e)}): {remedy}") from e
    except ValueError as e:
        if "connect" in str(e).lower():
            raise StoreError(f"{where} does not answer: {remedy}") from e
        raise


def shown(url: str) -> str:
    """A server's address as it may be shown: without user and password."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "an address that is none"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _address(url: str, token: str) -> dict[str, Any]:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = None
    place = [p for p in parts.path.split("/") if p] if host else []
    if not host or len(place) not in (0, 2):
        raise StoreError(
            "QUOTH_CHROMA_URL is no address of a Chroma server: write http://host:8000 or https://host/tenant/database"
        )
    secure = parts.scheme == "https"
    address: dict[str, Any] = {"host": host, "port": port or (443 if secure else 8000), "ssl": secure}
    if place:
        address |= {"tenant": place[0], "database": place[1]}
    if token:
        address["headers"] = {"x-chroma-token": token}
    return address


def _line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text[:160] or type(error).__name__
