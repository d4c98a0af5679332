"""A library on a real Chroma server."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag.build import index_paths, make_indexer, open_quoth
from rag.cli import main
from rag.errors import SettingsError, StoreError
from rag.settings import load_settings
from tests.fakes import BEES
from tests.llm_server import LLMServer

CHROMA = shutil.which("chroma", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
HIVE = "How do bees find their hive?"


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a running server."""
    if CHROMA is None:
        pytest.skip("the command `chroma` is not installed")
    port = free_port()
    folder = tmp_path_factory.mktemp("server")
    words = [CHROMA, "run", "--host", "127.0.0.1", "--port", str(port), "--path", str(folder / "data")]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(words, stdout=log, stderr=log, env={**os.environ, "ANONYMIZED_TELEMETRY": "False"})
    try:
        deadline = time.monotonic() + 30
        while not _listens(port):
            if server.poll() is not None or time.monotonic() > deadline:
                pytest.skip(f"`chroma run` does not start here: {(folder / 'log').read_text()[-300:]}")
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(10)


def _listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(autouse=True)
def _words_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("QUOTH_RETRIEVER", "lexical")


def test_a_library_on_a_server(url: str, paper_file: Path, home: Path) -> None:
    settings = load_settings(None, chroma_url=url, library="team")
    with pytest.raises(StoreError, match="is empty"):
        open_quoth(settings)
    assert index_paths(settings, [paper_file]).added == 3
    assert index_paths(settings, [paper_file]).unchanged == 3
    quoth = open_quoth(settings)
    assert quoth.ask(HIVE).answer == r"Bees find their hive by landmarks \[3\]. [1]"
    assert quoth.paper("bees-2024").abstract == BEES.abstract
    make_indexer(settings).remove([BEES.paper_id])
    assert quoth.ask(HIVE).status == "not_in_corpus"
    assert len(quoth.papers()) == 2
    assert not (home / "libraries/team/chroma").exists(), "nothing is kept here but the word index"


def test_another_machine_reads_what_one_has_written(url: str, paper_file: Path, tmp_path: Path) -> None:
    here = load_settings(None, chroma_url=url, library="shared", home=tmp_path / "here")
    there = load_settings(None, chroma_url=url, library="shared", home=tmp_path / "there")
    index_paths(here, [paper_file])
    reader = open_quoth(there)
    assert reader.ask(HIVE).status == "answered"
    more = tmp_path / "more.jsonl"
    more.write_text(json.dumps({"id": "w1", "abstract": "Wasps sting runners. Wasps build nests of paper."}))
    index_paths(here, [more])
    assert [p.paper_id for p in reader.papers()][-1] == "w1"
    assert reader.ask("What do wasps build nests of?").answer == "Wasps build nests of paper. [1]"


@pytest.mark.parametrize("command", [["ask", HIVE], ["papers", "list"], ["index", "FILE"], ["doctor"]])
def test_no_server_there(
    command: list[str], paper_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    monkeypatch.setenv("QUOTH_CHROMA_URL", url)
    words = [str(paper_file) if word == "FILE" else word for word in command]
    monkeypatch.setattr(sys, "argv", ["quoth", *words])
    with pytest.raises(SystemExit) as end:
        main()
    out, err = capsys.readouterr()
    assert end.value.code == 2
    said = [line for line in (out + err).splitlines() if url in line and "QUOTH_CHROMA_URL" in line]
    assert len(said) == 1
    assert command == ["doctor"] or (out, err.count("\n")) == ("", 1)


@pytest.mark.parametrize("url", ["http://127.0.0.1:99999", "http://[::1", "http://:8000"])
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(SettingsError, match="QUOTH_CHROMA_URL: not an address: write http://host:port"):
        load_settings(None, chroma_url=url)


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/tenant", "http://x/a/b/c"])
def test_an_address_with_half_a_place(url: str) -> None:
    with pytest.raises(StoreError, match="write http://host:8000 or https://host/tenant/database"):
        open_quoth(load_settings(None, chroma_url=url))


def test_another_server(home: Path) -> None:
    with LLMServer() as server, pytest.raises(StoreError, match="is no Chroma server: check QUOTH_CHROMA_URL"):
        open_quoth(load_settings(None, chroma_url=server.base_url.removesuffix("/v1")))
