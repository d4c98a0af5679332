"""Answers, sources and messages as HTML. Pure: values in, text out; every word of a paper or a model is escaped."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from rag.index import Report
from rag.show import clean
from rag.types import Answer, Citation, Paper
from ui.blocks import blocks
from ui.markup import escape, inline, readable

_AUTHORS_SHOWN = 8
_SKIPPED_SHOWN = 20
_STATUS = {"answered": "Answered", "partial": "Partly answered", "not_in_corpus": "Not in this library"}


def exchange(question: str, body: str, key: str = "") -> str:
    """One question with what stands under it."""
    return (
        f"<article class='exchange' data-exchange='{escape(key)}'>"
        f"<div class='question'><span class='unseen'>You asked: </span>{_typed(question)}</div>"
        f"<div class='reply'>{body}</div></article>"
    )


def conversation(answers: Sequence[Answer]) -> str:
    """All finished exchanges, oldest first. An answer's key is its place in the conversation."""
    return "".join(exchange(a.question, answer(a, str(n)), str(n)) for n, a in enumerate(answers, 1))


def panel(answers: Sequence[Answer]) -> str:
    """The sources of all answers; those of the newest are shown, a click on a number shows the others."""
    return "".join(sources(a, str(n), shown=n == len(answers)) for n, a in enumerate(answers, 1))


def waiting() -> str:
    """What is shown until the first word arrives."""
    return "<p class='checking'>Looking through the papers…</p>"


def draft(text: str) -> str:
    """Text on its way, visibly not checked yet; its markers are not final and lead nowhere."""

    def marker(number: int) -> str:
        return f"<span class='pending'>[{number}]</span>"

    return f"<div class='draft' aria-busy='true'>{blocks(text, marker)}</div><p class='checking'>Checking quotes…</p>"


def failure(message: str) -> str:
    """An answer that did not come, and why."""
    return f"<div class='failure' role='alert'><strong>No answer:</strong> {escape(message)}</div>"


def stopped() -> str:
    """What replaces a draft that the user stopped."""
    return "<p class='aside'>Stopped. Nothing unchecked is kept.</p>"


def answer(answer: Answer, key: str) -> str:
    """The verified answer. ``key`` names it on the page, so that its markers find its own cards."""
    labels = {c.number: name(c.paper) for c in answer.citations}

    def marker(number: int) -> str | None:
        if number not in labels:
            return None
        about = escape(f"Source {number}: {labels[number]}")
        return f"<a class='cite' href='#{card_id(key, number)}' title='{about}' aria-label='{about}'>[{number}]</a>"

    parts = [_status(answer), f"<div class='text'>{blocks(answer.answer, marker)}</div>"]
    if answer.missing:
        missing = ", ".join(inline(m) for m in answer.missing)
        parts.append(f"<p class='aside'>Not found in these abstracts: {missing}</p>")
    if answer.nearest:
        items = "".join(f"<li>{_nearest(e.paper)}</li>" for e in answer.nearest)
        parts.append(f"<div class='nearest'><h4>Nearest papers (they do not answer this)</h4><ul>{items}</ul></div>")
    if answer.unsupported:
        items = "".join(f"<li>{inline(s)}</li>" for s in answer.unsupported)
        n = len(answer.unsupported)
        what = "1 sentence was left out: no quote supports it"
        if n > 1:
            what = f"{n} sentences were left out: no quote supports them"
        parts.append(f"<details class='dropped'><summary>{what}</summary><ul>{items}</ul></details>")
    parts += [f"<p class='notice'>{escape(n)}</p>" for n in answer.notices]
    parts.append(f"<p class='meta'>{_meta(answer)}</p>")
    return "".join(parts)


def sources(answer: Answer, key: str, *, shown: bool) -> str:
    """The cards of one answer's citations, whole abstracts with the quoted characters lit."""
    hidden = "" if shown else " hidden"
    head = f"<header><h3>Sources</h3><p>for “{_short(answer.question)}”</p></header>"
    if answer.citations:
        body = "".join(card(c, key) for c in answer.citations)
    else:
        body = "<p class='aside'>This answer cites no paper.</p>"
    return f"<section class='sources' data-exchange='{escape(key)}' aria-label='Sources'{hidden}>{head}{body}</section>"


def card(citation: Citation, key: str) -> str:
    """One cited paper: what is known about it, and its abstract with the quotes lit."""
    paper = citation.paper
    label = f"<span class='label'>{inline(paper.label)}</span>" if paper.title and paper.label else ""
    facts = " · ".join(x for x in (_authors(paper), str(paper.year or ""), inline(paper.venue)) if x)
    spans = [(q.start, q.end) for q in citation.quotes]
    text = paper.abstract
    abstract = "".join(f"<p>{inline(text[a:b], _within(spans, a, b))}</p>" for a, b in _paragraphs(text))
    return (
        f"<article class='card' id='{card_id(key, citation.number)}' tabindex='-1' "
        f"aria-label='Source {citation.number}'>"
        f"<h4><span class='number'>{citation.number}</span><span>{inline(name(paper))}</span>{label}</h4>"
        + (f"<p class='facts'>{facts}</p>" if facts else "")
        + (f"<p class='note'>{inline(paper.note)}</p>" if paper.note else "")
        + f"<div class='abstract'>{abstract}</div>"
        + f"<p class='meta'><span class='id'>{escape(paper.paper_id)}</span>{_link(paper.url)}"
        + "<button type='button' class='back'>Back to the answer</button></p></article>"
    )


def library(library: str, papers: int) -> str:
    """The line that says what is being asked."""
    count = "no papers yet" if not papers else "1 paper" if papers == 1 else f"{papers:,} papers"
    return f"<p class='library'>Library <strong>{escape(library)}</strong> · {count}</p>"


def welcome(papers: int) -> str:
    """The first screen: what to do, for a library with or without papers."""
    if papers:
        return (
            "<div class='welcome'><h2>Ask your papers</h2><p>Answers come only from the abstracts in this library. "
            "Every sentence carries a number; click it to see the words it rests on.</p></div>"
        )
    return (
        "<div class='welcome'><h2>Add your papers to begin</h2><p>Open <strong>Library</strong> and add a list of "
        "papers: plain text with one abstract a paragraph, a CSV or TSV table with an abstract column, or JSON lines."
        "</p></div>"
    )


def sources_hint() -> str:
    """The source panel before there is an answer."""
    return (
        "<section class='sources'><header><h3>Sources</h3></header><p class='aside'>"
        "The abstracts behind an answer appear here, with the quoted words lit.</p></section>"
    )


def report(report: Report) -> str:
    """What an upload changed, with the records that could not be used."""
    counts = {"added": report.added, "updated": report.updated, "unchanged": report.unchanged}
    counts |= {"duplicates": report.duplicates, "skipped": len(report.skipped)}
    shown = {what: n for what, n in counts.items() if n} or {"added": 0}
    parts = ["<p>" + " · ".join(f"<strong>{n:,}</strong> {what}" for what, n in shown.items()) + "</p>"]
    parts += [f"<p class='notice'>{escape(n)}</p>" for n in report.notices]
    if report.skipped:
        first = report.skipped[:_SKIPPED_SHOWN]
        items = [f"<li><code>{escape(b.source)}</code> {escape(b.reason)}</li>" for b in first]
        rest = len(report.skipped) - len(items)
        items += [f"<li>and {rest:,} more</li>"] if rest > 0 else []
        parts.append(f"<details><summary>Why records were skipped</summary><ul>{''.join(items)}</ul></details>")
    return f"<div class='report' role='status'>{''.join(parts)}</div>"


def name(paper: Paper) -> str:
    """What a reader calls the paper: its title, else its label, else its id."""
    return paper.title or paper.label or paper.paper_id


def card_id(key: str, number: int) -> str:
    """The page's id of a card."""
    return f"source-{re.sub(r'[^A-Za-z0-9]', '-', key)}-{number}"


def _typed(text: str) -> str:
    return "<br>".join(inline(line) for line in text.strip().splitlines())


def _status(answer: Answer) -> str:
    n = len(answer.citations)
    of = f" from {n} paper{'s' if n > 1 else ''}" if n else ""
    status = f"<p class='status {answer.status}'>{_STATUS[answer.status]}{of}</p>"
    if answer.standalone_question.strip() not in ("", answer.question.strip()):
        status += f"<p class='aside'>Understood as: {inline(answer.standalone_question)}</p>"
    return status


def _meta(answer: Answer) -> str:
    parts = [escape(answer.answerer)]
    if "total" in answer.seconds:
        parts.append(f"{answer.seconds['total']:.1f} s")
    if tokens := sum(answer.usage.values()):
        parts.append(f"{tokens:,} tokens")
    if answer.filters.year_from or answer.filters.year_to:
        parts.append(f"years {answer.filters.year_from or ''}–{answer.filters.year_to or ''}")
    return " · ".join(parts)


def _nearest(paper: Paper) -> str:
    year = f" ({paper.year})" if paper.year else ""
    return f"{inline(name(paper))}{year}{_link(paper.url)}"


def _authors(paper: Paper) -> str:
    shown = ", ".join(inline(a) for a in paper.authors[:_AUTHORS_SHOWN])
    rest = len(paper.authors) - _AUTHORS_SHOWN
    return shown + (f" and {rest} more" if rest > 0 else "")


def _link(url: str) -> str:
    """A link for web addresses; anything else (``javascript:`` too) is left out."""
    url = clean(url).strip()
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    if parts.scheme.lower() not in ("http", "https") or not parts.netloc:
        return ""
    shown = escape(parts.netloc.rpartition("@")[2])
    return f" <a class='link' href='{escape(url)}' target='_blank' rel='noopener noreferrer'>{shown} ↗</a>"


def _short(text: str, limit: int = 90) -> str:
    text = " ".join(readable(text).split())
    return escape(text if len(text) <= limit else text[: limit - 1].rstrip() + "…")


def _paragraphs(text: str) -> list[tuple[int, int]]:
    """Start and end of every line that is not blank: a labelled section stands on its own line."""
    return [(m.start(), m.end()) for m in re.finditer(r"[^\n]*\S[^\n]*", text)]


def _within(spans: Sequence[tuple[int, int]], start: int, end: int) -> list[tuple[int, int]]:
    """The parts of the spans inside ``start:end``, counted from ``start``."""
    return [(max(a, start) - start, min(b, end) - start) for a, b in spans if a < end and start < b]
