"""Drafted items: gaps without a model, questions with one, and what is rejected."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from eval.cli import eval_group
from eval.draft import draft
from eval.items import Gold, Item, load_items
from rag.errors import CorpusError, ModelError
from rag.types import Paper
from tests.test_eval_run import Fruit

ABSTRACT = "We count wild bees on many farms. In GPT-4 terms since 2019 hedges add 12.5% more species to each farm."
PAPERS = {
    "bees": Paper("bees", ABSTRACT),
    "words": Paper("words", "No figure stands here, in no sentence of this abstract at all."),
}
GOOD = {
    "question": "How many more kinds do field borders bring?",
    "quote": "In GPT-4 terms since 2019 hedges add 12.5% more species to each farm.",
    "answer": "12.5% more.",
    "key_facts": ["12.5%"],
}


def test_a_gap_takes_a_figure_that_is_neither_name_nor_year() -> None:
    (item,) = draft(list(PAPERS), PAPERS.__getitem__, 5).items
    assert item == Item(
        "draft-gap-001",
        "Which figure belongs in the gap? In GPT-4 terms since 2019 hedges add ____ more species to each farm.",
        True,
        ("bees",),
        "gap",
        "unreviewed",
        (),
        (Gold("bees", GOOD["quote"]),),  # type: ignore[arg-type]
        "12.5%",
        ("12.5%",),
    )


def test_the_same_seed_gives_the_same_items() -> None:
    many = {
        f"p{n}": Paper(f"p{n}", f"On this set of papers the method gains {n} points over all others.") for n in range(9)
    }
    first, again, other = (draft(list(many), many.__getitem__, 4, seed=s).items for s in (1, 1, 2))
    assert first == again
    assert [i.papers for i in first] != [i.papers for i in other]


def test_a_model_s_question_is_kept_with_the_stored_sentence() -> None:
    reply = json.dumps(GOOD | {"quote": "in GPT-4 terms since 2019  hedges add 12.5% more species to each farm."})
    (item,) = draft(["bees"], PAPERS.__getitem__, 1, lambda prompt: reply).items
    assert (item.question, item.kind, item.type) == (GOOD["question"], "unreviewed", "written")
    assert item.evidence == (Gold("bees", GOOD["quote"]),)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "change",
    [
        {"quote": "Hedges triple them."},
        {"question": "Do hedges add 12.5% more?"},
        {"key_facts": ["13"]},
        {"key_facts": "12.5%"},
        {"key_facts": []},
        {"answer": ""},
        {"question": None},
    ],
)
def test_a_model_s_question_that_is_no_good(change: dict[str, Any]) -> None:
    drafted = draft(["bees"], PAPERS.__getitem__, 1, lambda prompt: json.dumps(GOOD | change))
    assert (drafted.items, drafted.rejected) == ((), 1)


def test_replies_that_are_no_object_and_models_that_fail() -> None:
    assert draft(["bees"], PAPERS.__getitem__, 1, lambda prompt: "Sure!").rejected == 1

    def away(prompt: str) -> str:
        raise ModelError("no key: set OPENAI_API_KEY")

    with pytest.raises(ModelError):
        draft(["bees"], PAPERS.__getitem__, 1, away)


def test_the_command_overwrites_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Bees(Fruit):
        def papers(self) -> list[Paper]:
            return list(PAPERS.values())

        def paper(self, name: str) -> Paper:
            return PAPERS[name]

    monkeypatch.setattr("rag.build.open_catalog", lambda settings: Bees())
    arguments = ["draft", "--out", str(tmp_path / "new.jsonl"), "--answerer", "extractive"]
    result = CliRunner().invoke(eval_group, arguments)
    assert result.stdout == f"1 unreviewed items in {tmp_path / 'new.jsonl'}\n"
    assert load_items(tmp_path / "new.jsonl")[0].kind == "unreviewed"
    assert isinstance(CliRunner().invoke(eval_group, arguments).exception, CorpusError)
