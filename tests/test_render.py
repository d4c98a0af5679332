"""Answers as HTML: numbers that lead to cards, quotes lit, everything of others escaped."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from rag.index import Report
from rag.types import Answer, BadRecord, Citation, Filters, Paper, Quote
from tests.fake_quoth import GRAPHS, VIDEO, answered, refused
from ui import render

NASTY = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"
OURS = {
    *("a article b br button code details div em h3 h4 header i li ol p pre section span strong summary ul".split()),
    *("table tbody td th thead tr u sub sup mark".split()),
    *("math mi mn mo mrow msub msup msubsup mtext mspace mfrac msqrt".split()),
}


class Elements(HTMLParser):
    """Collects elements and their attributes, and that each is closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def text_of(html: str) -> str:
    return re.sub(r"<[^>]*>", "", html)


def test_numbers_lead_to_the_cards_of_their_own_answer() -> None:
    page = render.conversation([answered(), answered("Again?")]) + render.panel([answered(), answered("Again?")])
    elements = Elements(page).found
    links = [a["href"] for tag, a in elements if a.get("class") == "cite"]
    cards = [a["id"] for tag, a in elements if a.get("class") == "card"]
    assert links == ["#source-1-1", "#source-1-1", "#source-1-2", "#source-2-1", "#source-2-1", "#source-2-2"]
    assert cards == ["source-1-1", "source-1-2", "source-2-1", "source-2-2"]


def test_only_the_newest_sources_are_shown() -> None:
    sections = re.findall(r"<section[^>]*>", render.panel([answered(), answered()]))
    assert [" hidden" in s for s in sections] == [True, False]


def test_a_marker_says_where_it_leads() -> None:
    assert "aria-label='Source 2: StreamVLM'>[2]</a>" in render.answer(answered(), "1")


def test_escaped_brackets_are_no_link() -> None:
    html = render.answer(answered(), "1")
    assert "as they come [3]. <a" in html
    assert "source-1-3" not in html


def test_a_marker_without_citation_is_text() -> None:
    lonely = replace(answered(), answer="So it is. [7]", citations=())
    assert "<p>So it is. [7]</p>" in render.answer(lonely, "1")


def test_quotes_are_lit_in_the_whole_abstract() -> None:
    card = render.card(answered().citations[0], "1")
    shown = [text_of(m) for m in re.findall(r"<mark>(.*?)</mark>", card)]
    assert "".join(shown) == (
        "We present a benchmark for Gnn unlearning &lt;img src=x onerror=alert(1)&gt;."
        "It measures the L2 distance to a retrained model and costs $25 instead of $30."
    )
    assert "<p>Deletion requests reach graphs too. <mark>" in card


def test_a_quote_over_two_lines_is_lit_in_both() -> None:
    paper = Paper("p", "AIM: To see.\n\nRESULT: We saw.")
    card = render.card(Citation(1, paper, (Quote("see.\n\nRESULT", 8, 20, 1.0),)), "1")
    assert "<p>AIM: To <mark>see.</mark></p><p><mark>RESULT</mark>: We saw.</p>" in card


def test_what_a_card_tells() -> None:
    card = render.card(Citation(1, GRAPHS, ()), "1")
    assert "Unlearning &lt;b&gt;on&lt;/b&gt; graphs" in card
    assert "<p class='facts'>Ada &lt;i&gt;Byron&lt;/i&gt;, Emmy Noether · 2024 · TMLR &amp; friends</p>" in card
    assert "<p class='note'>Abstract retold.</p>" in card
    assert "href='https://example.org/graphs?a=1&amp;b=2' target='_blank' rel='noopener noreferrer'" in card
    assert "doi:10.1/graphs" in card


def test_long_author_lists_are_cut() -> None:
    paper = Paper("p", "x", authors=tuple(f"A{n}" for n in range(1, 12)))
    assert "A8 and 3 more" in render.card(Citation(1, paper, ()), "1")


@pytest.mark.parametrize(
    "url",
    ["javascript:alert(1)", "data:text/html,x", "//host/x", "http://", "ftp://x/y", "", "http://[", " JavaScript:x"],
)
def test_other_links_are_left_out(url: str) -> None:
    assert "href" not in render.card(Citation(1, replace(VIDEO, url=url), ()), "1")


def test_a_refusal_cites_nothing_and_names_the_nearest() -> None:
    html = render.answer(refused(), "1")
    assert "Not in this library" in html
    assert "Nearest papers (they do not answer this)" in html
    assert "StreamVLM" in html
    assert "class='cite'" not in html
    assert "This answer cites no paper." in render.sources(refused(), "1", shown=True)


def test_partial_answers_say_what_is_missing() -> None:
    html = render.answer(replace(answered(), status="partial", missing=("$L_2$", "cost")), "1")
    assert "Partly answered from 2 papers" in html
    assert "Not found in these abstracts: <math>" in html


def test_the_small_print() -> None:
    html = render.answer(replace(answered(), filters=Filters(year_from=2020)), "1")
    assert "openai:small · 1.2 s · 1,000 tokens · years 2020–" in html
    assert "Answered without the LLM: it is asleep." in html
    assert "<summary>1 sentence was left out: no quote supports it</summary>" in html
    assert "It also cures &lt;b&gt;hiccups&lt;/b&gt;." in html


def test_a_rewritten_question_is_shown() -> None:
    assert "Understood as: Cost of GPI?" in render.answer(
        replace(answered("Cost?"), standalone_question="Cost of GPI?"), "1"
    )
    assert "Understood as" not in render.answer(answered(), "1")


def test_a_draft_looks_unchecked_and_leads_nowhere() -> None:
    html = render.draft("It is so. [3]")
    assert html.startswith("<div class='draft'")
    assert "<span class='pending'>[3]</span>" in html
    assert "Checking" in html
    assert "<a" not in html


def nasty_answer() -> Answer:
    paper = Paper(NASTY, NASTY, NASTY, (NASTY,), 2020, NASTY, "http://x/" + NASTY, label=NASTY, note=NASTY)
    return replace(
        answered(NASTY),
        standalone_question=NASTY + "?",
        answer=f"{NASTY} [1]\n- {NASTY}\n\n## {NASTY}\n\n|{NASTY}|b|\n|--|--|\n|{NASTY}|{NASTY}|\n```\n{NASTY}\n```",
        citations=(Citation(1, paper, (Quote(NASTY, 0, len(NASTY), 1.0),)),),
        unsupported=(NASTY,),
        missing=(NASTY,),
        notices=(NASTY,),
        nearest=(replace(refused().nearest[0], paper=paper),),
        answerer=NASTY,
    )


@pytest.mark.parametrize(
    "html",
    [
        render.conversation([nasty_answer()]),
        render.panel([nasty_answer()]),
        render.exchange(NASTY, render.draft(NASTY)),
        render.failure(NASTY),
        render.library(NASTY, 3),
        render.report(Report(1, skipped=(BadRecord(NASTY, NASTY),), notices=(NASTY,))),
    ],
)
def test_html_of_others_is_inert_in_every_field(html: str) -> None:
    for tag, attributes in Elements(html).found:
        assert tag in OURS
        assert not [name for name in attributes if name.startswith("on")]
        assert set(attributes) <= {
            *("class id href title target rel tabindex type hidden role start".split()),
            *("aria-label aria-busy data-exchange".split()),
        }


def test_report() -> None:
    report = Report(added=1200, duplicates=2, skipped=tuple(BadRecord(f"a.csv#{n}", "no abstract") for n in range(25)))
    html = render.report(report)
    assert "<strong>1,200</strong> added · <strong>2</strong> duplicates · <strong>25</strong> skipped" in html
    assert "<code>a.csv#0</code> no abstract" in html
    assert "and 5 more" in html
    assert "<strong>0</strong> added" in render.report(Report())


def test_first_screens() -> None:
    assert "Add your papers to begin" in render.welcome(0)
    assert "Ask your papers" in render.welcome(38)
    assert "1 paper<" in render.library("default", 1)
    assert "no papers yet" in render.library("default", 0)


def test_control_characters_of_others_do_not_reach_the_page() -> None:
    steer = "a\x1b[2J\u202eb"
    paper = replace(GRAPHS, paper_id=steer, title=steer, venue=steer, note=steer, url=f"https://a.b/{steer}")
    found = replace(answered(steer), answer=f"```\n{steer}\n```\n{steer} [1]", notices=(steer,), missing=(steer,))
    found = replace(found, citations=(replace(found.citations[0], paper=paper),))
    skipped = Report(skipped=(BadRecord(steer, steer),), notices=(steer,))
    page = render.conversation([found]) + render.panel([found]) + render.report(skipped) + render.failure(steer)
    assert not re.search("[\x1b\u202e]", page)
    assert "a[2Jb" in page
