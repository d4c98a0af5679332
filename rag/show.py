"""Answers, papers and reports as text for a terminal. Untrusted text loses its control characters here."""

from __future__ import annotations

import re
import shutil
import textwrap

from rag.index import Report
from rag.markers import unescape
from rag.types import Answer, Citation, Evidence, Paper, Sentence

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_MARK = re.compile(r"(?<=\S) (?=\[\d)")


def clean(text: str) -> str:
    """Text that cannot steer the terminal: control and direction-changing characters go."""
    return _CONTROL.sub("", text)


def answer(found: Answer) -> str:
    """The answer, then its sources with the quoted sentences, then what else should be known."""
    parts = [_wrap(unescape(found.answer))]
    if found.status == "partial" and found.missing:
        parts.append(_wrap(f"Not stated in these papers: {', '.join(found.missing)}."))
    if found.citations:
        said = unescape(found.answer)
        parts.append("\n".join(_citation(c, said) for c in found.citations))
    if found.status == "not_in_corpus" and found.nearest:
        near = "\n".join(f"  - {clean(name(e.paper))} ({clean(e.paper.paper_id)})" for e in found.nearest)
        parts.append(f"Nearest papers:\n{near}")
        if found.missing:
            parts.append(_wrap(f"Words of the question that they do not have: {', '.join(found.missing)}."))
    if found.unsupported:
        dropped = "\n".join(_wrap(f"- {s}", "  ") for s in found.unsupported)
        parts.append(f"Left out, because no abstract supports it:\n{dropped}")
    parts += [_wrap(f"Note: {notice}") for notice in found.notices]
    return "\n\n".join(parts)


def name(paper: Paper) -> str:
    """Title, else label."""
    return paper.title or paper.label


def card(paper: Paper) -> str:
    """A paper in full."""
    lines = [name(paper), _reference(paper), f"id: {paper.paper_id}"]
    if paper.aliases:
        lines.append(f"also: {', '.join(paper.aliases)}")
    lines += [f"label: {paper.label}", f"source: {paper.source}", paper.url, paper.note]
    head = "\n".join(clean(line) for line in lines if line)
    return f"{head}\n\n{_wrap(paper.abstract)}"


def row(paper: Paper) -> str:
    """A paper on one line."""
    year = f" ({paper.year})" if paper.year else ""
    title = paper.title if paper.title and paper.title != paper.label else ""
    return clean("  ".join(x.strip() for x in (paper.paper_id, paper.label, title + year) if x.strip()))


def hit(e: Evidence, sentence: Sentence) -> str:
    """A search result: rank, paper, matching sentence."""
    head = f"{e.rank}. {name(e.paper)}" + (f" ({e.paper.year})" if e.paper.year else "")
    return f"{clean(head)}  [{clean(e.paper.paper_id)}, {e.score:.2f}]\n" + _wrap(sentence.text, "   ")


def report(done: Report) -> str:
    """What became of the records, on a line or a few."""
    text = (
        f"{done.added} added, {done.updated} updated, {done.unchanged} unchanged, "
        f"{done.duplicates} duplicates, {len(done.skipped)} skipped"
    )
    lines = [f"  skipped {b.source}: {b.reason}" for b in done.skipped[:10]]
    if len(done.skipped) > 10:
        lines.append(f"  … and {len(done.skipped) - 10} more (all with --json)")
    lines += [f"  note: {n}" for n in done.notices[:10]]
    return "\n".join(clean(x) for x in [text, *lines])


def _citation(c: Citation, said: str) -> str:
    """A source with its quotes; those that the answer already says word for word only by their first words."""
    head = f"[{c.number}] {name(c.paper)}"
    where = _reference(c.paper)
    lines = [clean(head)] + ([f"    {clean(where)}"] if where else [])
    lines += [f"    {clean(x)}" for x in (c.paper.url or c.paper.paper_id, c.paper.note) if x]
    for q in c.quotes:
        words = q.text.split(maxsplit=6)
        text = " ".join(words[:6]) + " …" if q.text in said and len(words) > 6 else q.text
        lines.append(_wrap(f"“{text}” (characters {q.start}:{q.end})", "    "))
    return "\n".join(lines)


def _reference(paper: Paper) -> str:
    authors = ", ".join(paper.authors[:3]) + (" et al." if len(paper.authors) > 3 else "")
    return " · ".join(x for x in (authors, paper.venue, str(paper.year or "")) if x)


def _wrap(text: str, indent: str = "") -> str:
    width = min(100, shutil.get_terminal_size((100, 20)).columns)
    glued = _MARK.sub("\u00a0", clean(text))  # a marker stays on the line of its sentence
    paragraphs = [
        textwrap.fill(
            p, width, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
        for p in glued.split("\n")
    ]
    return "\n".join(paragraphs).replace("\u00a0", " ")
