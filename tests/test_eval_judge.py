"""A model's second opinion: what it is shown, what its replies count for, and that a bad reply is no zero."""

import json
from pathlib import Path
from typing import Any

import pytest

from eval.ask import asker
from eval.items import Item
from eval.judge import FIELDS, judge, kappa, parse_verdict, summarize_verdicts
from eval.measure import Case
from eval.records import read_lines, write_lines
from eval.replies import json_object
from eval.score import as_markdown, score_run
from rag.errors import ModelError
from rag.settings import Settings
from tests.llm_server import LLMServer, Reply, error

YES = json.dumps({"reason": "Same.", "correct": True, "supported": True})
NO = json.dumps({"reason": "Another figure.", "correct": False, "supported": True})


def case(name: str, text: str, answerable: bool = True, status: str = "answered") -> Case:
    item = Item(
        name, f"What of {name}?", answerable, ("a",) if answerable else (), answer="It is red.", key_facts=("red",)
    )
    quote = {"text": "Apples are red.", "start": 0, "end": 15}
    citations = [{"number": 1, "paper_id": "a", "quotes": [quote]}] if status == "answered" else []
    answer = {"status": status, "answer": text, "citations": citations}
    return Case(item, {"id": name, "papers": list(item.papers), "answer": answer, "ranked": ["a"], "error": None})


CASES = [
    case("one", "Apples are red. [1]"),
    case("two", "Apples are blue. [1]"),
    case("refused", "It does not say.", status="not_in_corpus"),
    case("unanswerable", "Apples are red. [1]", answerable=False),
]


@pytest.mark.parametrize(
    ("reply", "correct", "supported"),
    [
        (YES, True, True),
        (f"Let me think {{hm}}.\n```json\n{NO}\n```", False, True),
        (f"First I thought {NO} but no: {YES}", True, True),
        ('{"correct": "yes", "supported": "no"}', True, False),
        ('{"correct": 1, "supported": null}', None, None),
        ('{"correct": true', None, None),
        ("[true, false]", None, None),
        ("", None, None),
    ],
)
def test_verdicts(reply: str, correct: bool | None, supported: bool | None) -> None:
    verdict = parse_verdict(reply)
    assert (verdict["correct"], verdict["supported"]) == (correct, supported)


def test_deep_nesting_is_no_verdict() -> None:
    assert json_object('{"a":' * 100_000) is None


def test_answers_are_judged_once(tmp_path: Path) -> None:
    prompts: list[str] = []

    def ask(prompt: str) -> str:
        prompts.append(prompt)
        return YES

    judge(CASES, tmp_path, ask, "m")
    judge(CASES, tmp_path, ask, "m")
    assert len(prompts) == 2  # neither the refusal nor the unanswerable item
    assert "What of one?" in prompts[0]
    assert "Reference: It is red." in prompts[0]
    assert "Answer: Apples are red.\n" in prompts[0]
    assert "- Apples are red." in prompts[0]
    judge(CASES, tmp_path, ask, "another model")
    judge([case("one", "Apples are green. [1]")], tmp_path, ask, "another model")
    assert len(prompts) == 5


def test_an_unusable_reply_is_unscored_and_asked_again(tmp_path: Path) -> None:
    replies = iter(["I cannot say.", NO, YES])
    judge(CASES, tmp_path, lambda prompt: next(replies), "m")
    found = {j["id"]: j for j in read_lines(tmp_path / "judgements.jsonl")}
    assert found["one"]["correct"] is None
    summary = summarize_verdicts(CASES, [1.0, 0.0, 0.0, None], found)
    assert (summary["unscored"], summary["judge_correct"]["n"], summary["judge_correct"]["mean"]) == (1, 1, 0.0)
    assert (summary["agreement"], summary["n"]) == (1.0, 1)
    judge(CASES, tmp_path, lambda prompt: next(replies), "m")
    assert {j["id"]: j["correct"] for j in read_lines(tmp_path / "judgements.jsonl")} == {"one": True, "two": False}


def test_a_model_that_fails_now_and_then(tmp_path: Path) -> None:
    def ask(prompt: str) -> str:
        if "What of two?" in prompt:
            raise ModelError("away", transient=True)
        return YES

    judge(CASES, tmp_path, ask, "m")
    assert [j["correct"] for j in read_lines(tmp_path / "judgements.jsonl")] == [True, None]


def test_a_model_that_cannot_be_asked_ends_the_judging(tmp_path: Path) -> None:
    def ask(prompt: str) -> str:
        raise ModelError("no key: set OPENAI_API_KEY")

    with pytest.raises(ModelError, match="no key"):
        judge(CASES, tmp_path, ask, "m")


def test_kappa() -> None:
    """Three of four agree; by chance 0.75 · 0.5 + 0.25 · 0.5 = 0.5 would: (0.75 − 0.5) / (1 − 0.5)."""
    assert kappa([(True, True), (True, True), (True, False), (False, False)]) == 0.5
    assert kappa([(True, True)]) is None
    assert kappa([]) is None


def test_the_score_tells_the_second_opinion(tmp_path: Path) -> None:
    write_lines(tmp_path / "items.jsonl", [c.item.as_dict() for c in CASES])
    write_lines(tmp_path / "records.jsonl", [c.record for c in CASES])
    replies = iter([YES, NO])
    judge(CASES, tmp_path, lambda prompt: next(replies), "m")
    scores = score_run(tmp_path)
    assert scores["judge"]["judge_correct"]["mean"] == 0.5
    assert (scores["judge"]["agreement"], scores["judge"]["kappa"]) == (1.0, 1.0)
    assert "Judge m: correct 0.500" in as_markdown(scores)


# -- asking ----------------------------------------------------------------------------------------------------


def settings(server: LLMServer, **more: Any) -> Settings:
    return Settings(_env_file=None, llm_model="test-model", openai_base_url=server.base_url, llm_retries=0, **more)  # type: ignore[call-arg]


def test_a_reply_is_asked_for_by_schema() -> None:
    with LLMServer(Reply(YES)) as server:
        assert asker(settings(server), FIELDS)("Judge.") == YES
        body = server.requests[0].body
    assert body["messages"] == [{"role": "user", "content": "Judge."}]
    assert body["response_format"]["json_schema"]["schema"]["required"] == ["reason", "correct", "supported"]


def test_a_server_that_knows_no_schema_is_asked_without() -> None:
    with LLMServer(error(400, "response_format is not supported"), Reply(YES)) as server:
        ask = asker(settings(server), FIELDS)
        assert ask("Judge.") == YES
        assert ask("Again.") == YES
        assert ["response_format" in r.body for r in server.requests] == [True, False, False]


def test_what_goes_wrong_is_told_without_the_key() -> None:
    with LLMServer(error(401, "bad key sk-secret-1")) as server:
        ask = asker(settings(server, openai_api_key="sk-secret-1"), FIELDS)
        with pytest.raises(ModelError, match="refuses the key") as e:
            ask("Judge.")
        assert "sk-secret-1" not in str(e.value)
    with pytest.raises(ModelError, match="set QUOTH_LLM_MODEL"):
        asker(Settings(_env_file=None), FIELDS)  # type: ignore[call-arg]
