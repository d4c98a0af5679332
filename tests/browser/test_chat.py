"""The page in a real browser."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fake_quoth import FakeQuoth

pytestmark = pytest.mark.browser

LIST = b"""Two abstracts

We introduce Nightjar, a small owl detector. It finds owls in 9 of 10 nights.

We measure how fast snails climb glass. Snails climb one metre in four minutes.
"""


def ask(page: Any, question: str) -> None:
    box = page.get_by_placeholder("Ask a question")
    box.fill(question)
    box.press("Enter")


def answers(page: Any, n: int) -> Any:
    """The n-th exchange, once it is finished."""
    exchange = page.locator(f"#past .exchange[data-exchange='{n}']")
    exchange.wait_for()
    return exchange


def in_view(page: Any, selector: str) -> bool:
    return bool(
        page.locator(selector).first.evaluate(
            "n => { const r = n.getBoundingClientRect(); return r.bottom > 0 && r.top < innerHeight; }"
        )
    )


def test_from_question_to_lit_quote(address: str, visit: Callable[..., Any], quoth: FakeQuoth) -> None:
    quoth.gate = threading.Event()
    page = visit(address)
    ask(page, "What is measured?")
    draft = page.locator("#live .draft")
    draft.wait_for()
    assert "We present a benchmark" in draft.inner_text()
    assert draft.evaluate("n => getComputedStyle(n).fontStyle") == "italic"
    assert "Checking quotes" in page.locator("#live").inner_text()
    quoth.gate.set()

    exchange = answers(page, 1)
    assert page.locator("#live .draft").count() == 0
    assert "Answered from 2 papers" in exchange.inner_text()
    exchange.get_by_label("Source 1").first.click()
    card = page.locator("#source-1-1")
    assert "lit" in card.get_attribute("class")
    assert in_view(page, "#source-1-1 mark")
    lit = "".join(card.locator("mark").all_text_contents())
    assert lit.startswith("We present a benchmark for Gnn unlearning <img src=x onerror=alert(1)>.")
    assert lit.endswith("costs $25 instead of $30.")
    assert "Deletion requests" not in lit
    assert page.locator("img[src=x], #main script").count() == 0
    assert card.locator("math msub").count() == 1


def test_numbers_of_earlier_answers_keep_working(address: str, visit: Callable[..., Any], quoth: FakeQuoth) -> None:
    page = visit(address)
    ask(page, "First?")
    answers(page, 1)
    ask(page, "Second?")
    answers(page, 2)
    assert page.locator("#source-2-1").is_visible()
    assert not page.locator("#source-1-2").is_visible()
    number = page.locator("#past a.cite[href='#source-1-2']")
    number.focus()
    page.keyboard.press("Enter")
    assert page.locator("#source-1-2").is_visible()
    assert not page.locator("#source-2-1").is_visible()
    assert page.evaluate("document.activeElement.id") == "source-1-2"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.hash") == "#source-1-2"
    assert quoth.asked[1][1][0].content == "First?"


def test_refusals_and_failures(address: str, visit: Callable[..., Any]) -> None:
    page = visit(address)
    ask(page, "Who won?")
    assert "Nearest papers (they do not answer this)" in answers(page, 1).inner_text()
    ask(page, "broken?")
    failure = page.get_by_role("alert")
    failure.wait_for()
    assert "start it" in failure.inner_text()
    assert page.get_by_placeholder("Ask a question").input_value() == "broken?"


def test_a_draft_can_be_stopped(address: str, visit: Callable[..., Any], quoth: FakeQuoth) -> None:
    quoth.gate = threading.Event()
    page = visit(address)
    ask(page, "What is measured?")
    page.locator("#live .draft").wait_for()
    page.locator("#question .stop-button").click()
    page.get_by_text("Stopped. Nothing unchecked is kept.").wait_for()
    assert page.locator("#live .draft").count() == 0
    quoth.gate.set()
    page.get_by_placeholder("Ask a question").fill("Again?")
    # Until the server has let go of the stopped question the page takes no other one, and keeps what is typed.
    for _ in range(20):
        page.keyboard.press("Enter")
        page.wait_for_timeout(250)
        if page.locator(".exchange").count():
            break
    assert "Again?" in answers(page, 1).inner_text()


def test_sessions_share_nothing_and_start_anew(address: str, visit: Callable[..., Any], quoth: FakeQuoth) -> None:
    one, other = visit(address), visit(address)
    ask(one, "Mine?")
    answers(one, 1)
    assert other.locator(".exchange").count() == 0
    ask(other, "Other?")
    answers(other, 1)
    assert quoth.asked[-1][1] == ()
    one.get_by_role("button", name="New conversation").click()
    one.get_by_text("Ask your papers").wait_for()
    assert one.locator(".exchange, .card").count() == 0
    one.get_by_role("button", name=re.compile("new dataset")).click()
    assert "dataset or benchmark" in answers(one, 1).inner_text()
    assert quoth.asked[-1][1] == ()


def test_a_narrow_page_has_one_column(address: str, visit: Callable[..., Any]) -> None:
    page = visit(address, width=390, height=844)
    ask(page, "What is measured?")
    answers(page, 1).get_by_label("Source 2").click()
    page.wait_for_function("document.querySelector('#source-1-2').getBoundingClientRect().bottom <= innerHeight")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.locator("#source-1-2 .back").click()
    page.wait_for_function("document.activeElement.getBoundingClientRect().top > 0")
    assert page.evaluate("document.activeElement.hash") == "#source-1-2"


def test_papers_are_uploaded_and_asked(serve: Callable[[], str], visit: Callable[..., Any], tmp_path: Path) -> None:
    """The real library, words only."""
    page = visit(serve())
    page.get_by_text("Add your papers to begin").wait_for()
    assert page.get_by_placeholder("Ask a question").is_disabled()
    files = page.locator("#library input[type=file]")
    files.set_input_files({"name": "paper.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.4"})
    toast = page.locator(".toast-body.error")
    toast.wait_for()
    assert "paper.pdf: not a text file" in toast.inner_text()
    assert "/paper.pdf" not in toast.inner_text()
    page.locator(".toast-close").click()
    files.set_input_files({"name": "birds.txt", "mimeType": "text/plain", "buffer": LIST})
    page.locator(".report").wait_for()
    assert "2 added" in page.locator(".report").inner_text()
    page.get_by_text("Library default · 2 papers").wait_for()
    ask(page, "How fast do snails climb glass?")
    answers(page, 1).locator("a.cite").first.click()
    assert "nails climb" in page.locator(".card.lit mark").first.text_content()
