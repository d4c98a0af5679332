"""Papers, passages and vectors in Chroma, on disk."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from rag.errors import StoreError
from rag.passages import passages
from rag.records import Row
from rag.store import Store
from rag.types import Paper
from tests.tiny import Tiny, entry

BEES = Paper("doi:10.1/bees", "Bees fly to flowers. Bees sleep at night.", title="Bees", year=2020, authors=("A", "B"))
ANTS = Paper("list.txt#2", "Ants walk.", label="Ants")
STAMP = Tiny().identity


def rows(*papers: Paper, limit: int = 512) -> list[Row]:
    made = []
    for paper in papers:
        cut = passages(paper, Tiny().token_count, limit)
        vectors = Tiny().documents([p.text for p in cut])
        made.append(Row(replace(entry(paper), passages=len(cut)), cut, vectors))
    return made


def write(store: Store, *papers: Paper, limit: int = 512) -> None:
    with store.writing():
        store.write(rows(*papers, limit=limit))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store(tmp_path, "tiny")
    made.create(STAMP)
    write(made, BEES, ANTS)
    return made


def afresh(tmp_path: Path) -> Store:
    return Store(tmp_path, "tiny")


def near(store: Store, question: str, n: int = 9, only: list[str] | None = None) -> list[str]:
    return [p.passage_id for p, _ in store.nearest(Tiny().query(question), n, only)]


def test_a_look_creates_nothing(tmp_path: Path) -> None:
    store = afresh(tmp_path)
    assert not store.exists()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(StoreError, match="quoth index PATH"):
        store.catalog()


def test_papers_come_back_as_they_were(store: Store, tmp_path: Path) -> None:
    opened = afresh(tmp_path)
    assert opened.exists()
    assert opened.embedder == STAMP
    assert list(opened.catalog().values()) == [entry(BEES), entry(ANTS)]
    assert opened.papers([ANTS.paper_id, "unknown", BEES.paper_id]) == {ANTS.paper_id: ANTS, BEES.paper_id: BEES}
    assert list(opened.papers([ANTS.paper_id, BEES.paper_id])) == [ANTS.paper_id, BEES.paper_id]
    assert list(opened.texts(batch=1)) == [BEES, ANTS]


@pytest.mark.parametrize(
    "text",
    [
        "🐝𝔸𠀀 e\u0301 à",
        "nul \0 inside",
        "\u202e bidi \ufeff\u2028",
        "  blanks\n\nlines  ",
        "\\[3\\] $x_{[1]}$ {a} 'b' \"c\"",
    ],
)
def test_text_is_stored_unchanged(store: Store, tmp_path: Path, text: str) -> None:
    paper = Paper("u", text, title=text, authors=(text,), venue=text, aliases=(text,), note=text)
    write(store, paper)
    assert afresh(tmp_path).papers(["u"]) == {"u": paper}


@pytest.mark.parametrize("paper_id", ["a/b", "a/0", "a b#1", 'it\'s "q"', "$in", "[1]", "tab\tx", "é🐝", "z" * 500])
def test_ids_may_have_any_characters(store: Store, tmp_path: Path, paper_id: str) -> None:
    write(store, Paper(paper_id, "Moths seek light."), Paper("a", "Wasps sting."))
    opened = afresh(tmp_path)
    assert opened.papers([paper_id])[paper_id].abstract == "Moths seek light."
    assert near(opened, "moths", 1, [paper_id, ANTS.paper_id]) == [f"{paper_id}/0"]
    opened.remove([paper_id])
    assert list(afresh(tmp_path).catalog()) == [BEES.paper_id, ANTS.paper_id, "a"]


def test_nothing_known_but_the_text(store: Store, tmp_path: Path) -> None:
    write(store, Paper("bare", "x"), Paper("empty", "", title="Only a title"))
    assert afresh(tmp_path).papers(["bare", "empty"]) == {
        "bare": Paper("bare", "x"),
        "empty": Paper("empty", "", title="Only a title"),
    }


def test_passages_tile_the_abstract_and_shrink_with_it(store: Store, tmp_path: Path) -> None:
    long = Paper("long", " ".join(f"Subject{n} is what this sentence is about and no other." for n in range(9)))
    write(store, long, limit=22)
    opened = afresh(tmp_path)
    assert opened.catalog()["long"].passages == 5
    assert opened.papers(["long"])["long"] == long
    [(passage, similarity)] = opened.nearest(Tiny().query("subject8"), 1)
    assert passage.text == long.abstract[passage.start : passage.end]
    assert "Subject8" in passage.text
    assert 0 < similarity < 1
    write(opened, replace(long, abstract="Subject1 is all."))
    assert near(afresh(tmp_path), "subject8 subject1", only=["long"]) == ["long/0"]
    assert opened.first_passages(["long", "unknown"])["long"].text == "Subject1 is all."


def test_nearest(store: Store) -> None:
    [(passage, similarity)] = store.nearest(Tiny().query("ants walk"), 1)
    assert (passage.paper_id, passage.start, passage.end) == (ANTS.paper_id, 0, 10)
    assert similarity == pytest.approx(1, abs=1e-5)
    assert near(store, "ants", only=[BEES.paper_id]) == [f"{BEES.paper_id}/0"]
    assert near(store, "ants", only=["unknown"]) == []
    assert near(store, "ants", only=[]) == []
    assert near(store, "ants", only=[f"x{n}" for n in range(40_000)] + [ANTS.paper_id]) == [f"{ANTS.paper_id}/0"]


def test_cards_change_without_vectors(store: Store, tmp_path: Path) -> None:
    with store.writing():
        store.write_cards([entry(replace(ANTS, title="On Ants", aliases=("doi:10.1/ants",), year=1999))])
        store.write_cards([])
    paper = afresh(tmp_path).papers([ANTS.paper_id])[ANTS.paper_id]
    assert (paper.title, paper.aliases, paper.year, paper.abstract) == (
        "On Ants",
        ("doi:10.1/ants",),
        1999,
        "Ants walk.",
    )
    assert near(afresh(tmp_path), "ants walk", 1) == [f"{ANTS.paper_id}/0"]


def test_what_is_emptied_in_a_card_is_gone(store: Store, tmp_path: Path) -> None:
    store.write_cards([entry(replace(BEES, title="", year=None, authors=()))])
    paper = afresh(tmp_path).papers([BEES.paper_id])[BEES.paper_id]
    assert (paper.title, paper.year, paper.authors) == ("", None, ())


def test_remove(store: Store, tmp_path: Path) -> None:
    store.remove([BEES.paper_id, "unknown"])
    store.remove([])
    opened = afresh(tmp_path)
    assert list(opened.catalog()) == [ANTS.paper_id]
    assert near(opened, "bees fly") == [f"{ANTS.paper_id}/0"]


def test_the_generation_is_odd_while_a_change_is_under_way(store: Store, tmp_path: Path) -> None:
    before = store.generation
    with store.writing() as after:
        assert afresh(tmp_path).generation == before + 1
    assert afresh(tmp_path).generation == after == before + 2
    with pytest.raises(KeyboardInterrupt), store.writing():
        raise KeyboardInterrupt
    assert afresh(tmp_path).generation == before + 3
    with store.writing() as after:
        pass
    assert store.generation == after == before + 4


def test_sweep_takes_what_has_no_paper(store: Store, tmp_path: Path) -> None:
    long = Paper("long", " ".join(f"Subject{n} is what this sentence is about and no other." for n in range(9)))
    write(store, long, limit=22)
    store._opened().delete(ids=["long/0"])  # as if the first passage had not been written yet
    opened = afresh(tmp_path)
    assert "long/4" in near(opened, "subject8")
    opened.sweep()
    assert sorted(near(afresh(tmp_path), "subject8")) == [f"{BEES.paper_id}/0", f"{ANTS.paper_id}/0"]


def test_a_paper_under_change_is_left_out(store: Store, tmp_path: Path) -> None:
    long = Paper("long", " ".join(f"Subject{n} is what this sentence is about and no other." for n in range(9)))
    write(store, long, limit=22)
    store._opened().delete(ids=["long/3"])
    assert list(afresh(tmp_path).papers(["long", ANTS.paper_id])) == [ANTS.paper_id]


def test_two_libraries_in_one_database(store: Store, tmp_path: Path) -> None:
    other = Store(tmp_path, "other")
    assert not other.exists()
    other.create({"model": "another"})
    other.create({"model": "a third"})
    assert (other.embedder, other.catalog()) == ({"model": "another"}, {})
    assert len(afresh(tmp_path).catalog()) == 2


def test_a_collection_of_another_program(store: Store, tmp_path: Path) -> None:
    store._connect().create_collection("quoth-foreign", embedding_function=None)
    with pytest.raises(StoreError, match="not made by quoth: choose another --library"):
        Store(tmp_path, "foreign").exists()


def test_a_database_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "chroma").mkdir()
    (tmp_path / "chroma" / "chroma.sqlite3").write_bytes(b"no database" * 1000)
    with pytest.raises(StoreError, match="QUOTH_HOME"):
        afresh(tmp_path).exists()


def test_a_new_opening_in_the_same_process_reads_what_another_wrote(store: Store, tmp_path: Path) -> None:
    reader = afresh(tmp_path)
    assert near(reader, "moths", 1) != ["m/0"]
    write(store, Paper("m", "Moths seek light."))
    assert near(afresh(tmp_path), "moths", 1) == ["m/0"]
    assert reader.refresh()
    assert not reader.refresh()
    assert near(reader, "moths", 1) == ["m/0"]


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts open files by /proc")
def test_reopening_leaves_no_files_open(store: Store, tmp_path: Path) -> None:
    reader = afresh(tmp_path)
    reader.catalog()
    files = Path("/proc/self/fd")
    seen = []
    for _ in range(6):
        with store.writing():
            pass
        assert reader.refresh()
        near(reader, "bees")
        seen.append(len(list(files.iterdir())))
    assert seen[-1] <= seen[0] + 12


def test_threads_read_while_another_writes(store: Store, tmp_path: Path) -> None:
    reader, failed, done = afresh(tmp_path), [], threading.Event()

    def read() -> None:
        while not done.is_set():
            try:
                reader.refresh()
                assert len(reader.papers([ANTS.paper_id])) == 1
                assert len(reader.nearest(Tiny().query("ants"), 2)) == 2
                assert len(reader.catalog()) >= 2
            except BaseException as e:
                failed.append(e)
                return

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for n in range(8):
            write(store, Paper(f"p{n}", f"Wasps sting number{n}."))
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert failed == []
    reader.refresh()
    assert len(reader.catalog()) == 10
