"""What supports a statement, and what only looks as if it did."""

from __future__ import annotations

import pytest

from rag.contradiction import contradicts
from rag.support import SUPPORTED, find_quotes, support
from rag.types import Paper
from tests.fakes import BEES, PUMP, encode


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("It is not robust.", "It is robust."),
        ("It works without labels.", "It works with labels."),
        ("X needs more memory than Y.", "X needs less memory than Y."),
        ("Y needs less memory than X.", "Y needs more memory."),
        ("Latency increased by 10%.", "Latency decreased by 10%."),
        ("Bats surpass birds.", "Birds surpass bats."),
        ("Birds are heavier than bats.", "Bats are heavier than birds."),
        ("The labels are reliable.", "The labels are unreliable."),
        ("The outcomes were similar.", "The outcomes were different."),
        ("It handles each page.", "It clusters pages instead of handling each page."),
        ("The sample is at most 5.", "The sample is at least 5."),
    ],
)
def test_contradictions(statement: str, text: str) -> None:
    assert contradicts(statement, text)
    assert contradicts(text, statement)
    assert support(statement, text, 0.95) == 0


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("It does not need labels.", "It works without labels."),
        ("It fails to converge.", "It does not converge."),
        ("Bats need less food than birds.", "Birds need more food than bats."),
        ("The labels are not reliable.", "The labels are unreliable."),
        ("It saves time and memory.", "It not only saves time but also memory."),
        ("It cuts errors and raises accuracy.", "It raises accuracy and cuts errors."),
        (
            "It is faster than the baseline, with higher accuracy.",
            "It has higher accuracy while 20x faster than the baseline.",
        ),
        (
            "It needs few labels without much extra cost.",
            "It needs few labels without introducing a large amount of extra cost.",
        ),
    ],
)
def test_agreement(statement: str, text: str) -> None:
    assert not contradicts(statement, text)


@pytest.mark.parametrize(
    ("statement", "text", "expected"),
    [
        ("Red apples fall.", "Red apples fall in autumn.", 1.0),
        ("Red apples fall.", "Green apples fall in autumn.", 0.5),
        ("They sold 12 apples.", "They sold 12 apples and 7 pears.", 1.0),
        ("They sold 7 apples.", "They sold 12 apples. In spring 7 pears rotted.", 0.0),
        ("They sold 12% of it.", "They sold 12 apples of it.", 0.0),
        ("", "Red apples fall.", 0.0),
        ("It is.", "It is.", 0.0),
    ],
)
def test_support_by_words(statement: str, text: str, expected: float) -> None:
    assert support(statement, text) == pytest.approx(expected)


def test_likeness_lifts_and_lowers() -> None:
    assert support("Red apples fall.", "Green apples fall.", 0.85) == pytest.approx((2 / 3 + 1) / 2)
    assert support("Red apples fall.", "Green apples fall.", 0.25) == pytest.approx(1 / 3)


def test_another_language_counts_by_meaning_only() -> None:
    text = "Heliopump used 18% less energy."
    assert support("Heliopump 的能耗降低了 18%。", text) == 0
    assert support("Heliopump 的能耗降低了 18%。", text, 0.85) == pytest.approx(1)
    assert support("Heliopump 的能耗没有降低 18%。", text, 0.85) == 0
    assert support("Heliopump 的能耗降低了 81%。", text, 0.85) == 0


def test_chinese_of_chinese() -> None:
    paper = Paper("p", "我们跟踪了250只蜜蜂。没有地标的蜜蜂回巢更慢。")
    found = find_quotes("论文跟踪了250只蜜蜂。", [paper])
    assert found.quotes[0].text == "我们跟踪了250只蜜蜂。"
    assert found.support >= SUPPORTED


def test_the_quote_is_the_sentence_that_says_it() -> None:
    found = find_quotes("Radar followed 250 bees over two summers.", [BEES], encode)
    assert [q.text for q in found.quotes] == ["We tracked 250 bees with radar for two summers."]
    assert BEES.abstract[found.quotes[0].start : found.quotes[0].end] == found.quotes[0].text


def test_two_sentences_carry_one_statement() -> None:
    found = find_quotes("Heliopump predicts clouds five minutes ahead and its code is public.", [PUMP])
    assert [q.text[:12] for q in found.quotes] == ["We introduce", "The code is "]
    assert found.owners == (0, 0)


def test_two_papers_carry_one_statement() -> None:
    found = find_quotes("The code is public and 250 bees were tracked with radar.", [PUMP, BEES])
    assert sorted(found.owners) == [0, 1]


@pytest.mark.parametrize(
    "statement", ["Heliopump runs on Arduino.", "Pumps sing.", "Heliopump used 19% less energy.", "", "[1]"]
)
def test_nothing_found(statement: str) -> None:
    assert find_quotes(statement, [PUMP], encode).support < SUPPORTED


def test_times_may_be_written_with_an_x() -> None:
    paper = Paper("p", r"It runs 20$\times$ faster than clocks.")
    assert find_quotes("It is 20x faster than clocks.", [paper], encode).support >= SUPPORTED


def test_no_abstract() -> None:
    assert find_quotes("The code is public.", [Paper("p", "")]).quotes == ()
