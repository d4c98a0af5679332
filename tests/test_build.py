"""Settings in, working objects out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rag import build
from rag.build import index_paths, make_indexer, make_llm, open_catalog, open_quoth
from rag.errors import CorpusError, ModelError, StoreError
from rag.settings import Settings
from tests.tiny import Tiny

HIVE = "How do bees find their hive?"


class Loaded(Tiny):
    """Stands for any encoder that the settings name."""

    def __init__(self, model: str, dtype: str = "auto", window: int = 0, *_: str) -> None:
        super().__init__(window or 512)
        self.identity["model"] = model


@pytest.fixture(autouse=True)
def no_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "_load_embedder", Loaded)


def settings(home: Path, **given: object) -> Settings:
    return Settings(home=home, embedding_model=str(given.pop("embedding_model", "first")), **given)  # type: ignore[arg-type]


def words_only(home: Path, **given: object) -> Settings:
    return settings(home, retriever="lexical", **given)


@pytest.fixture
def indexed(home: Path, paper_file: Path) -> Path:
    """The home with three papers and their vectors."""
    index_paths(settings(home), [paper_file])
    return home


def test_index_and_ask(indexed: Path) -> None:
    quoth = open_quoth(settings(indexed))
    assert len(quoth.papers()) == 3
    answer = quoth.ask(HIVE)
    assert [c.paper.paper_id for c in answer.citations] == ["list.txt#2"]
    assert [c.paper_id for c in open_catalog(settings(indexed)).papers()] == ["list.txt#1", "list.txt#2", "list.txt#3"]


@pytest.mark.parametrize("opened", [open_quoth, open_catalog])
def test_no_library(home: Path, opened: object) -> None:
    with pytest.raises(StoreError, match="'default' is empty: run `quoth index PATH` first"):
        opened(settings(home))  # type: ignore[operator]
    assert not home.exists(), "a look leaves nothing behind"


def test_an_emptied_library(indexed: Path) -> None:
    make_indexer(settings(indexed)).remove(["list.txt#1", "list.txt#2", "list.txt#3"])
    with pytest.raises(StoreError, match="is empty"):
        open_quoth(settings(indexed))
    assert open_catalog(settings(indexed)).papers() == []


def test_another_encoder_is_refused_before_it_is_loaded(
    indexed: Path, paper_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = tmp_path / "more.jsonl"
    more.write_text(json.dumps({"id": "w1", "abstract": "Wasps sting runners near their nests."}))
    monkeypatch.setattr(build, "_load_embedder", lambda *_: pytest.fail("was loaded"))
    other = settings(indexed, embedding_model="second")
    for attempt in (lambda: open_quoth(other), lambda: index_paths(other, [more])):
        with pytest.raises(
            StoreError, match="made with the encoder first, not second: set QUOTH_EMBEDDING_MODEL=first"
        ):
            attempt()
    assert index_paths(other, [paper_file]).unchanged == 3, "what is known needs no encoder"
    assert len(open_catalog(other).papers()) == 3


def test_another_state_of_the_same_encoder_is_refused(indexed: Path) -> None:
    with pytest.raises(StoreError, match=r"another state of first \(window differ\): restore the setting"):
        open_quoth(settings(indexed, passage_tokens=64))


def test_a_library_with_vectors_can_be_searched_by_words(indexed: Path) -> None:
    assert open_quoth(words_only(indexed)).ask(HIVE).status == "answered"


def test_a_words_only_library(home: Path, paper_file: Path) -> None:
    index_paths(words_only(home), [paper_file])
    quoth = open_quoth(words_only(home, embedding_model="any"))
    assert [c.paper.paper_id for c in quoth.ask(HIVE).citations] == ["list.txt#2"]
    with pytest.raises(StoreError, match="indexed for words only: set QUOTH_RETRIEVER=lexical"):
        open_quoth(settings(home))


def test_a_words_only_library_takes_no_vectors(home: Path, paper_file: Path, tmp_path: Path) -> None:
    index_paths(words_only(home), [paper_file])
    more = tmp_path / "more.jsonl"
    more.write_text(json.dumps({"id": "w1", "abstract": "Wasps sting runners near their nests."}))
    with pytest.raises(StoreError, match="words only"):
        index_paths(settings(home), [more])
    assert index_paths(words_only(home), [more]).added == 1


def test_libraries_are_apart(indexed: Path, tmp_path: Path) -> None:
    more = tmp_path / "more.txt"
    more.write_text("Papers\n\nWasps sting runners near their nests. They do so in late summer.\n")
    report = index_paths(settings(indexed, library="other"), [more])
    assert report.added == 1
    assert [p.paper_id for p in open_catalog(settings(indexed, library="other")).papers()] == ["more.txt#1"]
    assert len(open_catalog(settings(indexed)).papers()) == 3


def test_titles_alone_are_kept_when_asked_for(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "titles.jsonl"
    ants = json.dumps({"id": "w0", "title": "Ants", "abstract": "Ants dig tunnels in sand."})
    title = {"id": "w1", "title": "Beetles of the North"}
    file.write_text(f"{ants}\n{json.dumps(title)}\n")
    report = index_paths(words_only(home), [file])
    assert (report.added, len(report.skipped)) == (1, 1)
    assert index_paths(words_only(home), [file], title_only=True).added == 1
    quoth = open_quoth(words_only(home))
    assert quoth.find("beetles").ranked == ("w1",)
    assert quoth.ask("Which beetles live in the north?").citations == ()
    file.write_text(json.dumps({**title, "abstract": "Northern beetles live under ice."}))
    assert index_paths(words_only(home), [file]).updated == 1
    assert quoth.ask("Where do northern beetles live?").answer == "Northern beetles live under ice. [1]"


def test_a_path_that_is_not_there(home: Path, tmp_path: Path) -> None:
    with pytest.raises(CorpusError):
        index_paths(settings(home), [tmp_path / "none.txt"])
    assert not (home / "libraries" / "default" / "chroma").exists()


def test_a_home_that_is_a_file(home: Path, paper_file: Path) -> None:
    home.write_text("")
    with pytest.raises(StoreError, match="QUOTH_HOME"):
        index_paths(words_only(home), [paper_file])


def test_no_language_model_unless_one_is_named(home: Path) -> None:
    assert make_llm(settings(home)) == (None, [])
    assert make_llm(settings(home, answerer="extractive", llm_model="m")) == (None, [])
    none, notices = make_llm(settings(home, openai_api_key="secret"))
    assert none is None
    assert ["QUOTH_LLM_MODEL" in n and "secret" not in n for n in notices] == [True]
    with pytest.raises(ModelError, match="set QUOTH_LLM_MODEL"):
        make_llm(settings(home, answerer="llm"))
    llm, notices = make_llm(settings(home, llm_model="m", openai_base_url="http://127.0.0.1:1/v1"))
    assert llm is not None and llm.name == "openai:m"
    assert notices == []
