"""Runs: what is recorded, how a run resumes, what a failure leaves."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from eval.items import Gold, Item
from eval.records import read_lines, read_run
from eval.run import run
from rag.errors import CorpusError, ModelError
from rag.pipeline import Found
from rag.settings import Settings
from rag.types import Answer, Brief, Citation, Evidence, Filters, Paper, Passage, Quote, Turn

PAPERS = {
    "doi:10.1/a": Paper("doi:10.1/a", "Apples are red. They fall.", aliases=("list.txt#1", "old#1"), label="Apples"),
    "list.txt#2": Paper("list.txt#2", "Pears are green.", label="Pears"),
    "list.txt#3": Paper("list.txt#3", "Plums are blue.", label="Plums"),
}
ITEMS = [
    Item("red", "What is red?", True, ("list.txt#1",), "single", evidence=(Gold("list.txt#1", "Apples are red."),)),
    Item("green", "What is green?", True, ("list.txt#2",), "single"),
    Item("blue", "What is blue?", True, ("list.txt#3",), "followup", history=(Turn("user", "Fruit?"),)),
    Item("loud", "What is loud?", False, (), "unanswerable"),
]


class Fruit:
    """A library that knows a colour by its word. ``fails``: what a question raises, by its last word."""

    def __init__(self, **settings: Any) -> None:
        self.settings = Settings(_env_file=None, openai_api_key="sk-secret", **settings)  # type: ignore[call-arg]
        self.fails: dict[str, BaseException] = {}
        self.asked: list[str] = []
        self.histories: dict[str, Sequence[Turn]] = {}

    def find(
        self, question: str, history: Sequence[Turn] = (), filters: Filters = Filters(), depth: int | None = None
    ) -> Found:
        colour = question.rstrip("?").split()[-1]
        self.asked.append(colour)
        self.histories[colour] = history
        if colour in self.fails:
            raise self.fails[colour]
        ordered = sorted(PAPERS.values(), key=lambda p: colour not in p.abstract)
        evidence = tuple(
            Evidence(n, p, Passage(f"{p.paper_id}/0", p.paper_id, p.abstract, 0, len(p.abstract)), 1 / n)
            for n, p in enumerate(ordered, 1)
        )
        return Found(Brief(question, question), evidence, tuple(p.paper_id for p in ordered)[:depth])

    def stream_from(self, found: Found) -> Iterator[str | Answer]:
        question, best = found.brief.question, found.evidence[0]
        if question.rstrip("?").split()[-1] not in best.paper.abstract:
            yield Answer(question, question, "not_in_corpus", "The corpus does not say.", evidence=found.evidence)
            return
        quote = best.paper.abstract.split(".")[0] + "."
        yield quote
        citation = Citation(1, best.paper, (Quote(quote, 0, len(quote), 1.0),))
        yield Answer(question, question, "answered", f"{quote} [1]", (citation,), evidence=found.evidence)

    @property
    def library(self) -> Any:
        return self

    def fingerprint(self) -> dict[str, str]:
        return {"papers": "1", "embedder": "2"}

    def papers(self) -> list[Paper]:
        return [Paper(p.paper_id, "", aliases=p.aliases, label=p.label) for p in PAPERS.values()]

    def paper(self, name: str) -> Paper:
        return PAPERS[name]


def records(folder: Path) -> dict[str, Any]:
    return {r["id"]: r for r in read_lines(folder / "records.jsonl")}


def timeless(folder: Path) -> list[Any]:
    """The records in the order of their ids, without times."""
    return [records(folder)[i] | {"seconds": None} for i in sorted(records(folder))]


def test_a_record_has_the_agreed_shape_and_the_item_s_spelling_of_ids(tmp_path: Path) -> None:
    run(Fruit(), ITEMS, tmp_path)
    red = records(tmp_path)["red"]
    assert list(red) == ["id", "type", "question", "answerable", "papers", "answer", "ranked", "seconds", "error"]
    assert (red["type"], red["answerable"], red["papers"], red["error"]) == ("single", True, ["list.txt#1"], None)
    assert red["ranked"] == ["list.txt#1", "list.txt#2", "list.txt#3"]
    assert red["seconds"] >= 0
    (citation,) = red["answer"]["citations"]
    assert citation["paper_id"] == "list.txt#1"
    assert citation["aliases"] == ["doi:10.1/a", "old#1"]
    assert [e["paper_id"] for e in red["answer"]["evidence"]] == ["list.txt#1", "list.txt#2", "list.txt#3"]
    assert records(tmp_path)["green"]["ranked"] == ["list.txt#2", "doi:10.1/a", "list.txt#3"]
    assert records(tmp_path)["loud"]["answer"]["status"] == "not_in_corpus"


def test_two_ids_of_one_paper_are_one(tmp_path: Path) -> None:
    run(Fruit(), [Item("x", "What is red?", True, ("old#1", "doi:10.1/a", "gone#1"))], tmp_path)
    assert records(tmp_path)["x"]["papers"] == ["old#1", "gone#1"]
    assert records(tmp_path)["x"]["ranked"][0] == "old#1"


def test_papers_that_are_not_there_are_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    run(Fruit(), [Item("x", "What is red?", True, ("gone#1",))], tmp_path)
    assert "1 papers that items name are not in this library" in caplog.text


def test_history_reaches_the_library(tmp_path: Path) -> None:
    quoth = Fruit()
    run(quoth, ITEMS, tmp_path)
    assert quoth.histories["blue"] == (Turn("user", "Fruit?"),)


def test_the_run_says_what_it_was_made_with_and_keeps_no_secret(tmp_path: Path) -> None:
    quoth = Fruit(openai_base_url="http://me:word@localhost:1/v1", k=3)
    run(quoth, ITEMS, tmp_path, source="fruit.jsonl")
    text = (tmp_path / "run.json").read_text(encoding="utf-8")
    about = json.loads(text)
    assert "sk-secret" not in text
    assert "word" not in about["settings"]["openai_base_url"]
    assert about["settings"]["openai_base_url"] == "http://localhost:1/v1"
    assert (about["settings"]["k"], about["items"]["count"], about["items"]["file"]) == (3, 4, "fruit.jsonl")
    assert about["library"]["papers"] == 3
    assert {"python", "numpy"} <= about["versions"].keys()


def test_the_folder_can_be_scored_alone(tmp_path: Path) -> None:
    run(Fruit(), ITEMS, tmp_path)
    kept = read_run(tmp_path)
    assert list(kept.items) == ITEMS
    assert kept.missing == []
    assert kept.abstracts == {
        "list.txt#1": "Apples are red. They fall.",
        "list.txt#2": "Pears are green.",
        "list.txt#3": "Plums are blue.",
    }


def test_search_only_writes_no_answers(tmp_path: Path) -> None:
    run(Fruit(), ITEMS, tmp_path, search_only=True)
    assert {r["answer"] for r in records(tmp_path).values()} == {None}
    assert records(tmp_path)["blue"]["ranked"][0] == "list.txt#3"


def test_limit_and_progress(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    run(Fruit(), ITEMS, tmp_path, limit=2, progress=lambda done, total: seen.append((done, total)))
    assert list(records(tmp_path)) == ["red", "green"]
    assert seen == [(0, 2), (1, 2), (2, 2)]


def test_a_failing_item_is_recorded_and_asked_again(tmp_path: Path) -> None:
    quoth = Fruit()
    quoth.fails = {"green": ModelError("the model is away: try later"), "blue": KeyError("gone")}
    run(quoth, ITEMS, tmp_path)
    assert records(tmp_path)["green"]["error"] == "the model is away: try later"
    assert records(tmp_path)["green"] | {"answer": None, "ranked": [], "seconds": None} == records(tmp_path)["green"]
    assert records(tmp_path)["blue"]["error"] == "KeyError: 'gone'"
    assert records(tmp_path)["loud"]["error"] is None
    again = Fruit()
    run(again, ITEMS, tmp_path)
    assert again.asked == ["green", "blue"]
    assert {r["error"] for r in records(tmp_path).values()} == {None}
    assert len(read_lines(tmp_path / "records.jsonl")) == 4


@pytest.mark.parametrize("workers", [1, 3])
def test_an_interrupted_run_ends_as_if_it_had_not_been(tmp_path: Path, workers: int) -> None:
    run(Fruit(), ITEMS, tmp_path / "whole")
    broken = Fruit()
    broken.fails = {"blue": KeyboardInterrupt()}
    with pytest.raises(KeyboardInterrupt):
        run(broken, ITEMS, tmp_path / "part", workers=workers)
    assert "blue" not in records(tmp_path / "part")
    run(Fruit(), ITEMS, tmp_path / "part", workers=workers)
    assert timeless(tmp_path / "part") == timeless(tmp_path / "whole")


def test_a_killed_run_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    slow = """
import sys, time
from pathlib import Path
from eval.run import run
from tests.test_eval_run import ITEMS, Fruit
class Slow(Fruit):
    def find(self, *args, **more):
        time.sleep(0.2)
        return super().find(*args, **more)
run(Slow(), ITEMS, Path(sys.argv[1]))
"""
    out = tmp_path / "part"
    process = subprocess.Popen([sys.executable, "-c", slow, str(out)], cwd=Path(__file__).parents[1])
    deadline = time.monotonic() + 60
    while not (out / "records.jsonl").is_file() or b"\n" not in (out / "records.jsonl").read_bytes():
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert 1 <= len(records(out)) < len(ITEMS)
    quoth = Fruit()
    run(quoth, ITEMS, out)
    run(Fruit(), ITEMS, tmp_path / "whole")
    assert 1 <= len(quoth.asked) < len(ITEMS)
    assert timeless(out) == timeless(tmp_path / "whole")


@pytest.mark.parametrize("cut", [1, 40])
def test_a_torn_last_line_is_dropped(tmp_path: Path, cut: int) -> None:
    run(Fruit(), ITEMS, tmp_path / "whole")
    run(Fruit(), ITEMS, tmp_path / "part")
    for name in ("records.jsonl", "papers.jsonl"):
        path = tmp_path / "part" / name
        path.write_bytes(path.read_bytes()[:-cut])
    quoth = Fruit()
    run(quoth, ITEMS, tmp_path / "part")
    assert quoth.asked == (["loud"] if cut > 1 else [])
    assert timeless(tmp_path / "part") == timeless(tmp_path / "whole")


def test_other_settings_on_resume_are_refused(tmp_path: Path) -> None:
    run(Fruit(), ITEMS, tmp_path)
    with pytest.raises(CorpusError, match=r"settings\.k was 5, is 8"):
        run(Fruit(k=8), ITEMS, tmp_path)
    with pytest.raises(CorpusError, match="search_only was False, is True"):
        run(Fruit(), ITEMS, tmp_path, search_only=True)
    with pytest.raises(CorpusError, match=r"items\.count was 4, is 3"):
        run(Fruit(), ITEMS[:3], tmp_path)
    run(Fruit(home=tmp_path / "elsewhere"), ITEMS, tmp_path, workers=2, source="moved.jsonl")


def test_workers_record_every_item_once(tmp_path: Path) -> None:
    items = [Item(f"q{n}", f"What is {('red', 'green', 'blue')[n % 3]}?", True, ()) for n in range(40)]
    run(Fruit(), items, tmp_path, workers=4)
    assert sorted(r["id"] for r in read_lines(tmp_path / "records.jsonl")) == sorted(i.id for i in items)
    assert len(read_lines(tmp_path / "papers.jsonl")) == 3


def test_damage_in_the_middle_is_told(tmp_path: Path) -> None:
    run(Fruit(), ITEMS, tmp_path)
    path = tmp_path / "records.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([lines[0], lines[1][:20], *lines[2:]]) + "\n", encoding="utf-8")
    with pytest.raises(CorpusError, match="damaged, line 2"):
        run(Fruit(), ITEMS, tmp_path)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CorpusError, match=r"file/x cannot be written \(.*--out"):
        run(Fruit(), ITEMS, tmp_path / "file" / "x")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["records.jsonl", "papers.jsonl"])
@pytest.mark.parametrize("line", ["[1]", '{"id": "a"}', '{"id": 1, "error": null, "answer": null, "ranked": []}'])
def test_lines_of_the_wrong_shape_are_damage(tmp_path: Path, name: str, line: str) -> None:
    run(Fruit(), ITEMS, tmp_path)  # type: ignore[arg-type]
    (tmp_path / name).write_text(line + "\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=f"{name} is damaged, line 1: run again into another folder"):
        read_run(tmp_path)
    with pytest.raises(CorpusError, match="damaged, line 1"):
        run(Fruit(), ITEMS, tmp_path)  # type: ignore[arg-type]


def test_a_run_file_of_the_wrong_shape_is_damage(tmp_path: Path) -> None:
    run(Fruit(), ITEMS, tmp_path)  # type: ignore[arg-type]
    (tmp_path / "run.json").write_text("[1]", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"run.json is damaged: run again into another folder"):
        read_run(tmp_path)
