"""Every test has a home of its own, no settings of the user's, and no way to another machine."""

from __future__ import annotations

import json
import os
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import BEES, BOUND, PUMP


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder of the libraries, not yet made."""
    for name in list(os.environ):
        if name.upper().startswith(("OPENAI_", "QUOTH_")):
            monkeypatch.delenv(name)
    folder = tmp_path / "home"
    monkeypatch.setenv("QUOTH_HOME", str(folder))
    return folder


@pytest.fixture(autouse=True)
def loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection to another machine fails the test, whatever the code does with exceptions."""
    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, _guarded(getattr(socket.socket, name)))


@pytest.fixture(scope="session")
def paper_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three papers as JSON lines; one has all metadata."""
    records = [
        {"id": PUMP.paper_id, "abstract": PUMP.abstract, "year": 2019},
        {
            "id": BEES.paper_id,
            "abstract": BEES.abstract,
            "title": "How Bees Find Home",
            "authors": ["Ada Imker", "Bo Wabe"],
            "year": 2024,
            "venue": "Apiary Letters",
            "url": "https://example.org/bees",
            "aliases": ["bees-2024"],
        },
        {"id": BOUND.paper_id, "abstract": BOUND.abstract},
    ]
    file = tmp_path_factory.mktemp("papers") / "papers.jsonl"
    file.write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
    return file


@pytest.fixture(scope="session")
def _template(paper_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from rag.build import index_paths
    from rag.settings import Settings

    folder = tmp_path_factory.mktemp("template") / "home"
    index_paths(Settings(home=folder, retriever="lexical"), [paper_file])
    return folder


@pytest.fixture
def library(_template: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The three papers in this test's home, found by words only: no encoder is loaded."""
    monkeypatch.setenv("QUOTH_RETRIEVER", "lexical")
    shutil.copytree(_template, home)
    return home


def _guarded(connect: Any) -> Any:
    def guarded(self: socket.socket, address: Any) -> Any:
        local = not isinstance(address, tuple) or address[0] in ("127.0.0.1", "::1", "localhost")
        if not local:
            pytest.fail(f"a test wanted to connect to {address}")
        return connect(self, address)

    return guarded
