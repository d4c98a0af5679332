"""The flow from question to verified answer: a real library, an LLM that says what a test tells it to."""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from rag.build import open_quoth
from rag.errors import CorpusError, ModelError
from rag.library import resolve
from rag.pipeline import Quoth
from rag.settings import load_settings
from rag.types import Answer, Brief, Evidence, Filters, Paper, Turn
from tests.fakes import BEES, PUMP, assert_contract
from tests.llm_server import CUT, Failure, LLMServer, Reply, error

ENERGY = "How much less energy did Heliopump use than fixed schedules?"
HIVE = "How do bees find their hive?"
EXTRACTED = "In field trials on 12 farms, Heliopump used 18% less energy than fixed schedules. [1]"


class Said:
    """An LLM that says these pieces, then fails if it must."""

    name = "openai:said"

    def __init__(self, *pieces: str, failure: ModelError | None = None, standalone: str | ModelError = "") -> None:
        self.pieces, self.failure, self.rewriting = pieces, failure, standalone
        self.usage = {"input_tokens": 3, "output_tokens": 2}
        self.asked = 0

    def stream(self, brief: Brief, evidence: Sequence[Evidence], history: Sequence[Turn], /) -> Iterator[str]:
        self.asked += 1
        yield from self.pieces
        if self.failure:
            raise self.failure

    def stream_summary(self, evidence: Sequence[Evidence], /) -> Iterator[str]:
        return self.stream(Brief("", ""), evidence, ())

    def standalone(self, question: str, history: Sequence[Turn], /) -> str:
        if isinstance(self.rewriting, ModelError):
            raise self.rewriting
        return self.rewriting or question


@pytest.fixture(autouse=True)
def _loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy of the machine stands in between, and no client reads root certificates (80 ms each)."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", lambda *_, **__: None)


def quoth(llm: Said | None = None, **settings: object) -> Quoth:
    """The library of three papers; with an LLM, if given."""
    opened = open_quoth(load_settings(None, **{"llm_model": "said" if llm else None, **settings}))
    if llm is not None:
        opened._llm = llm
    return opened


def checked(answer: Answer) -> Answer:
    """The answer, having held it to its contract."""
    if answer.status == "not_in_corpus":  # its text is ours and claims nothing
        assert not answer.citations
        assert not re.search(r"\[\d", answer.answer)
    else:
        assert_contract(answer.answer, answer.citations, answer.unsupported)
    assert [e.rank for e in answer.evidence] == list(range(1, len(answer.evidence) + 1))
    assert 0 <= answer.answerability <= 1
    assert set(answer.seconds) == {"retrieve", "generate", "verify", "total"}
    return answer


def cited(answer: Answer) -> list[str]:
    return [c.paper.paper_id for c in answer.citations]


# --- without an LLM ---


def test_the_best_sentence_is_quoted(library: Path) -> None:
    answer = checked(quoth().ask(ENERGY))
    assert answer.answer == EXTRACTED
    assert (answer.status, answer.answerer, answer.missing) == ("answered", "extractive", ())
    assert [(q.start, q.end) for q in answer.citations[0].quotes] == [(126, 207)]


def test_brackets_of_an_abstract_are_no_markers(library: Path) -> None:
    assert checked(quoth().ask(HIVE)).answer == r"Bees find their hive by landmarks \[3\]. [1]"


def test_the_last_piece_of_a_stream_is_the_answer(library: Path) -> None:
    *pieces, answer = quoth().stream(ENERGY)
    assert "".join(map(str, pieces)) == EXTRACTED
    assert isinstance(answer, Answer)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Which enzyme folds proteins?", "The papers in this library do not answer this question."),
        ("蛋白质如何折叠？", "本库中的论文没有回答这个问题。"),
    ],
)
def test_what_no_paper_tells_is_refused(library: Path, question: str, text: str) -> None:
    answer = checked(quoth().ask(question))
    assert (answer.status, answer.answer) == ("not_in_corpus", text)
    assert answer.missing


def test_a_refusal_names_the_nearest_papers_and_what_they_lack(library: Path) -> None:
    answer = checked(quoth(abstain_below=1).ask("Which enzyme makes bees sleep without landmarks?"))
    assert [e.paper.paper_id for e in answer.nearest][:1] == [BEES.paper_id]
    assert answer.missing == ("enzyme", "sleep")


@pytest.mark.parametrize(
    ("message", "start"), [("Hello!", "I answer questions about the papers"), ("谢谢", "我可以回答关于本库论文的问题")]
)
def test_small_talk(library: Path, message: str, start: str) -> None:
    answer = checked(quoth().ask(message))
    assert answer.status == "not_in_corpus"
    assert answer.answer.startswith(start)
    assert (answer.nearest, answer.missing) == ((), ())


def test_a_name_that_no_cited_abstract_has_makes_an_answer_partial(library: Path) -> None:
    answer = checked(quoth().ask("How much less energy did Heliopump use than GPT-4o?"))
    assert (answer.status, answer.missing, cited(answer)) == ("partial", ("GPT-4o",), [PUMP.paper_id])


@pytest.mark.parametrize("question", ["", "  \n", "\t"])
def test_an_empty_question_is_an_error(library: Path, question: str) -> None:
    with pytest.raises(CorpusError, match="type one"):
        quoth().ask(question)


@pytest.mark.parametrize("question", ["?", "[1]", "$$", "\\", "AND OR NOT", '"', "a" * 20_000, "🐝", "\x00", "[1] [2"])
def test_odd_questions_are_questions(library: Path, question: str) -> None:
    checked(quoth().ask(question))
    checked(quoth().ask(question, [Turn("user", HIVE), Turn("assistant", "x", (BEES.paper_id,))]))


def test_filters(library: Path) -> None:
    opened = quoth()
    assert cited(opened.ask(HIVE, filters=Filters(2024, 2024, "apiary", "imker"))) == [BEES.paper_id]
    for outside in (Filters(2025), Filters(venue="Nature"), Filters(author="Darwin"), Filters(papers=(PUMP.paper_id,))):
        answer = checked(opened.ask(HIVE, filters=outside))
        assert (answer.status, answer.filters) == ("not_in_corpus", outside)


def test_search_gives_each_paper_its_best_sentence(library: Path) -> None:
    (evidence, sentence), *_ = quoth().search("Do landmarks change how far bees fly?")
    assert evidence.paper.paper_id == BEES.paper_id
    assert sentence.text == "Landmarks did not change how far they flew."
    assert evidence.paper.abstract[sentence.start : sentence.end] == sentence.text


# --- with an LLM ---


@pytest.mark.parametrize(
    ("reply", "status", "text"),
    [
        ("Heliopump used 18% less energy than fixed schedules. [1]", "answered", None),
        (
            "Heliopump used 18% less energy than fixed schedules.",  # the marker is found
            "answered",
            "Heliopump used 18% less energy than fixed schedules. [1]",
        ),
        (
            "Heliopump used 18% less energy than fixed schedules [99].",  # and repaired
            "answered",
            "Heliopump used 18% less energy than fixed schedules. [1]",
        ),
        ("NOT_IN_CORPUS", "not_in_corpus", "The papers in this library do not answer this question."),
    ],
)
def test_a_reply_is_verified(library: Path, reply: str, status: str, text: str | None) -> None:
    answer = checked(quoth(Said(reply[:9], reply[9:])).ask(ENERGY))
    assert (answer.status, answer.answer) == (status, text or reply)
    assert answer.answerer == "openai:said"
    assert answer.usage == {"input_tokens": 3, "output_tokens": 2}


def test_a_sentence_that_no_abstract_supports_is_left_out(library: Path) -> None:
    said = "Heliopump used 18% less energy than fixed schedules. [1] It was tested on the Moon. [1]"
    answer = checked(quoth(Said(said)).ask(ENERGY))
    assert answer.answer == "Heliopump used 18% less energy than fixed schedules. [1]"
    assert answer.unsupported == ("It was tested on the Moon.",)


@pytest.mark.parametrize("reply", ["Heliopump won a medal on the Moon. [1]", "Moon medals [7][99].", "[1]", "$$ [1]"])
def test_a_reply_without_support_is_replaced_by_quotes(library: Path, reply: str) -> None:
    answer = checked(quoth(Said(reply)).ask(ENERGY))
    assert (answer.answer, answer.answerer) == (EXTRACTED, "extractive")
    assert answer.notices == ("No abstract supports what the model wrote: these are quotes instead.",)
    assert answer.usage == {"input_tokens": 3, "output_tokens": 2}  # they were paid for


def test_a_question_beyond_the_papers_is_not_given_to_the_llm(library: Path) -> None:
    llm = Said("Enzymes do. [1]")
    assert quoth(llm).ask("Which enzyme folds proteins?").status == "not_in_corpus"
    assert llm.asked == 0


def test_a_passing_failure_leaves_the_answer_to_quotes(library: Path) -> None:
    busy = ModelError("the server is busy", transient=True)
    answer = checked(quoth(Said(failure=busy)).ask(ENERGY))
    assert (answer.answer, answer.answerer) == (EXTRACTED, "extractive")
    assert answer.notices == ("Answered without the LLM: the server is busy",)


@pytest.mark.parametrize(("answerer", "transient"), [("llm", True), ("llm", False), ("auto", False)])
def test_other_failures_are_errors(library: Path, answerer: str, transient: bool) -> None:
    with pytest.raises(ModelError, match="no luck"):
        quoth(Said(failure=ModelError("no luck", transient=transient)), answerer=answerer).ask(ENERGY)


@pytest.mark.parametrize("answerer", ["auto", "llm"])
def test_what_came_before_a_failure_is_kept_in_whole_sentences(library: Path, answerer: str) -> None:
    pieces = ("Heliopump used 18% less energy than fixed schedules. [1] ", "It does not need an inter")
    llm = Said(*pieces, failure=ModelError("gone", transient=True))
    answer = checked(quoth(llm, answerer=answerer).ask(ENERGY))
    assert (answer.answer, answer.answerer) == (pieces[0].strip(), "openai:said")
    assert answer.notices == ("The answer may be incomplete: gone",)


def test_a_number_is_no_end_of_a_sentence(library: Path) -> None:
    llm = Said("Bees without landmarks took 4.", "5 times lon", failure=ModelError("gone", transient=True))
    answer = checked(quoth(llm).ask("How much longer do bees without landmarks take to return?"))
    assert answer.notices == ("Answered without the LLM: gone",)
    assert answer.answer == "Bees without landmarks took 4.5 times longer to return. [1]"


def test_a_paper_named_twice_is_summarized_once(library: Path) -> None:
    answer = checked(quoth().summarize([BEES.paper_id, "bees-2024"]))
    assert cited(answer) == [BEES.paper_id]


def test_half_a_character_is_replaced(library: Path) -> None:
    answer = checked(quoth().ask("How do bees \ud83d find \udcff their hive?"))
    assert answer.question == "How do bees ? find ? their hive?"
    assert cited(answer) == [BEES.paper_id]


def test_a_summary_is_cited(library: Path) -> None:
    answer = checked(quoth().summarize(["Heliopump", "bees-2024"]))
    assert (answer.status, cited(answer), answer.missing) == ("answered", [PUMP.paper_id, BEES.paper_id], ())
    assert answer.answer.count("\n") == 1


@pytest.mark.parametrize("reply", ["Bees won medals on the Moon. [1]", "NOT_IN_CORPUS"])
def test_a_summary_without_support_is_replaced_by_quotes(library: Path, reply: str) -> None:
    answer = checked(quoth(Said(reply)).summarize([BEES.paper_id]))
    assert (answer.status, answer.answerer, cited(answer)) == ("answered", "extractive", [BEES.paper_id])
    assert answer.notices == ("No abstract supports what the model wrote: these are quotes instead.",)


def test_a_key_without_a_model_is_worth_a_notice(library: Path) -> None:
    answer = quoth(openai_api_key="sk-test-secret").ask(ENERGY)
    assert answer.notices == ("OPENAI_API_KEY is set, but no model: set QUOTH_LLM_MODEL to have the LLM answer.",)


# --- over the wire ---


def served(server: LLMServer, **settings: object) -> Quoth:
    given = {"llm_model": "test-model", "llm_retries": 0, "llm_timeout": 5, "openai_api_key": "sk-test-secret"}
    return quoth(**{**given, "openai_base_url": server.base_url, **settings})


def test_a_streamed_reply_is_verified(library: Path) -> None:
    with LLMServer(Reply("Heliopump used 18% less energy ", "than fixed schedules 【1】.", usage=(40, 9))) as server:
        *pieces, answer = served(server).stream(ENERGY)
        assert len(pieces) >= 2
        assert isinstance(answer, Answer)
        assert checked(answer).answer == "Heliopump used 18% less energy than fixed schedules. [1]"
        assert answer.usage == {"input_tokens": 40, "output_tokens": 9}
        assert ENERGY in server.requests[0].prompt
        assert PUMP.abstract in server.requests[0].prompt


@pytest.mark.parametrize("failure", [error(429), error(500), Failure(502, "<html>bad gateway</html>"), Reply()])
def test_a_busy_server_leaves_the_answer_to_quotes(library: Path, failure: Failure | Reply) -> None:
    with LLMServer(failure) as server:
        answer = checked(served(server).ask(ENERGY))
        assert answer.answer == EXTRACTED
        assert answer.notices[0].startswith("Answered without the LLM: ")
        with pytest.raises(ModelError):
            served(server, answerer="llm").ask(ENERGY)


def test_a_wrong_key_is_an_error_that_does_not_show_it(library: Path) -> None:
    with LLMServer(error(401, "Incorrect API key provided: sk-test-secret")) as server:
        with pytest.raises(ModelError, match="OPENAI_API_KEY") as e:
            served(server).ask(ENERGY)
        assert "sk-test" not in str(e.value)


def test_a_stream_that_breaks_off_keeps_its_whole_sentences(library: Path) -> None:
    with LLMServer(Reply("Heliopump used 18% less energy than fixed schedules [1]. It does", CUT)) as server:
        answer = checked(served(server, answerer="llm").ask(ENERGY))
        assert answer.answer == "Heliopump used 18% less energy than fixed schedules. [1]"
        assert answer.notices[0].startswith("The answer may be incomplete: ")


# --- conversations ---

TALK = [
    Turn("user", "What do solar pumps and bees need?"),
    Turn(
        "assistant",
        "Solar pumps water fields. [1] Bees find their hive by landmarks. [2]",
        (PUMP.paper_id, BEES.paper_id),
    ),
]


@pytest.mark.parametrize("question", ["What did the second one track?", "What did they track in [2]?"])
def test_a_follow_up_points_at_a_paper_by_its_number(library: Path, question: str) -> None:
    answer = checked(quoth().ask(question, TALK))
    assert (answer.status, cited(answer)[0]) == ("answered", BEES.paper_id)
    assert answer.evidence[0].paper.paper_id == BEES.paper_id


def test_a_number_that_no_answer_had_points_nowhere(library: Path) -> None:
    checked(quoth().ask("What about [7]?", TALK))


def test_a_paper_that_has_left_the_library_does_not_come_back(library: Path) -> None:
    talk = [TALK[0], Turn("assistant", "Gone. [1]", ("gone.txt#1",))]
    answer = checked(quoth().ask("How much energy did the first one use?", talk))
    assert "gone.txt#1" not in [e.paper.paper_id for e in answer.evidence]


def test_a_follow_up_within_filters(library: Path) -> None:
    answer = checked(quoth().ask("What did the second one track?", TALK, Filters(year_to=2020)))
    assert BEES.paper_id not in [e.paper.paper_id for e in answer.evidence]


def test_an_answer_is_a_turn(library: Path) -> None:
    opened = quoth()
    first = opened.ask(HIVE)
    assert first.turn().papers == (BEES.paper_id,)
    answer = checked(opened.ask("How many of them were tracked?", [Turn("user", HIVE), first.turn()]))
    assert "250 bees" in answer.answer


def test_the_llm_makes_a_follow_up_standalone(library: Path) -> None:
    llm = Said("Heliopump used 18% less energy than fixed schedules. [1]", standalone=ENERGY)
    answer = checked(quoth(llm).ask("And how much energy?", TALK))
    assert (answer.question, answer.standalone_question) == ("And how much energy?", ENERGY)


def test_a_failed_rewriting_takes_the_question_as_typed(library: Path) -> None:
    llm = Said("Heliopump used 18% less energy than fixed schedules. [1]", standalone=ModelError("busy"))
    answer = checked(quoth(llm).ask("How much less energy did Heliopump use?", TALK))
    assert answer.notices == ("The question was taken as typed: busy",)


# --- names of papers ---


def test_a_paper_has_several_names(library: Path) -> None:
    opened = quoth()
    for name in (PUMP.paper_id, "Heliopump", "heliopump"):
        assert opened.paper(name).abstract == PUMP.abstract
    assert opened.paper("bees-2024").paper_id == BEES.paper_id
    with pytest.raises(CorpusError, match="there is no paper 'wasps'"):
        opened.paper("wasps")


def test_a_label_of_two_papers_is_ambiguous() -> None:
    twins = [Paper("a#1", "", label="Twin"), Paper("a#2", "", label="twin")]
    with pytest.raises(CorpusError, match=r"2 papers have the label 'TWIN'.* a#1, a#2"):
        resolve("TWIN", twins)


def test_cards_come_without_abstracts(library: Path) -> None:
    assert [p.paper_id for p in quoth().papers()] == ["list.txt#1", "list.txt#2", "list.txt#3"]
    assert all(p.abstract == "" for p in quoth().papers())
