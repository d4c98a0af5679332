"""Public question sets, in small: what becomes of papers, judgements and faults."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from eval.convert import convert
from eval.items import Gold, Item, load_items
from rag.errors import CorpusError


def lines(path: Path, *rows: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(r) for r in rows) + "\n", encoding="utf-8")


def papers(out: Path) -> list[Any]:
    return [json.loads(line) for line in (out / "papers.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def beir(tmp_path: Path) -> Path:
    source = tmp_path / "beir"
    lines(
        source / "corpus.jsonl",
        {"_id": "1", "title": "Apples", "text": "Apples are red."},
        {"_id": "2", "title": "Pears", "text": ""},
    )
    lines(
        source / "queries.jsonl",
        {"_id": "q1", "text": "Red?", "answer": "yes", "long_answer": "Apples are."},
        {"_id": "q2", "text": "Green?"},
        {"_id": "q3", "text": "Blue?"},
    )
    (source / "qrels").mkdir()
    (source / "qrels" / "test.tsv").write_text(
        "query-id\tcorpus-id\tscore\nq1\t1\t2\nq1\t2\t0\nq1\t9\t1\nq2\t2\t1\nq3\t1\t0\n", encoding="utf-8"
    )
    return source


def test_beir(beir: Path, tmp_path: Path) -> None:
    done = convert("beir", beir, tmp_path / "out")
    assert load_items(tmp_path / "out" / "items.jsonl") == [
        Item("q1", "Red?", True, ("1",), answer="Apples are.", grades={"1": 2, "2": 0}),
        Item("q2", "Green?", True, ("2",)),
    ]
    assert papers(tmp_path / "out")[0] == {"id": "1", "title": "Apples", "abstract": "Apples are red."}
    assert (done.papers, done.items) == (2, 2)
    assert done.notices == (
        "1 judgements name papers that are not in the corpus and are left out",
        "1 questions have no paper judged relevant in this split and are left out",
        "1 papers have no abstract",
    )


def test_a_split_must_be_named_where_there_are_two(beir: Path, tmp_path: Path) -> None:
    (beir / "qrels" / "dev.tsv").write_text("q3\t1\t1\n", encoding="utf-8")
    with pytest.raises(CorpusError, match="several splits: give --split dev or test"):
        convert("beir", beir, tmp_path / "out")
    with pytest.raises(CorpusError, match="no split 'train'"):
        convert("beir", beir, tmp_path / "out", "train")
    assert convert("beir", beir, tmp_path / "out", "dev").items == 1


def test_a_bad_judgement_is_named(beir: Path, tmp_path: Path) -> None:
    (beir / "qrels" / "test.tsv").write_text("q1\t1\t1\nq1\t2\tgood\n", encoding="utf-8")
    with pytest.raises(CorpusError, match="line 2 is no judgement"):
        convert("beir", beir, tmp_path / "out")


def test_scifact(tmp_path: Path) -> None:
    source = tmp_path / "scifact"
    lines(
        source / "claims_train.jsonl",
        {
            "id": 1,
            "claim": "Apples are red.",
            "evidence": {"7": [{"sentences": [0, 1], "label": "SUPPORT"}]},
            "cited_doc_ids": [7, 8],
        },
        {
            "id": 2,
            "claim": "Apples are blue.",
            "evidence": {"7": [{"sentences": [0], "label": "CONTRADICT"}]},
            "cited_doc_ids": [7],
        },
        {"id": 3, "claim": "Apples are old.", "evidence": {}, "cited_doc_ids": [8]},
        {"id": 4, "claim": "Apples sing.", "evidence": {}, "cited_doc_ids": [9]},
    )
    corpus = [
        {"doc_id": 7, "title": "Apples", "abstract": ["All are red. ", "We looked."]},
        {"doc_id": 8, "title": "Pears", "abstract": ["None are red."]},
    ]
    with gzip.open(source / "corpus.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in corpus)
    done = convert("scifact", source, tmp_path / "out")
    first, second, third = load_items(tmp_path / "out" / "items.jsonl")
    assert (first.type, second.type, third.type) == ("supported", "contradicted", "unsettled")
    assert first.evidence == (Gold("7", "All are red."), Gold("7", "We looked."))
    assert first.grades == {"7": 1, "8": 1}
    assert (third.answerable, third.papers, third.grades) == (False, (), {"8": 1})
    assert papers(tmp_path / "out")[0]["abstract"] == "All are red. We looked."
    assert "1 claims cite no paper of the corpus and are left out" in done.notices


def test_pubmedqa(tmp_path: Path) -> None:
    row = {
        "QUESTION": "Do apples help?",
        "CONTEXTS": ["We asked.", "They did."],
        "LABELS": ["METHODS", "RESULTS"],
        "MESHES": ["Apples"],
        "YEAR": "2001",
        "final_decision": "yes",
        "LONG_ANSWER": "Apples help.",
    }
    (tmp_path / "qa.json").write_text(json.dumps({"123": row}), encoding="utf-8")
    convert("pubmedqa", tmp_path / "qa.json", tmp_path / "out")
    assert load_items(tmp_path / "out" / "items.jsonl") == [
        Item("pubmedqa-123", "Do apples help?", True, ("pmid:123",), type="yes", answer="Apples help.")
    ]
    assert papers(tmp_path / "out") == [
        {"pmid": "123", "abstract": "METHODS: We asked.\nRESULTS: They did.", "year": "2001", "keywords": ["Apples"]}
    ]


def test_squad(tmp_path: Path) -> None:
    context = " Apples are red. Pears are green."
    questions = [
        {
            "id": "q1",
            "question": "What is green?",
            "answers": [{"text": "Pears", "answer_start": 17}, {"text": "Pears", "answer_start": 17}],
        },
        {"id": "q2", "question": "What is blue?", "answers": [], "is_impossible": True},
    ]
    data = {"data": [{"title": "Some_fruit", "paragraphs": [{"context": context, "qas": questions}]}]}
    (tmp_path / "squad.json").write_text(json.dumps(data), encoding="utf-8")
    convert("squad", tmp_path / "squad.json", tmp_path / "out")
    assert load_items(tmp_path / "out" / "items.jsonl") == [
        Item(
            "q1",
            "What is green?",
            True,
            ("Some_fruit#1",),
            evidence=(Gold("Some_fruit#1", "Pears are green."),),
            answer="Pears",
            key_facts=("Pears",),
        ),
        Item("q2", "What is blue?", False, ()),
    ]
    assert papers(tmp_path / "out") == [
        {"id": "Some_fruit#1", "title": "Some fruit", "abstract": "Apples are red. Pears are green."}
    ]


def test_csv(tmp_path: Path) -> None:
    (tmp_path / "qa.csv").write_text(
        'Question,Answer,Paper\n"Red, or not?",Yes.,list.txt#1; list.txt#2\nBlue?,,\n,x,y\n', encoding="utf-8"
    )
    done = convert("csv", tmp_path / "qa.csv", tmp_path / "out")
    assert load_items(tmp_path / "out" / "items.jsonl") == [
        Item("qa-1", "Red, or not?", True, ("list.txt#1", "list.txt#2"), answer="Yes."),
        Item("qa-2", "Blue?", False, ()),
    ]
    assert papers(tmp_path / "out") == []
    assert "1 rows have no question and are left out" in done.notices
    assert any("papers.jsonl is empty" in n for n in done.notices)


def test_what_cannot_be_converted(tmp_path: Path) -> None:
    (tmp_path / "qa.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    (tmp_path / "qa.json").write_text('{"version": 1}', encoding="utf-8")
    with pytest.raises(CorpusError, match="no column `question`"):
        convert("csv", tmp_path / "qa.csv", tmp_path / "out")
    with pytest.raises(CorpusError, match="not in the form 'squad'"):
        convert("squad", tmp_path / "qa.json", tmp_path / "out")
    with pytest.raises(CorpusError, match="does not exist"):
        convert("beir", tmp_path / "nowhere", tmp_path / "out")
    with pytest.raises(CorpusError, match=r"has no corpus\.jsonl"):
        convert("beir", tmp_path, tmp_path / "out")
