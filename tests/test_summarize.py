"""Summaries without a model: problem, method, result, in the abstract's own words."""

from __future__ import annotations

from dataclasses import replace

from rag.summarize import key_sentences, quotes
from rag.verify import quoted
from tests.fakes import BEES, BOUND, PUMP, assert_contract, evidence

LONG = (
    "Gardens are watered by hand. However, hands are often late. Some use clocks. We propose Dripper, which listens to "
    "the soil. It has two sensors. Experiments show that Dripper reduces losses. The plans are public."
)


def test_problem_method_result() -> None:
    assert [s.text for s in key_sentences(LONG)] == [
        "However, hands are often late.",
        "We propose Dripper, which listens to the soil.",
        "Experiments show that Dripper reduces losses.",
    ]


def test_short_abstracts_are_taken_whole() -> None:
    assert len(key_sentences(BOUND.abstract)) == 3
    assert key_sentences("") == []


def test_no_cues() -> None:
    text = "One is red. Two is blue. Three is green. Four is pink. Five is grey."
    assert [s.text for s in key_sentences(text)] == ["One is red.", "Three is green.", "Five is grey."]


def test_summaries_keep_the_contract() -> None:
    papers = evidence(PUMP, BEES, BOUND, replace(PUMP, paper_id="x", abstract=LONG))
    found = quoted(quotes(papers), papers)
    assert_contract(found.text, found.citations, found.unsupported)
    assert [c.paper.paper_id for c in found.citations] == [e.paper.paper_id for e in papers]
    assert found.unsupported == ()
    assert found.text.count("\n- ") == 3


def test_a_paper_without_abstract_has_no_summary() -> None:
    papers = evidence(replace(PUMP, abstract=""))
    assert quoted(quotes(papers), papers).status == "not_in_corpus"
