"""Paired comparison: by hand, against chance, and what makes a build fail."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eval import paired
from eval.compare import as_markdown, compare_runs, parse_condition
from eval.items import Item
from eval.records import write_lines
from rag.errors import CorpusError

ITEMS = [Item(f"q{n}", f"Question {n}?", True, ("a",), "single") for n in range(12)]


def run(folder: Path, ranks: list[int], items: list[Item] = ITEMS, **about: Any) -> Path:
    """A run without answers that found the paper at these ranks; 0: not at all."""
    folder.mkdir()
    write_lines(folder / "items.jsonl", [i.as_dict() for i in items])
    rankings = [["x"] * (rank - 1) + ["a"] if rank else ["x"] for rank in ranks]
    rows = [
        {
            "id": i.id,
            "papers": ["a"],
            "answer": None,
            "ranked": [f"x{n}" if p == "x" else p for n, p in enumerate(r)],
            "seconds": 0.1,
            "error": None,
        }
        for i, r in zip(items, rankings, strict=True)
    ]
    write_lines(folder / "records.jsonl", rows)
    (folder / "run.json").write_text(json.dumps({"search_only": True, **about}), encoding="utf-8")
    return folder


def test_difference_by_hand() -> None:
    """Four better by 1, none worse. Of 16 ways to flip the signs two reach a sum of 4: p = 1/8."""
    d = paired.difference([0, 0, 0, 0, 1], [1, 1, 1, 1, 1])
    assert d is not None
    assert (d.a, d.b, d.mean, d.n) == (0.2, 1.0, 0.8, 5)
    assert d.p == pytest.approx(1 / 8, abs=0.01)
    assert d.low is not None and d.low <= 0.8 <= (d.high or 0)


def test_no_difference_and_no_pairs() -> None:
    same = paired.difference([0.3, 0.6], [0.3, 0.6])
    assert same is not None
    assert (same.mean, same.p) == (0, 1)
    assert paired.difference([], []) is None


def test_the_p_value_agrees_with_scipy() -> None:
    scipy = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(1)
    a, b = rng.random(15), rng.random(15) + 0.2
    theirs = scipy.permutation_test(
        (b - a,), lambda x: x.mean(), permutation_type="samples", n_resamples=np.inf, vectorized=False
    )
    ours = paired.difference(a.tolist(), b.tolist())
    assert ours is not None
    assert ours.p == pytest.approx(theirs.pvalue, abs=0.02)


def test_chance_alone_is_seldom_significant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over 5,000 pairs of equally good systems p ≤ 0.05 happens at most 6 times in 100."""
    monkeypatch.setattr(paired, "PERMUTATIONS", 400)
    monkeypatch.setattr(paired.stats, "SAMPLES", 2)
    rng = np.random.default_rng(2)
    hits = 0
    for n in range(5000):
        size = 40
        a, b = (rng.random(size) < 0.7, rng.random(size) < 0.7) if n % 2 else rng.normal(size=(2, size))
        hits += paired._sign_flip(b.astype(float) - a) <= 0.05
    assert hits / 5000 <= 0.06


def test_refusal_f1_by_hand() -> None:
    """A refuses one of two unanswerable items, B both; B refuses one answerable item too. F1: 2/3 and 4/5."""
    d = paired.refusal_f1([True, True, False, False], a=[True, False, False, False], b=[True, True, True, False])
    assert d is not None
    assert (d.a, d.b) == (pytest.approx(2 / 3), pytest.approx(4 / 5))
    assert d.mean == pytest.approx(4 / 5 - 2 / 3)
    assert d.p > 0.4
    assert paired.refusal_f1([True], [True], [True]) is None


def test_refusal_f1_of_a_clear_difference() -> None:
    truth = [True] * 20 + [False] * 20
    d = paired.refusal_f1(truth, [False] * 40, truth)
    assert d is not None
    assert (d.a, d.b) == (0, 1)
    assert d.p < 0.001


def test_correction_for_many_measures() -> None:
    assert paired.holm({"a": 0.01, "b": 0.04, "c": 0.03}) == {
        "a": pytest.approx(0.03),
        "c": pytest.approx(0.06),
        "b": pytest.approx(0.06),
    }


def test_two_runs(tmp_path: Path) -> None:
    a = run(tmp_path / "a", [1] * 4 + [0] * 8, settings={"retriever": "dense"})
    b = run(tmp_path / "b", [1] * 12, settings={"retriever": "hybrid"})
    result = compare_runs(a, b)
    mrr = result["measures"]["MRR"]
    assert (round(mrr["a"], 3), mrr["b"], mrr["n"]) == (0.333, 1.0, 12)
    assert mrr["p"] < 0.02
    assert result["settings"] == ["settings.retriever was 'dense', is 'hybrid'"]
    assert {item["id"] for item in result["changed"]} <= {f"q{n}" for n in range(4, 12)}
    text = as_markdown(result)
    assert "| MRR | 0.333 | 1.000 | +0.667" in text
    assert "settings.retriever was 'dense', is 'hybrid'" in text


def test_a_run_does_not_differ_from_itself(tmp_path: Path) -> None:
    a = run(tmp_path / "a", [1, 2, 3, 0] * 3)
    result = compare_runs(a, a)
    assert {d["p"] for d in result["measures"].values()} == {1.0}
    assert result["changed"] == []


def test_only_shared_items_are_compared(tmp_path: Path) -> None:
    other = [Item("q0", "Something else?", True, ("a",)), *ITEMS[1:4]]
    result = compare_runs(run(tmp_path / "a", [1] * 12), run(tmp_path / "b", [1] * 4, other))
    assert result["items"] == 3
    assert "9 items of a are not compared" in result["notices"][0]
    with pytest.raises(CorpusError, match="no items in common"):
        compare_runs(tmp_path / "a", run(tmp_path / "c", [1], other[:1]))


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("MRR < -0.1", True),
        ("MRR<-0.6", False),
        (" recall@5 <= -0.5 ", True),
        ("MRR > 0", False),
        ("MRR >= −.5", True),
    ],
)
def test_conditions(text: str, holds: bool) -> None:
    measures = {"MRR": {"mean": -0.5}, "recall@5": {"mean": -0.5}}
    assert parse_condition(text).holds(measures) is holds


@pytest.mark.parametrize("text", ["MRR", "MRR < x", "MRR = 0", "< 0", "MRR < 0; MAP < 0", "MRR < 2%"])
def test_a_condition_that_cannot_be_read(text: str) -> None:
    with pytest.raises(CorpusError, match="write a measure"):
        parse_condition(text)


def test_a_condition_on_something_that_is_not_there_is_an_error() -> None:
    with pytest.raises(CorpusError, match=r"no 'recal@5' in common; did you mean recall@5"):
        parse_condition("recal@5 < 0").holds({"recall@5": {"mean": 0.0}})
