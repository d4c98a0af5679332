"""Item files: what is read, and what is said of a file that cannot be used."""

import json
from pathlib import Path
from typing import Any

import pytest

from eval.items import Gold, Item, load_items
from rag.errors import CorpusError
from rag.types import Turn

PLAIN = {"id": "q1", "question": "Why?", "answerable": True, "papers": ["a"]}


def written(folder: Path, *items: Any) -> Path:
    path = folder / "items.jsonl"
    path.write_text("\n".join(i if isinstance(i, str) else json.dumps(i) for i in items), encoding="utf-8")
    return path


def test_an_item_with_everything(tmp_path: Path) -> None:
    raw = {
        "id": "q1",
        "type": "followup",
        "kind": "named",
        "question": "And why?",
        "answerable": True,
        "papers": ["a", "b"],
        "history": [{"role": "user", "content": "What?"}, {"role": "assistant", "content": "That."}],
        "evidence": [{"paper": "a", "quote": "It is so."}],
        "answer": "Because.",
        "key_facts": ["so|thus"],
        "grades": {"a": 2, "b": 1},
    }
    (item,) = load_items(written(tmp_path, raw))
    assert item == Item(
        "q1",
        "And why?",
        True,
        ("a", "b"),
        "followup",
        "named",
        (Turn("user", "What?"), Turn("assistant", "That.")),
        (Gold("a", "It is so."),),
        "Because.",
        ("so|thus",),
        {"a": 2.0, "b": 1.0},
    )
    assert {k: v for k, v in item.as_dict().items() if v} == raw


def test_optional_fields_blank_lines_and_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text("\ufeff" + json.dumps(PLAIN) + "\n\n", encoding="utf-8")
    assert load_items(path) == [Item("q1", "Why?", True, ("a",))]


def test_a_line_separator_inside_a_text_ends_no_line(tmp_path: Path) -> None:
    path = written(tmp_path, json.dumps({**PLAIN, "question": "one\u2028two"}, ensure_ascii=False))
    assert load_items(path)[0].question == "one\u2028two"


@pytest.mark.parametrize(
    ("second", "says"),
    [
        ('{"id": ', "line 2 is not JSON"),
        ("[1]", "line 2 is not a JSON object"),
        (PLAIN, "line 2: the id 'q1' is taken by line 1: give it another id"),
        ({**PLAIN, "id": "q2", "question": " "}, "line 2: `question` is missing or empty: give it a text"),
        ({**PLAIN, "id": 2}, "line 2: `id` is missing or empty"),
        ({**PLAIN, "id": "q2", "answerable": "yes"}, "line 2: `answerable` must be true or false"),
        ({**PLAIN, "id": "q2", "papers": "a"}, "line 2: `papers` must be a list of paper ids"),
        ({**PLAIN, "id": "q2", "evidence": [{"paper": "a"}]}, "line 2: `evidence` must be"),
        ({**PLAIN, "id": "q2", "history": [{"role": "system", "content": ""}]}, "line 2: `history` must be"),
        ({**PLAIN, "id": "q2", "key_facts": "x"}, "line 2: `key_facts` must be a list of texts"),
        ({**PLAIN, "id": "q2", "grades": {"a": True}}, "line 2: `grades` must give a finite number"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, second: Any, says: str) -> None:
    path = written(tmp_path, PLAIN, second)
    with pytest.raises(CorpusError) as error:
        load_items(path)
    assert str(path) in str(error.value)
    assert says in str(error.value)


def test_no_file_no_items_no_text(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="cannot be read"):
        load_items(tmp_path / "nowhere.jsonl")
    with pytest.raises(CorpusError, match="holds no items"):
        load_items(written(tmp_path, ""))
    (tmp_path / "items.jsonl").write_bytes(b"\xff\xfe{")
    with pytest.raises(CorpusError, match="not UTF-8"):
        load_items(tmp_path / "items.jsonl")


@pytest.mark.parametrize("grade", ["NaN", "Infinity", "-Infinity", "1e999", "1" + "0" * 400])
def test_a_grade_is_finite(tmp_path: Path, grade: str) -> None:
    line = json.dumps(PLAIN)[:-1] + f', "grades": {{"a": {grade}}}}}'
    with pytest.raises(CorpusError, match="line 1: `grades` must give a finite number"):
        load_items(written(tmp_path, line))
