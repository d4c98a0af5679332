"""Question to evidence: two searches fused, filters, what the conversation points at, reranking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from rag.retrieve import HybridRetriever, fuse, passes
from rag.types import Brief, Filters, Paper
from tests.tiny import Shelf, Tiny, ids, record

BEES = record(
    "bees", "Bees fly to flowers.", "a.jsonl#1", title="Pollen", authors=("Ada Imker",), year=2019, venue="NeurIPS"
)
WASPS = record("wasps", "Wasps fly to fruit.", "a.jsonl#2", authors=("Bo Wabe", "Åsa Ek"), year=2024, venue="neurips W")
ANTS = record("ants", "Ants walk.", "a.jsonl#3", title="Fly no more")


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    """Three papers; tests only read it."""
    made = Shelf(tmp_path_factory.mktemp("home"))
    made.index(BEES, WASPS, ANTS)
    return made


# -- fusion on paper ------------------------------------------------------------------------------------------------


def test_fusion_worked_by_hand() -> None:
    """Cosines .2, .5, .8 → 0, .5, 1; BM25 4, 8 (of a, d) → .5, 1; half of each."""
    fused = fuse({"a": 0.2, "b": 0.5, "c": 0.8}, {"a": 4.0, "d": 8.0})
    assert fused == pytest.approx({"a": 0.25, "b": 0.25, "c": 0.5, "d": 0.5})


@pytest.mark.parametrize(
    ("similarities", "words", "mode", "fused"),
    [
        ({"a": 0.2, "b": 0.6, "c": 0.4}, {"b": 3.0}, "dense", {"a": 0.0, "b": 1.0, "c": 0.5}),
        ({"a": 0.2}, {"b": 3.0, "c": 1.5}, "lexical", {"b": 1.0, "c": 0.5}),
        ({"a": 0.2, "b": 0.6}, {}, "hybrid", {"a": 0.0, "b": 1.0}),
        ({}, {"b": 3.0}, "hybrid", {"b": 1.0}),
        ({}, {}, "hybrid", {}),
        ({}, {}, "lexical", {}),
        ({"a": -0.3}, {"a": 2.0}, "hybrid", {"a": 1.0}),
        ({"a": 0.4, "b": 0.4}, {"b": 1.0}, "hybrid", {"a": 0.5, "b": 1.0}),
    ],
)
def test_fusion_of_one_side(
    similarities: dict[str, float], words: dict[str, float], mode: str, fused: dict[str, float]
) -> None:
    assert fuse(similarities, words, mode) == pytest.approx(fused)


# -- filters --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("filters", "papers"),
    [
        (Filters(), {"bees", "wasps", "ants"}),
        (Filters(year_from=2019, year_to=2019), {"bees"}),
        (Filters(year_from=2020), {"wasps"}),
        (Filters(year_to=2030), {"bees", "wasps"}),
        (Filters(year_from=2024, year_to=2019), set()),
        (Filters(venue="NEURIPS"), {"bees", "wasps"}),
        (Filters(author="imker"), {"bees"}),
        (Filters(author="åSA"), {"wasps"}),
        (Filters(author="wabe", year_to=2020), set()),
        (Filters(papers=("ants", "bees")), {"ants", "bees"}),
        (Filters(papers=("unknown",)), set()),
    ],
)
@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
def test_filters(shelf: Shelf, filters: Filters, papers: set[str], mode: str) -> None:
    assert {p.paper_id for p in (BEES, WASPS, ANTS) if passes(p, filters)} == papers
    assert set(shelf.found("fly", filters, mode)) == papers


# -- searching ------------------------------------------------------------------------------------------------------


def test_titles_are_found_and_never_part_of_the_passage(shelf: Shelf) -> None:
    for mode in ("hybrid", "dense", "lexical"):
        best = shelf.search("pollen", mode=mode)[0]
        assert (best.rank, best.paper, best.passage.text) == (1, BEES, BEES.abstract)


def test_ranks_count_from_one_and_scores_fall(shelf: Shelf) -> None:
    found = shelf.search("Do wasps fly to fruit?")
    assert ids(found)[0] == "wasps"
    assert [e.rank for e in found] == [1, 2, 3]
    assert found[0].score == pytest.approx(1)
    assert [e.score for e in found] == sorted((e.score for e in found), reverse=True)


def test_lexical_mode_finds_only_shared_words_and_knows_no_cosine(shelf: Shelf) -> None:
    assert [(e.paper.paper_id, e.similarity) for e in shelf.search("walking ants", mode="lexical")] == [("ants", None)]
    assert shelf.search("beetles", mode="lexical") == []
    assert shelf.search("?", mode="lexical") == []


def test_dense_mode_ranks_every_paper_by_cosine(shelf: Shelf) -> None:
    found = shelf.search("ants walk fly", mode="dense")
    assert ids(found)[0] == "ants"
    assert [e.similarity for e in found] == pytest.approx([1, 1 / 3, 1 / (3 * 4) ** 0.5], abs=1e-5)
    assert len(found) == 3


def test_no_more_than_asked_for(shelf: Shelf) -> None:
    retriever = HybridRetriever(*shelf.parts(), shelf.embedder)
    assert len(retriever.search(Brief("fly", "fly"), 2)) == 2
    assert len(retriever.search(Brief("fly", "fly"), 50)) == 3


def test_papers_meant_come_first(shelf: Shelf) -> None:
    found = shelf.search("wasps fruit", meant=("ants",))
    assert ids(found) == ["ants", "wasps", "bees"]
    assert (found[0].score, found[0].passage.text) == (1.0, "Ants walk.")
    assert shelf.found("wasps", meant=("ants", "unknown")) == ["ants", "wasps"]
    assert shelf.found("wasps", Filters(venue="neurips"), meant=("ants",)) == ["wasps"], "filters hold for them too"


def test_papers_in_play_are_candidates_whatever_their_rank(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf = Shelf(home)
    shelf.index(*(record(f"p{n}", f"Bees fly to flower{n}.", f"a.jsonl#{n}") for n in range(5)), ANTS)
    monkeypatch.setattr("rag.retrieve._POOL", 2)
    read: list[str] = []

    def reader(_: str, texts: Sequence[str]) -> list[float]:
        read[:] = texts
        return [0.0] * len(texts)

    retriever = HybridRetriever(*shelf.parts(), shelf.embedder, "dense", reader)
    asked = Brief("bees fly", "bees fly")
    retriever.search(asked, 1)
    assert (len(read), ANTS.abstract in read) == (2, False)
    asked = replace(asked, in_play=("ants",))
    retriever.search(asked, 1)
    assert (len(read), ANTS.abstract in read) == (3, True)
    retriever.search(asked, 1, Filters(papers=("p1",)))
    assert read == ["Bees fly to flower1."], "filters hold for them too"


def test_a_long_abstract_is_one_paper_with_its_best_passage(home: Path) -> None:
    shelf = Shelf(home, Tiny(window=20))
    long = " ".join(f"Sentence {n} speaks of subject{n} and of nothing else at all." for n in range(20))
    shelf.index(record("long", long), replace(ANTS, abstract="Ants speak of nothing."))
    for mode in ("hybrid", "dense"):
        found = shelf.search("subject13", mode=mode)
        assert sorted(ids(found)) == ["ants", "long"]
        [best] = [e for e in found if e.paper.paper_id == "long"]
        assert "subject13" in best.passage.text
        assert best.paper.abstract == long
        assert long[best.passage.start : best.passage.end] == best.passage.text
    [best] = shelf.search("subject13", mode="lexical")
    assert best.passage.start == 0


def test_papers_of_equal_score_stand_in_the_order_of_their_ids(home: Path) -> None:
    shelf = Shelf(home)
    same = [Paper(name, "Bees fly.", title=f"Part {name}", source=f"a.jsonl#{name}") for name in ("c", "a", "b")]
    shelf.index(*same)
    assert shelf.found("bees") == ["a", "b", "c"]


def test_a_paper_that_only_the_word_index_still_has_is_left_out(home: Path) -> None:
    shelf = Shelf(home)
    shelf.index(BEES, WASPS, ANTS)
    shelf.store().remove(["bees"])
    assert shelf.found("flowers fly fruit", mode="lexical") == ["wasps", "ants"]


def test_a_reranker_reorders_the_best(shelf: Shelf) -> None:
    def by_length(question: str, texts: Sequence[str]) -> list[float]:
        return [-float(len(t)) for t in texts]

    retriever = HybridRetriever(*shelf.parts(), shelf.embedder, "hybrid", by_length)
    found = retriever.search(Brief("wasps fly", "wasps fly"), 2)
    assert [(e.rank, e.paper.paper_id) for e in found] == [(1, "ants"), (2, "wasps")]
    assert found[0].score == pytest.approx(4.54e-5, rel=0.01), "1 / (1 + e^10)"
