"""From records to a table: what counts, what does not apply, and agreement with an independent scorer."""

import importlib.util
import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from eval.items import Gold, Item
from eval.records import write_lines
from eval.score import as_markdown, score_run
from rag.errors import CorpusError

SHARED = Path(__file__).parents[2] / "shared"
ABSTRACTS = {"a": "Apples are red. They fall.", "b": "Pears are green. They hang.", "c": "Plums are blue."}
ITEMS = [
    Item("one", "Red?", True, ("a",), "single", "", (), (Gold("a", "Apples are red."),), "Apples.", ("apple",)),
    Item("two", "Green?", True, ("b", "c"), "multi", key_facts=("pear", "plum")),
    Item("attribute-1", "Ripe?", False, (), "unanswerable"),
    Item("lost", "Blue?", True, ("c",), "single", key_facts=("plum",)),
]


def quote(paper: str, text: str) -> dict[str, Any]:
    start = ABSTRACTS[paper].index(text)
    return {"text": text, "start": start, "end": start + len(text), "support": 1.0}


def reply(status: str, text: str, answerability: float, *cited: tuple[str, str]) -> dict[str, Any]:
    citations = [{"number": n, "paper_id": p, "quotes": [quote(p, q)]} for n, (p, q) in enumerate(cited, 1)]
    return {
        "status": status,
        "answer": text,
        "citations": citations,
        "answerability": answerability,
        "usage": {"input_tokens": 1000, "output_tokens": 100},
        "seconds": {"retrieve": 0.1, "generate": 0.2, "verify": 0.1, "total": 0.4},
    }


def record(item: Item, answer: Mapping[str, Any] | None, ranked: str, error: str | None = None) -> dict[str, Any]:
    return {
        "id": item.id,
        "type": item.type,
        "question": item.question,
        "answerable": item.answerable,
        "papers": list(item.papers),
        "answer": answer,
        "ranked": list(ranked),
        "seconds": None if error else 0.4,
        "error": error,
    }


RECORDS = [
    record(ITEMS[0], reply("answered", "Apples are red. [1]", 0.9, ("a", "Apples are red.")), "abc"),
    record(ITEMS[1], reply("answered", "Pears are. [1] So they fall.", 0.6, ("a", "They fall.")), "acb"),
    record(ITEMS[2], reply("partial", "Pears hang. [1]", 0.2, ("b", "They hang.")), "b"),
    record(ITEMS[3], None, "", "the model is away"),
]


def folder(
    path: Path, items: list[Item] = ITEMS, records: list[dict[str, Any]] = RECORDS, about: Mapping[str, Any] = {}
) -> Path:
    write_lines(path / "items.jsonl", [i.as_dict() for i in items])
    write_lines(path / "records.jsonl", records)
    write_lines(path / "papers.jsonl", [{"paper_id": p, "abstract": a} for p, a in ABSTRACTS.items()])
    (path / "run.json").write_text(json.dumps(about), encoding="utf-8")
    return path


def means(scores: Mapping[str, Any]) -> dict[str, tuple[float, int]]:
    return {name: (round(e["mean"], 3), e["n"]) for name, e in scores.items()}


def test_scores_by_hand(tmp_path: Path) -> None:
    scores = score_run(folder(tmp_path))
    found = means(scores["overall"])
    assert found["recall@1"] == (0.333, 3)  # 1, 0 of 2, and the failed item
    assert found["recall@3"] == (0.667, 3)
    assert found["success@1"] == (0.333, 3)
    assert found["MRR"] == (0.5, 3)  # 1, 1/2, 0
    assert found["key_fact_recall"] == (0.5, 3)  # 1, 1/2, 0
    assert found["correct"] == (0.333, 3)
    assert found["citation_precision"] == (0.5, 2)  # the failed item cites nothing
    assert found["citation_recall"] == (0.333, 3)
    assert found["citation_f1"] == (0.333, 3)
    assert found["evidence_recall"] == (1.0, 1)
    assert found["quote_validity"] == (1.0, 3)
    assert found["marker_match"] == (0.75, 4)
    assert found["sentence_coverage"] == (0.75, 2)  # 1 of 1, 1 of 2
    assert found["quoted_share"] == (round((15 / 26 + 10 / 26 + 10 / 27) / 3, 3), 3)
    assert found["answered"] == (0.667, 3)
    assert found["refused"] == (1.0, 1)  # a partial answer about an attribute that is not there
    assert found["refusal_f1"] == (1.0, 4)
    assert found["answerability_auroc"] == (1.0, 3)
    assert found["token_f1"] == (0.5, 1)  # "Apples." against "Apples are red."
    assert found["seconds@p50"] == (0.4, 3)
    assert found["seconds.generate@p95"] == (0.2, 3)
    assert found["output_tokens"] == (100.0, 3)
    assert scores["failed"] == {"lost": "the model is away"}
    assert list(scores["by_type"]) == ["single", "multi", "unanswerable"]
    assert means(scores["by_type"]["multi"])["recall@3"] == (1.0, 1)
    assert "recall@1" not in scores["by_type"]["unanswerable"]


def test_a_false_offset_or_an_unknown_paper_is_no_valid_quote(tmp_path: Path) -> None:
    wrong = reply("answered", "Apples are red. [1][2]", 0.9, ("a", "Apples are red."), ("b", "They hang."))
    wrong["citations"][0]["quotes"] += [quote("a", "They fall.") | {"start": 0}, quote("a", "They fall.")]
    wrong["citations"][1]["paper_id"] = "nowhere"
    scores = score_run(folder(tmp_path, ITEMS[:1], [record(ITEMS[0], wrong, "abc")]))
    assert means(scores["overall"])["quote_validity"] == (0.5, 1)


def test_without_the_abstracts_quotes_are_not_judged(tmp_path: Path) -> None:
    (folder(tmp_path) / "papers.jsonl").unlink()
    scores = score_run(tmp_path)
    assert "quote_validity" not in scores["overall"]
    assert any("quotes were not checked" in n for n in scores["notices"])


def test_graded_judgements(tmp_path: Path) -> None:
    """a has gain 1 at rank 1, b gain 2 at rank 2: (1 + 2/log2 3) / (2 + 1/log2 3) = 0.8597. Both count: MAP 1."""
    pytest.importorskip("ir_measures")
    item = Item("x", "?", True, ("a", "b"), grades={"a": 1, "b": 2, "c": 0})
    found = means(score_run(folder(tmp_path, [item], [record(item, None, "abc")], {"search_only": True}))["overall"])
    assert found["nDCG@10"] == (0.86, 1)
    assert found["MAP"] == (1.0, 1)


def test_a_search_only_run_has_no_scores_of_answers(tmp_path: Path) -> None:
    records = [r | {"answer": None} for r in RECORDS]
    overall = score_run(folder(tmp_path, records=records, about={"search_only": True}))["overall"]
    assert overall["recall@3"]["n"] == 3
    assert not {"answered", "refused", "key_fact_recall", "marker_match", "refusal_f1"} & overall.keys()


def test_missing_records_are_told_and_not_scored(tmp_path: Path) -> None:
    scores = score_run(folder(tmp_path, records=RECORDS[:2]))
    assert (scores["items"], scores["recorded"]) == (4, 2)
    assert scores["overall"]["recall@1"]["n"] == 2
    assert "2 of 4 items have no record" in scores["notices"][0]


def test_cost_of_tokens(tmp_path: Path) -> None:
    scores = score_run(folder(tmp_path), price=(2.0, 10.0))
    assert scores["overall"]["cost"]["mean"] == pytest.approx(0.003)
    assert scores["total_cost"] == pytest.approx(0.009)


def test_markdown(tmp_path: Path) -> None:
    text = as_markdown(score_run(folder(tmp_path)))
    assert "| measure | mean | 95 % interval | n |" in text
    assert "| MRR | 0.500 | 0.000 – 1.000 | 3 |" in text
    assert "| MRR | 0.500 | 0.500 | – |" in text
    assert "- 1 items failed and count as 0, the first is lost: the model is away" in text


def test_what_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"has no records\.jsonl"):
        score_run(tmp_path)
    folder(tmp_path)
    (tmp_path / "items.jsonl").unlink()
    with pytest.raises(CorpusError, match="give the item file with --items"):
        score_run(tmp_path)


# -- agreement with a scorer that was written independently -----------------------------------------------------------

SAME = {
    "quote valid": "quote_validity",
    "markers = citations": "marker_match",
    "quoted share": "quoted_share",
    "kept (answerable)": "answered",
    "refused (unanswerable)": "refused",
    "R@1": "success@1",
    "R@5": "recall@5",
    "MRR": "MRR",
    "cite recall": "citation_recall",
    "cite precision": "citation_precision",
    "evidence recall": "evidence_recall",
    "key facts": "key_fact_recall",
    "right": "correct",
}


def invented(items: list[dict[str, Any]], texts: Mapping[str, str], seed: int) -> list[dict[str, Any]]:
    """Records of a system that is right about half the time and makes every kind of mistake."""
    r = random.Random(seed)
    records = []
    for item in items:
        base = {k: item[k] for k in ("id", "type", "question", "answerable", "papers")}
        if r.random() < 0.05:
            records.append(base | {"answer": None, "ranked": [], "seconds": None, "error": "lost"})
            continue
        ranked = [p for p in r.sample(list(texts), 20) if p not in item["papers"]]
        for paper in item["papers"]:
            ranked.insert(r.randrange(0, 8), paper)
        citations, parts = [], []
        refused = r.random() < (0.2 if item["answerable"] else 0.7)
        for number, paper in enumerate([] if refused else ranked[: r.randint(1, 3)], 1):
            spans = [(n, n + 90) for n in r.sample(range(len(texts[paper]) - 90), 2)]
            spans += [
                (texts[paper].find(e["quote"]), texts[paper].find(e["quote"]) + len(e["quote"]))
                for e in item["evidence"]
                if e["paper"] == paper and r.random() < 0.6
            ]
            quotes = [{"text": texts[paper][a:b], "start": a + (r.random() < 0.1), "end": b} for a, b in spans]
            citations.append({"number": number, "paper_id": paper, "quotes": quotes})
            parts.append(" ".join(q["text"] for q in quotes) + (f" [{number}]" if r.random() < 0.9 else ""))
        if not refused and r.random() < 0.7:
            parts.append(item["answer"])
        status = "not_in_corpus" if refused else r.choice(["answered", "partial"])
        answer = {"status": status, "answer": " ".join(parts) or "It does not say.", "citations": citations}
        records.append(base | {"answer": answer, "ranked": ranked, "seconds": round(r.random(), 4), "error": None})
    return records


@pytest.mark.shared
@pytest.mark.parametrize("seed", range(3))
def test_agreement_with_the_independent_scorer(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tool = SHARED / "tools" / "score_records.py"
    if not tool.is_file() or not (SHARED / "qa" / "dev.jsonl").is_file():
        pytest.skip("the independent scorer and its items are not beside the project")
    spec = importlib.util.spec_from_file_location("score_records", tool)
    assert spec is not None and spec.loader is not None
    theirs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(theirs)
    texts = theirs.lists(SHARED / "seeds")
    with (SHARED / "qa" / "dev.jsonl").open(encoding="utf-8") as file:
        items = [json.loads(line) for line in file]
    write_lines(tmp_path / "items.jsonl", items)
    write_lines(tmp_path / "records.jsonl", invented(items, texts, seed))
    write_lines(tmp_path / "papers.jsonl", [{"paper_id": p, "abstract": t} for p, t in texts.items()])
    files = [str(tmp_path / "items.jsonl"), str(tmp_path / "records.jsonl")]
    monkeypatch.setattr("sys.argv", ["score_records", *files, "--lists", str(SHARED / "seeds"), "--json"])
    theirs.main()
    expected = json.loads(capsys.readouterr().out)
    ours = score_run(tmp_path)
    for group, mine in {"ALL": ours["overall"], **ours["by_type"]}.items():
        compared = {name: (mean, n) for name, (mean, _, _, n) in expected[group].items()}
        assert len(compared) >= 2
        for name, (mean, _) in compared.items():
            assert mine[SAME[name]]["mean"] == pytest.approx(mean, abs=0.001), (group, name)
    for name in ("precision", "recall", "f1"):
        assert ours["overall"][f"refusal_{name}"]["mean"] == pytest.approx(expected["refusal"][name], abs=0.001)
    assert ours["overall"]["seconds@p50"]["mean"] == pytest.approx(expected["seconds"]["p50"], abs=0.001)
    assert ours["overall"]["seconds@p95"]["mean"] == pytest.approx(expected["seconds"]["p95"], abs=0.001)
    assert ours["overall"]["answer_words@p50"]["mean"] == expected["median answer words"]["median"]
