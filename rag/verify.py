"""Marked text + evidence → Answer: the quote contract. The only maker of answers.

Every sentence ends in one of three ways: its marker stands, with a verbatim quote that supports it; the marker is
repaired, where exactly the evidence supports it elsewhere; or the sentence is taken out and listed as unsupported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rag.markers import Marked, marked_sentences, marker, unescape
from rag.support import SUPPORTED, Verdict, find_quotes
from rag.types import Citation, Evidence, Quote, Status

if TYPE_CHECKING:
    from rag.types import Vectors

REFUSAL = "NOT_IN_CORPUS"
_REFUSAL = re.compile(r"[*_`\"'“(\[]*\bNOT[ _-]IN[ _-](?:THE[ _-])?CORPUS\b[*_`\"'”)\]]*[.!:]?", re.IGNORECASE)
_THINKING = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_FENCE = re.compile(r"^\s*```.*$", re.MULTILINE)
_ITEM = re.compile(r"^(\s*(?:[-*•]|\d{1,2}[.)])\s+)(?=\S)")
_HEADING = re.compile(r"^\s*(?:#{1,6}\s+.*|\*\*[^*]+\*\*:?)\s*$")
_REPAIRED = 0.6  # support that a sentence needs from a paper it did not cite: more than from one it did
_LEAD_IN_WORDS = 16


@dataclass
class _Numbering:
    """Citations in the making: numbers in order of first use, quotes by paper."""

    evidence: dict[int, Evidence]
    order: list[int] = field(default_factory=list)
    quotes: dict[int, list[Quote]] = field(default_factory=dict)

    def cite(self, rank: int, quotes: Sequence[Quote]) -> int:
        if rank not in self.order:
            self.order.append(rank)
        kept = self.quotes.setdefault(rank, [])
        for quote in quotes:
            same = next((i for i, q in enumerate(kept) if (q.start, q.end) == (quote.start, quote.end)), None)
            if same is None:
                kept.append(quote)
            elif quote.support > kept[same].support:
                kept[same] = quote
        return self.order.index(rank) + 1

    def citations(self) -> tuple[Citation, ...]:
        return tuple(
            Citation(n, self.evidence[rank].paper, tuple(sorted(self.quotes[rank], key=lambda q: q.start)))
            for n, rank in enumerate(self.order, 1)
        )


@dataclass(frozen=True)
class Verified:
    """What verification makes of a text."""

    text: str
    citations: tuple[Citation, ...]
    unsupported: tuple[str, ...]
    refused: bool
    """The text said that the corpus does not tell."""

    @property
    def status(self) -> Status:
        if not self.citations:
            return "not_in_corpus"
        return "partial" if self.refused else "answered"


def verify(
    text: str, evidence: Sequence[Evidence], encode: Callable[[Sequence[str]], Vectors] | None = None
) -> Verified:
    """Check every sentence of a marked text against the numbered evidence (a marker is an evidence's rank).

    ``encode`` (texts to unit vectors) lets paraphrases count; without it only words do. In the text returned every
    sentence but lead-ins has a marker, numbers run 1..n in order of first use, and every number has a citation.
    """
    text = _FENCE.sub("", _THINKING.sub("", text)).replace("\ufffd", "").strip()
    refused = bool(_REFUSAL.search(text))
    text = _REFUSAL.sub("", text)
    numbering = _Numbering({e.rank: e for e in evidence})
    lines: list[str] = []
    unsupported: list[str] = []
    waiting: list[str] = []  # lead-ins and headings: kept only when something that is cited follows
    for line in text.splitlines():
        item = _ITEM.match(line)
        prefix, body = (item[1], line[item.end() :]) if item else ("", line.strip())
        if not body.strip():
            if lines and lines[-1]:
                lines.append("")
            continue
        if _HEADING.match(line):
            waiting.append(line.strip())
            continue
        kept: list[str] = []
        for sentence in marked_sentences(body):
            if _leads_in(sentence):
                waiting.append(sentence.text)
                continue
            shown = _settle(sentence, numbering, encode)
            if shown is None:
                unsupported.append(unescape(sentence.text))
            else:
                kept.append(shown)
        if kept:
            lines += waiting
            waiting = []
            lines.append(prefix + " ".join(kept))
    return Verified(_tidy(lines), numbering.citations(), tuple(unsupported), refused)


def _settle(sentence: Marked, numbering: _Numbering, encode: Callable[[Sequence[str]], Vectors] | None) -> str | None:
    """The sentence with its final markers, or None when nothing supports it."""
    claim = unescape(sentence.text)
    cited = [n for n in sentence.numbers if n in numbering.evidence]
    verdicts = {n: find_quotes(claim, numbering.evidence[n].paper, encode) for n in cited}
    standing = [n for n in cited if verdicts[n].support >= SUPPORTED]
    if not standing:
        standing = _repair(claim, numbering.evidence, cited, verdicts, encode)
    if not standing:
        return None
    numbers = [numbering.cite(n, verdicts[n].quotes) for n in standing]
    return f"{sentence.text} {marker(dict.fromkeys(numbers))}"


def _repair(
    claim: str,
    evidence: dict[int, Evidence],
    cited: Sequence[int],
    verdicts: dict[int, Verdict],
    encode: Callable[[Sequence[str]], Vectors] | None,
) -> list[int]:
    """The one paper of the evidence that supports a sentence whose marker is missing or wrong."""
    for n, e in evidence.items():
        if n not in cited:
            verdicts[n] = find_quotes(claim, e.paper, encode)
    best = max((n for n in verdicts if n not in cited), key=lambda n: verdicts[n].support, default=None)
    return [best] if best is not None and verdicts[best].support >= _REPAIRED else []


def _leads_in(sentence: Marked) -> bool:
    """Whether a sentence only announces what follows and claims nothing itself."""
    text = sentence.text.rstrip("* ")
    return text.endswith(":") and not sentence.numbers and len(text.split()) <= _LEAD_IN_WORDS


def _tidy(lines: Sequence[str]) -> str:
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
