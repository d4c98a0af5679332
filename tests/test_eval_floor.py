"""Recorded scores as a floor: what counts as a drop, and what is said of it."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from eval.cli import eval_group
from eval.floor import MEASURES, fallen, record
from eval.records import write_lines
from rag.errors import CorpusError


def scores(**means: float) -> dict[str, Any]:
    """Scores whose intervals reach 0.1 to either side."""
    names = {name.replace("@", ""): name for name in MEASURES}
    return {
        "overall": {
            names.get(name, name): {"mean": m, "low": round(m - 0.1, 4), "high": round(m + 0.1, 4), "n": 10}
            for name, m in means.items()
        }
    }


def test_only_what_is_held_is_recorded_in_readable_lines(tmp_path: Path) -> None:
    record(scores(recall5=0.9, MRR=0.8, seconds=3.0), tmp_path / "recorded.json")
    assert (tmp_path / "recorded.json").read_text(encoding="utf-8") == (
        "{\n"
        '  "recall@5": {"mean": 0.9, "low": 0.8, "high": 1.0, "n": 10},\n'
        '  "MRR": {"mean": 0.8, "low": 0.7, "high": 0.9, "n": 10}\n'
        "}\n"
    )


def test_a_drop_within_the_interval_and_a_rise_are_nothing(tmp_path: Path) -> None:
    record(scores(recall5=0.9, MRR=0.8), tmp_path / "recorded.json")
    assert fallen(scores(recall5=0.8, MRR=0.95), tmp_path / "recorded.json") == []


def test_each_drop_below_the_interval_is_named(tmp_path: Path) -> None:
    record(scores(recall5=0.9, MRR=0.8, refusal_f1=0.6), tmp_path / "recorded.json")
    assert fallen(scores(recall5=0.7999, MRR=0.8, refusal_f1=0.1), tmp_path / "recorded.json") == [
        "recall@5 is 0.7999, below 0.8000 (recorded: 0.9000)",
        "refusal_f1 is 0.1000, below 0.5000 (recorded: 0.6000)",
    ]


def test_a_measure_that_is_gone_is_named(tmp_path: Path) -> None:
    record(scores(recall5=0.9, citation_precision=0.8), tmp_path / "recorded.json")
    assert fallen(scores(recall5=0.9), tmp_path / "recorded.json") == [
        "citation_precision is missing (recorded: 0.8000)"
    ]


def test_without_an_interval_the_value_itself_is_the_bound(tmp_path: Path) -> None:
    (tmp_path / "recorded.json").write_text('{"MRR": {"mean": 0.5, "low": null, "high": null, "n": 1}}', "utf-8")
    assert fallen(scores(MRR=0.5), tmp_path / "recorded.json") == []
    assert fallen(scores(MRR=0.49), tmp_path / "recorded.json") == ["MRR is 0.4900, below 0.5000 (recorded: 0.5000)"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "holds no recorded scores"),
        ("[]", "holds no recorded scores"),
        ('{"MRR": 0.5}', "holds no recorded scores"),
        ("{}", "nothing would be held"),
        (None, "cannot be read"),
    ],
)
def test_a_file_that_holds_nothing_is_an_error_and_no_pass(text: str | None, told: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "recorded.json").write_text(text, encoding="utf-8")
    with pytest.raises(CorpusError, match=rf"recorded\.json {told}|recorded\.json records no measure.*{told}"):
        fallen(scores(MRR=0.5), tmp_path / "recorded.json")


def test_the_command_records_holds_and_fails(tmp_path: Path) -> None:
    run, recorded = tmp_path / "run", tmp_path / "recorded.json"
    run.mkdir()
    items = [{"id": q, "question": q, "answerable": True, "papers": ["right"]} for q in "abcdefghij"]
    write_lines(run / "items.jsonl", items)
    (run / "run.json").write_text('{"search_only": true}', encoding="utf-8")

    def score(found: int, *options: str) -> Any:
        """The command, on a run in which so many of ten questions found the right paper."""
        ranked = [["right"] if n < found else ["wrong"] for n in range(10)]
        common = {"papers": ["right"], "answer": None, "seconds": 0.1, "error": None}
        write_lines(run / "records.jsonl", [i | common | {"ranked": r} for i, r in zip(items, ranked, strict=True)])
        return CliRunner().invoke(eval_group, ["score", str(run), *options])

    assert score(8, "--record", str(recorded)).exit_code == 0
    assert json.loads(recorded.read_text(encoding="utf-8"))["MRR"]["mean"] == 0.8
    assert score(7, "--floor", str(recorded)).exit_code == 0
    failed = score(2, "--floor", str(recorded))
    assert failed.exit_code == 3
    assert "| MRR | 0.200 |" in failed.stdout
    assert "--floor: recall@5 is 0.2000, below " in failed.stderr
    assert "--floor: MRR is 0.2000, below " in failed.stderr
