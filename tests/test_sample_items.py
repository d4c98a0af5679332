"""The sample questions hold what the format promises: ids, verbatim evidence, answers that meet their key facts."""

import json
from collections import Counter
from pathlib import Path

import pytest

from eval.floor import MEASURES
from eval.items import Item, load_items
from eval.metrics import has_fact
from rag.formats import read
from rag.types import Paper

SAMPLES = Path(__file__).parents[1] / "samples"
ITEMS = load_items(SAMPLES / "items.jsonl")
PAPERS = {p.paper_id: p for p in read([SAMPLES / "papers.jsonl"]) if isinstance(p, Paper)}
each = pytest.mark.parametrize("item", ITEMS, ids=lambda i: i.id)


def test_every_type_is_there_and_a_quarter_cannot_be_answered() -> None:
    assert Counter(i.type for i in ITEMS) == {
        "single": 24,
        "multi": 7,
        "followup": 5,
        "keyword": 4,
        "typo": 4,
        "zh": 3,
        "unanswerable": 16,
    }
    kinds = {t: {i.kind for i in ITEMS if i.type == t} for t in ("single", "unanswerable")}
    assert kinds == {"single": {"named", "plain"}, "unanswerable": {"infield", "attribute", "offtopic"}}


@each
def test_an_item_says_what_its_type_needs(item: Item) -> None:
    assert item.answerable == (item.type != "unanswerable")
    assert item.answerable == bool(item.papers) == bool(item.evidence) == bool(item.answer) == bool(item.key_facts)
    assert bool(item.history) == (item.type == "followup")
    assert (len(item.papers) > 1) == (item.type == "multi")


@each
def test_evidence_is_verbatim_and_covers_every_paper(item: Item) -> None:
    assert {g.paper for g in item.evidence} == set(item.papers) <= PAPERS.keys()
    assert [g.quote for g in item.evidence if g.quote not in PAPERS[g.paper].abstract] == []


@each
def test_answer_and_evidence_meet_the_key_facts_and_the_question_meets_none(item: Item) -> None:
    evidence = " ".join(g.quote for g in item.evidence)
    assert [f for f in item.key_facts if not has_fact(f, item.answer)] == []
    assert [f for f in item.key_facts if not has_fact(f, evidence)] == []
    assert [f for f in item.key_facts if has_fact(f, item.question)] == []


def test_every_measure_that_is_held_is_recorded() -> None:
    recorded = json.loads((SAMPLES / "recorded.json").read_text(encoding="utf-8"))
    assert tuple(recorded) == MEASURES
    assert recorded["recall@5"]["n"] == sum(i.answerable for i in ITEMS)
