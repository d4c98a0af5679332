"""The indexing job over real Chroma and tantivy: repeated, changed, interrupted, from two processes."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import rag.index
from rag.errors import CorpusError, StoreError
from rag.identity import text_sha
from rag.index import Indexer, writer_lock
from rag.types import BadRecord, Paper
from tests.tiny import Shelf, Tiny, counts, ids, listed, record

BEES = "Bees fly far to find flowers when the hive is hungry and the meadow is dry in summer."
ANTS = "Ants dig tunnels in sand."
WASPS = "Wasps sting runners near their nests."
MOTHS = "Moths seek light at night."
ROOT = Path(__file__).parents[1]


@pytest.fixture
def shelf(home: Path) -> Shelf:
    return Shelf(home)


def conflict(place: str, text: str) -> str:
    return f"{place}~{text_sha(text)[:6]}"


def assert_sound(shelf: Shelf) -> None:
    """Store and word index hold the same papers, in the same state, once each."""
    store, lexical = shelf.parts()
    papers = store.catalog()
    assert lexical.generation == store.generation
    assert store.generation % 2 == 0
    assert lexical.frequencies([])[0] == len(papers)
    for paper in store.texts():
        assert paper.paper_id in dict(lexical.search(f"{paper.title} {paper.abstract}", 99))
    # Counted, not searched: the approximate index may miss a neighbour of a handful after updates.
    assert store._opened().count() == sum(e.passages for e in papers.values())


# -- repeated and changed -------------------------------------------------------------------------------------------


def test_twice_changes_nothing_and_asks_no_encoder(shelf: Shelf) -> None:
    assert counts(shelf.index(*listed(BEES, ANTS, WASPS))) == (3, 0, 0, 0)
    assert shelf.embedder.read == [BEES, ANTS, WASPS]
    before = shelf.store().generation
    shelf.embedder.read.clear()
    assert counts(shelf.index(*listed(BEES, ANTS, WASPS))) == (0, 0, 3, 0)
    assert shelf.embedder.read == []
    assert shelf.store().generation == before
    assert_sound(shelf)


def test_a_changed_abstract_is_updated_and_its_old_words_are_gone(shelf: Shelf) -> None:
    shelf.index(*listed(BEES, ANTS))
    changed = BEES.replace("meadow", "orchard")
    assert counts(shelf.index(*listed(changed, ANTS))) == (0, 1, 1, 0)
    assert shelf.embedder.read == [BEES, ANTS, changed]
    assert shelf.stored() == {"list.txt#1": changed, "list.txt#2": ANTS}
    assert shelf.found("meadow") == []
    assert shelf.found("orchard") == ["list.txt#1"]
    assert_sound(shelf)


def test_punctuation_alone_changed_is_stored_too(shelf: Shelf) -> None:
    shelf.index(*listed(ANTS))
    changed = ANTS.replace("sand", "“sand”")
    assert counts(shelf.index(*listed(changed))) == (0, 1, 0, 0)
    assert shelf.stored() == {"list.txt#1": changed}


def test_a_paper_put_in_front_keeps_the_ids_of_the_others(shelf: Shelf) -> None:
    shelf.index(*listed(BEES, ANTS, WASPS))
    report = shelf.index(*listed(MOTHS, BEES, ANTS, WASPS))
    new = conflict("list.txt#1", MOTHS)
    assert counts(report) == (1, 0, 3, 0)
    assert report.notices == (f"list.txt#1: list.txt#1 is another paper's id; kept as {new}",)
    assert shelf.stored() == {"list.txt#1": BEES, "list.txt#2": ANTS, "list.txt#3": WASPS, new: MOTHS}
    again = shelf.index(*listed(MOTHS, BEES, ANTS, WASPS))
    assert (counts(again), again.notices) == ((0, 0, 4, 0), ())
    assert len(shelf.stored()) == 4
    assert_sound(shelf)


def test_a_paper_taken_from_the_front_moves_no_id(shelf: Shelf) -> None:
    shelf.index(*listed(BEES, ANTS, WASPS))
    report = shelf.index(*listed(ANTS, WASPS))
    assert (report.added, report.updated) == (0, 0)
    assert shelf.stored() == {"list.txt#1": BEES, "list.txt#2": ANTS, "list.txt#3": WASPS}


def test_duplicates_within_and_across_files(shelf: Shelf) -> None:
    report = shelf.index(*listed(BEES, ANTS, BEES.upper()), *listed(ANTS, WASPS, file="b.txt"))
    assert counts(report) == (3, 0, 0, 2)
    assert list(shelf.stored()) == ["list.txt#1", "list.txt#2", "b.txt#2"]
    assert shelf.stored()["list.txt#1"] == BEES


TOLD: dict[str, Any] = {"title": "The Bees", "year": 2020, "url": "https://doi.org/10.1/bees"}


def test_title_and_doi_learned_later_fill_the_same_paper(shelf: Shelf) -> None:
    shelf.index(*listed(BEES, ANTS))
    rich = record("doi:10.1/bees", BEES, aliases=("arxiv:2401.1",), **TOLD)
    assert counts(shelf.index(rich)) == (0, 1, 0, 0)
    paper = shelf.paper("list.txt#1")
    assert (paper.title, paper.year, paper.url) == ("The Bees", 2020, "https://doi.org/10.1/bees")
    assert paper.aliases == ("doi:10.1/bees", "arxiv:2401.1")
    assert paper.abstract == BEES
    assert shelf.quoth().paper("doi:10.1/bees").paper_id == "list.txt#1"
    shelf.embedder.read.clear()
    assert counts(shelf.index(rich)) == (0, 0, 1, 0)
    assert shelf.index(*listed(BEES, ANTS)).updated == 0
    assert shelf.embedder.read == []
    assert_sound(shelf)


def test_the_same_in_the_other_order(shelf: Shelf) -> None:
    shelf.index(record("doi:10.1/bees", BEES, **TOLD))
    assert counts(shelf.index(*listed(BEES, ANTS))) == (1, 0, 0, 1)
    assert list(shelf.stored()) == ["doi:10.1/bees", "list.txt#2"]
    assert shelf.paper("doi:10.1/bees").title == "The Bees"
    shelf.index(record("pmid:7", BEES, "b.nbib#1", venue="Nature", title="The bees"))
    paper = shelf.paper("doi:10.1/bees")
    assert (paper.title, paper.venue, paper.aliases) == ("The Bees", "Nature", ("pmid:7",))


def test_both_in_one_run(shelf: Shelf) -> None:
    report = shelf.index(*listed(BEES, ANTS), record("doi:10.1/bees", BEES, **TOLD))
    assert report.added == 2
    assert (shelf.paper("list.txt#1").title, shelf.paper("list.txt#1").abstract) == ("The Bees", BEES)
    assert shelf.found("the bees")[:1] == ["list.txt#1"]
    assert_sound(shelf)


def test_the_same_title_with_another_abstract_is_another_paper(shelf: Shelf) -> None:
    shelf.index(record("w1", BEES, title="Editorial"), record("w2", ANTS, "b.jsonl#1", title="Editorial"))
    assert shelf.stored() == {"w1": BEES, "w2": ANTS}


def test_the_same_own_id_in_two_files_is_two_papers(shelf: Shelf) -> None:
    files = record("1", BEES, "a.jsonl#1", title="Notes"), record("1", ANTS, "b.jsonl#1", title="Notes")
    assert shelf.index(*files).added == 2
    other = conflict("1", ANTS)
    for _ in range(2):
        assert shelf.stored() == {"1": BEES, other: ANTS}
        report = shelf.index(*files)
        assert (report.added, report.updated) == (0, 0)
    assert shelf.index(files[1]).added == 0, "alone, too"


def test_an_edited_list_and_the_old_text_in_another_file(shelf: Shelf) -> None:
    shelf.index(*listed(BEES))
    changed = BEES.replace("meadow", "orchard")
    report = shelf.index(*listed(changed), *listed(BEES, file="b.txt"))
    assert counts(report) == (1, 1, 0, 0)
    assert shelf.stored() == {"list.txt#1": changed, "b.txt#1": BEES}


def test_a_paper_without_an_abstract(shelf: Shelf) -> None:
    bare = record("w1", "", title="Beetles of the North")
    assert counts(shelf.index(bare, record("w2", "", "b.jsonl#1", title="Beetles of the North"))) == (2, 0, 0, 0)
    assert shelf.found("beetles") == ["w1", "w2"]
    answer = shelf.quoth().ask("Which beetles live in the north?")
    assert answer.citations == ()
    assert answer.status == "not_in_corpus"
    assert shelf.index(bare).unchanged == 1
    assert shelf.index(replace(bare, abstract=ANTS)).updated == 1
    assert shelf.stored() == {"w1": ANTS, "w2": ""}
    assert shelf.found("tunnels") == ["w1"]
    assert shelf.index(bare).unchanged == 1, "what was learned is not lost again"
    assert shelf.stored()["w1"] == ANTS
    assert_sound(shelf)


def test_bad_records_are_reported_and_stop_nothing(shelf: Shelf) -> None:
    bad = BadRecord("export.jsonl#2", "no abstract")
    report = shelf.index(record("w1", BEES), bad, record("w3", ANTS, "export.jsonl#3"))
    assert (report.added, report.skipped) == (2, (bad,))
    assert report.as_dict()["skipped"] == [{"source": "export.jsonl#2", "reason": "no abstract"}]


def test_nothing_to_index_makes_no_library(shelf: Shelf) -> None:
    assert counts(shelf.index()) == (0, 0, 0, 0)
    assert not shelf.store().exists()


def test_long_abstracts_become_passages(home: Path) -> None:
    shelf = Shelf(home, Tiny(window=30))
    long = " ".join(f"Sentence {n} speaks of subject{n} and of nothing else at all." for n in range(12))
    shelf.index(*listed(long, ANTS))
    assert shelf.stored()["list.txt#1"] == long
    assert len(shelf.embedder.read) > 4
    found = shelf.search("subject9 nothing else")
    assert ids(found) == ["list.txt#1", "list.txt#2"], "one entry a paper"
    passage = found[0].passage
    assert "subject9" in passage.text
    assert long[passage.start : passage.end] == passage.text
    assert_sound(shelf)


def test_progress_counts_records(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rag.index, "_CHUNK", 2)
    seen: list[int] = []
    shelf.indexer().index(
        [*listed(BEES, ANTS, WASPS), BadRecord("x#1", "empty")], lambda done, total: seen.append(done)
    )
    assert seen == [2, 4]


# -- removed --------------------------------------------------------------------------------------------------------


def test_removed_papers_are_gone_and_may_come_back(shelf: Shelf) -> None:
    shelf.index(*listed(BEES, ANTS))
    shelf.indexer().remove(["list.txt#1", "unknown"])
    assert shelf.stored() == {"list.txt#2": ANTS}
    assert shelf.found("bees") == []
    assert_sound(shelf)
    assert counts(shelf.index(*listed(BEES, ANTS))) == (1, 0, 1, 0)
    shelf.indexer().remove(["list.txt#1", "list.txt#2"])
    assert shelf.stored() == {}
    assert_sound(shelf)
    with pytest.raises(StoreError, match="is empty: run `quoth index PATH`"):
        shelf.quoth()


def test_nothing_can_be_removed_from_no_library(shelf: Shelf) -> None:
    with pytest.raises(StoreError, match="quoth index PATH"):
        shelf.indexer().remove(["w1"])


# -- interrupted ----------------------------------------------------------------------------------------------------

LONG = " ".join(f"Sentence {n} speaks of subject{n} and of nothing else at all." for n in range(8))
OLD = [*listed(LONG, ANTS), record("w1", BEES, title="Bees")]
NEW = [*listed(LONG.replace("subject7", "theme7"), ANTS, MOTHS), record("w1", "Short bees.", title="Bees", year=2020)]


def fail_in(where: str, error: BaseException) -> Callable[[Indexer], None]:
    """Make the named step of an indexer fail when it is first reached in the second chunk."""

    def rig(indexer: Indexer) -> None:
        part, name = {
            "encoder": (indexer._embedder(), "documents"),
            "store": (indexer._store, "write"),
            "surplus": (indexer._store, "_delete"),
            "cards": (indexer._store, "write_cards"),
            "words": (indexer._lexical, "update"),
            "stamp": (indexer._lexical, "_mirrors"),
            "end": (indexer._store, "_set_generation"),
        }[where]
        step, calls = getattr(part, name), 0

        def failing(*given: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == 2:
                raise error
            return step(*given)

        setattr(part, name, failing)

    return rig


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Shelf]:
    """The home of a library of OLD, and one that NEW has been indexed into without interruption."""
    old, whole = (Shelf(tmp_path_factory.mktemp(name), Tiny(30)) for name in ("old", "whole"))
    for shelf in (old, whole):
        shelf.index(*OLD)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rag.index, "_CHUNK", 2)
        whole.index(*NEW)
    return old.settings.home, whole


@pytest.mark.parametrize(
    ("where", "error"),
    [("encoder", RuntimeError("out of memory"))]
    + [(where, KeyboardInterrupt()) for where in ("encoder", "store", "surplus", "cards", "words", "stamp", "end")],
)
def test_an_interrupted_run_is_healed_by_the_next(
    states: tuple[Path, Shelf], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, error: BaseException
) -> None:
    monkeypatch.setattr(rag.index, "_CHUNK", 2)
    old, whole = states
    cut = Shelf(Path(shutil.copytree(old, tmp_path / "cut")), Tiny(30))
    indexer = cut.indexer()
    fail_in(where, error)(indexer)
    with pytest.raises(type(error)):
        indexer.index(NEW)
    cut.embedder = Tiny(30)
    assert set(cut.quoth().find("subject1 bees").ranked) >= {"list.txt#1", "w1"}, "what is there can be read"

    cut.index(*NEW)
    assert cut.stored() == whole.stored()
    assert cut.store().catalog() == whole.store().catalog()
    assert_sound(cut)
    assert set(cut.found("subject7 moths bees")) == set(whole.found("subject7 moths bees")) == {"w1", "list.txt#3"}


def test_an_interrupted_removal(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf.index(*listed(BEES, ANTS))
    indexer = shelf.indexer()
    monkeypatch.setattr(indexer._lexical, "update", interrupt)
    with pytest.raises(KeyboardInterrupt):
        indexer.remove(["list.txt#1"])
    assert shelf.quoth().find("bees tunnels").ranked == ("list.txt#2",)
    shelf.index()
    assert_sound(shelf)


def test_an_interruption_while_reading_keeps_whole_chunks(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rag.index, "_CHUNK", 2)

    def records() -> Iterator[Paper]:
        yield from listed(BEES, ANTS, WASPS)
        raise CorpusError("the file ends in the middle")

    with pytest.raises(CorpusError):
        shelf.indexer().index(records())
    assert shelf.stored() == {"list.txt#1": BEES, "list.txt#2": ANTS}
    assert counts(shelf.index(*listed(BEES, ANTS, WASPS))) == (1, 0, 2, 0)


def interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def test_a_lost_word_index_is_made_anew(shelf: Shelf) -> None:
    shelf.index(*listed(BEES, ANTS))
    for file in (shelf.folder / "lexical").iterdir():
        file.unlink()
    shelf.quoth()
    assert shelf.found("bees") == ["list.txt#1"]
    for file in (shelf.folder / "lexical").glob("*.term"):
        file.write_bytes(b"no")
    assert shelf.index(*listed(BEES, ANTS)).unchanged == 2
    assert_sound(shelf)


def test_a_word_index_without_its_library_is_not_kept(shelf: Shelf) -> None:
    shelf.index(*listed(BEES))
    shelf.store()._connect().delete_collection("quoth-tiny")
    shelf.index(*listed(ANTS))
    assert shelf.found("bees tunnels") == ["list.txt#1"]
    assert_sound(shelf)


# -- two processes --------------------------------------------------------------------------------------------------


def elsewhere(home: Path, code: str) -> subprocess.CompletedProcess[str]:
    """Run code over the same library in another process."""
    start = (
        "from pathlib import Path\nfrom rag.errors import *\nfrom tests.tiny import *\n"
        f"shelf = Shelf(Path({str(home)!r}))\n"
    )
    return subprocess.run([sys.executable, "-c", start + code], cwd=ROOT, capture_output=True, text=True, timeout=60)


def test_one_writer_at_a_time(shelf: Shelf, home: Path) -> None:
    shelf.index(*listed(BEES))
    with writer_lock(shelf.folder):
        with pytest.raises(StoreError, match="another quoth is writing"):
            shelf.index(*listed(ANTS))
        assert shelf.quoth().find("bees").ranked == ("list.txt#1",), "reading goes on"
        other = elsewhere(home, "try: shelf.index(*listed('Ants dig.'))\nexcept StoreError as e: print(e)")
    assert other.stdout.startswith("another quoth is writing to the library in "), other.stderr
    assert shelf.stored() == {"list.txt#1": BEES}


def test_a_question_does_not_wait_for_a_writer(shelf: Shelf) -> None:
    shelf.index(*listed(BEES))
    quoth = shelf.quoth()
    store = shelf.store()
    with writer_lock(shelf.folder), store.writing():
        started = time.perf_counter()
        assert quoth.find("bees").ranked == ("list.txt#1",)
        assert shelf.quoth().find("bees").ranked == ("list.txt#1",)
        assert time.perf_counter() - started < 1.5, "seconds; a writer waits longer"


def test_an_open_library_sees_what_another_process_does(shelf: Shelf, home: Path) -> None:
    shelf.index(*listed(BEES, ANTS))
    quoth = shelf.quoth()
    assert quoth.find("moths bees").ranked[0] == "list.txt#1"
    done = elsewhere(
        home,
        "shelf.index(*listed('Moths seek light.', 'Beetles dig holes.', file='b.txt'))\n"
        "shelf.indexer().remove(['list.txt#1'])",
    )
    assert done.returncode == 0, done.stderr
    assert set(quoth.find("moths bees").ranked) == {"b.txt#1", "b.txt#2", "list.txt#2"}
    assert [p.paper_id for p in quoth.papers()] == ["list.txt#2", "b.txt#1", "b.txt#2"]
    assert quoth.paper("b.txt#2").abstract == "Beetles dig holes."
    with pytest.raises(CorpusError):
        quoth.paper("list.txt#1")


def test_a_killed_writer(shelf: Shelf, home: Path) -> None:
    shelf.index(*listed(BEES))
    killed = elsewhere(
        home,
        "import os\nindexer = shelf.indexer()\nindexer._lexical.update = lambda *_: os._exit(9)\n"
        "indexer.index(listed('Moths seek light.', file='b.txt'))",
    )
    assert killed.returncode == 9, killed.stderr
    assert shelf.store().generation % 2 == 1
    assert shelf.quoth().find("moths").ranked[0] == "b.txt#1"
    shelf.index()
    assert shelf.stored() == {"list.txt#1": BEES, "b.txt#1": "Moths seek light."}
    assert_sound(shelf)
