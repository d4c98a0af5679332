"""The answerer that only quotes."""

from __future__ import annotations

from rag.extract import choose, quotes
from rag.relevance import Candidate
from rag.text import sentences
from rag.types import Evidence
from rag.verify import quoted
from tests.fakes import BEES, BOUND, PUMP, assert_contract, evidence

PAPERS = evidence(PUMP, BEES, BOUND)


def candidate(e: Evidence, n: int, relevance: float) -> Candidate:
    return Candidate(e, sentences(e.paper.abstract)[n], relevance, None, relevance)


def reply(question: str, *ranked: Candidate) -> str:
    found = quoted(quotes(question, ranked), PAPERS)
    assert_contract(found.text, found.citations, found.unsupported)
    return found.text


def test_one_sentence_with_its_number() -> None:
    assert reply("Is it public?", candidate(PAPERS[0], 4, 0.9)) == "The code is public. [1]"


def test_brackets_of_the_abstract_are_no_markers() -> None:
    text = reply("How do bees find home?", candidate(PAPERS[1], 0, 0.9))
    assert text == "Bees find their hive by landmarks \\[3\\]. [1]"


def test_formulas_survive() -> None:
    assert reply("Which estimator?", candidate(PAPERS[2], 0, 0.9)).startswith(
        "We prove that every estimator on $[0,1]$ needs"
    )


def test_several_papers_make_a_list() -> None:
    text = reply("Which papers?", candidate(PAPERS[1], 1, 0.9), candidate(PAPERS[0], 4, 0.8))
    assert text == "- We tracked 250 bees with radar for two summers. [1]\n- The code is public. [2]"


def test_one_answer_is_enough_when_one_is_asked_for() -> None:
    groups = choose("How many bees?", [candidate(PAPERS[1], 1, 0.9), candidate(PAPERS[0], 4, 0.8)])
    assert [[c.sentence.text[:10] for c in g] for g in groups] == [["We tracked"]]


def test_sentences_keep_the_order_of_the_abstract() -> None:
    (group,) = choose("Heliopump?", [candidate(PAPERS[0], 4, 0.9), candidate(PAPERS[0], 3, 0.85)])
    assert [c.sentence.text[:8] for c in group] == ["It does ", "The code"]


def test_nothing_ranked() -> None:
    assert reply("Why?") == ""
