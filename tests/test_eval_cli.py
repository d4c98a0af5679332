"""The evaluation commands as a user calls them."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from eval.cli import eval_group
from eval.records import write_lines
from rag.errors import CorpusError, ModelError
from tests.test_eval_run import ITEMS, Fruit


def quoth(*arguments: Any) -> Result:
    return CliRunner().invoke(eval_group, [str(a) for a in arguments])


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Fruit:
    fruit = Fruit()
    monkeypatch.setattr("rag.build.open_quoth", lambda settings: fruit)
    return fruit


@pytest.fixture
def items(tmp_path: Path) -> Path:
    write_lines(tmp_path / "fruit.jsonl", [i.as_dict() for i in ITEMS])
    return tmp_path / "fruit.jsonl"


def test_run_score_and_compare(library: Fruit, items: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        result = quoth("run", items, "--out", tmp_path / name)
        assert (result.exit_code, result.stdout.split(".")[0]) == (0, f"4 items in {tmp_path / name}")
    scored = quoth("score", tmp_path / "a", "--json")
    overall = json.loads(scored.stdout)["overall"]
    assert (overall["recall@1"]["mean"], overall["recall@1"]["n"]) == (1.0, 3)
    assert overall["quote_validity"]["mean"] == 1.0
    assert (tmp_path / "a" / "report.html").is_file()
    assert "| recall@1 | 1.000 |" in quoth("score", tmp_path / "a").stdout
    same = quoth("compare", tmp_path / "a", tmp_path / "b", "--fail-if", "recall@5 < -0.02")
    assert same.exit_code == 0
    assert (tmp_path / "b" / "compare.html").is_file()


def test_compare_fails_a_build(library: Fruit, items: Path, tmp_path: Path) -> None:
    quoth("run", items, "--out", tmp_path / "a")
    worse = (tmp_path / "a" / "records.jsonl").read_text(encoding="utf-8").replace('"ranked": ["', '"ranked": ["x", "')
    (tmp_path / "b").mkdir()
    for name in ("items.jsonl", "run.json"):
        (tmp_path / "b" / name).write_bytes((tmp_path / "a" / name).read_bytes())
    (tmp_path / "b" / "records.jsonl").write_text(worse, encoding="utf-8")
    failed = quoth(
        "compare", tmp_path / "a", tmp_path / "b", "--fail-if", "MRR < -0.02", "--fail-if", "MRR > 0", "--json"
    )
    assert failed.exit_code == 3
    assert json.loads(failed.stdout)["failed"] == ["MRR < -0.02"]
    assert "MRR < -0.02" in failed.stderr


def test_failed_items_are_told(library: Fruit, items: Path, tmp_path: Path) -> None:
    library.fails = {"green": ModelError("the model is away: try later")}
    result = quoth("run", items, "--out", tmp_path / "a")
    assert result.exit_code == 0
    assert "1 failed (the first: the model is away: try later)" in result.stdout


def test_a_run_in_which_everything_fails_is_an_error(library: Fruit, items: Path, tmp_path: Path) -> None:
    library.fails = {i.question.rstrip("?").split()[-1]: ModelError("no key: set OPENAI_API_KEY") for i in ITEMS}
    result = quoth("run", items, "--out", tmp_path / "a")
    assert isinstance(result.exception, ModelError)
    assert "every item failed, the first with: no key: set OPENAI_API_KEY" in str(result.exception)


def test_convert(tmp_path: Path) -> None:
    (tmp_path / "qa.csv").write_text("question,paper\nRed?,list.txt#1\n", encoding="utf-8")
    result = quoth("convert", "--from", "csv", tmp_path / "qa.csv", "--out", tmp_path / "out", "--json")
    assert json.loads(result.stdout)["items"] == 1


def test_what_the_user_can_mend(library: Fruit, tmp_path: Path) -> None:
    assert isinstance(quoth("score", tmp_path / "nowhere").exception, CorpusError)
    assert isinstance(quoth("run", tmp_path / "nowhere.jsonl", "--out", tmp_path / "a").exception, CorpusError)
    assert quoth("run", tmp_path / "x.jsonl").exit_code == 2  # no --out


def test_a_report_that_cannot_be_written_costs_no_scores(library: Fruit, items: Path, tmp_path: Path) -> None:
    quoth("run", items, "--out", tmp_path / "a")
    result = quoth("score", tmp_path / "a", "--report", tmp_path / "nowhere" / "report.html")
    assert (result.exit_code, "| MRR | 1.000 |" in result.stdout) == (0, True)
    assert "give another file with --report" in result.stderr
