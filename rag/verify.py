"""Marked text + evidence → verified text with citations: the quote contract. The only maker of citations.

Every sentence of a model ends in one of three ways: its marker stands, with a verbatim quote that supports it; the
marker is repaired, where exactly the evidence supports it elsewhere; or the sentence is taken out and listed as
unsupported. Sentences taken from the evidence itself need no judging.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from rag import reply
from rag.markers import Marked, cite, escape, marked_sentences, unescape
from rag.support import SUPPORTED, Encode, Verdict, find_quotes
from rag.text import content_words, figures
from rag.types import Citation, Evidence, Quote, Sentence, Status

REFUSAL = "NOT_IN_CORPUS"
# In capitals anywhere, in small letters as a line of its own: "words that are not in the corpus" is a statement.
_REFUSAL = re.compile(
    r"[*_`\"'“(\[]{0,3}\bNOT[ _-]IN[ _-](?:THE[ _-])?CORPUS\b[*_`\"'”)\]]{0,3}[.!:]?"
    r"|(?im:^[^\w\n]{0,4}not[ _-]in[ _-](?:the[ _-])?corpus[^\w\n]{0,4}$)"
)
_NOT_TOLD = re.compile(
    r"\b(?:abstracts?|papers?|evidence|corpus|context|documents?)\b.{0,40}\b(?:not|never)\b (?:\w+ )?"
    r"(?:mention|stat|say|specif|provid|contain|tell|report|discuss|address|describ|includ|answer)\w*|(?:摘要|论文)中?(?:都|均)?(?:没有|未|并未)",
    re.IGNORECASE,
)
_REPAIRED = 0.6  # support that a sentence needs from a paper it did not cite: more than from one it did
_SHORT = 16  # words of a heading or lead-in
_END = re.compile(r"[.!?。！？:：…][\"'”’)\]*_`]*$")
# Stems that say that something follows, but not what.
_ANNOUNCING = frozenset(
    content_words(
        """following follows below here answer question overview summary summarize details main key relevant related
        results findings methods approaches contributions limitations problem background conclusion evidence topic
        propose introduce present address discuss found based provided according abstract include first second third
        two three four five six seven eight nine
        两 以下 如下 结果 主要结果如下 答案 总结 根据摘要"""
    )
)


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


def quoted(groups: Sequence[Sequence[tuple[int, Sentence]]], evidence: Sequence[Evidence]) -> Verified:
    """An answer made of sentences of the evidence, each with the rank it comes from: verbatim, so nothing is judged.

    A group is a line, and an item where there are several.
    """
    numbering = _Numbering({e.rank: e for e in evidence})
    lines = []
    for group in groups:
        shown = (cite(s.text, [numbering.cite(n, [Quote(s.text, s.start, s.end, 1.0)])]) for n, s in group)
        lines.append(("- " if len(groups) > 1 else "") + " ".join(shown))
    return Verified("\n".join(lines), numbering.citations(), (), False)


def verify(text: str, evidence: Sequence[Evidence], encode: Encode | None = None) -> Verified:
    """Check every sentence of a marked text against the numbered evidence (a marker is an evidence's rank).

    ``encode`` (texts to unit vectors) lets paraphrases count; without it only words do. In the text returned every
    sentence but lead-ins has a marker, numbers run 1..n in order of first use, and every number has a citation.
    """
    known = "\n".join(f"{e.paper.title}\n{e.paper.label}\n{e.paper.abstract}" for e in evidence)
    names = "\n".join(f"{e.paper.title}\n{e.paper.label}" for e in evidence)
    text = reply.clean(text, known)
    refused = bool(_REFUSAL.search(text))
    numbering = _Numbering({e.rank: e for e in evidence})
    shown: list[str] = []
    unsupported: list[str] = []
    waiting: list[str] = []  # lead-ins and headings: kept only when something that is cited follows
    drafted = [(line, marked_sentences(line.body)) for line in reply.lines(_REFUSAL.sub("", text))]
    cut = _cut_off([s for line, found in drafted if line.kind == "text" for s in found])
    for line, found in drafted:
        if line.kind == "blank" and shown and shown[-1]:
            shown.append("")
        if line.kind == "heading":
            heading = " ".join(s.text for s in found)
            if _claims_nothing(heading, known):
                waiting.append(escape(unescape(heading)))
            elif heading:
                unsupported.append(unescape(heading))
            continue
        kept: list[str] = []
        ahead: list[str] = []  # lead-ins of this line
        for sentence in found:
            claim = unescape(sentence.text)
            if not any(c.isalnum() for c in claim):
                continue
            if _leads_in(sentence, names):
                ahead.append(escape(claim))
                continue
            numbers = [] if sentence is cut else _settle(claim, sentence.numbers, numbering, encode)
            if numbers:
                kept += [*ahead, cite(claim, numbers)]
                ahead = []
            elif _NOT_TOLD.search(claim):
                refused = True
            else:
                unsupported.append(claim)
        if kept:
            shown += [*waiting, line.prefix + " ".join(kept)]
            waiting = []
        if ahead:
            waiting.append((line.prefix if not kept else "") + " ".join(ahead))
    return Verified(_tidy(shown), numbering.citations(), tuple(unsupported), refused)


def _settle(claim: str, cited: Sequence[int], numbering: _Numbering, encode: Encode | None) -> list[int]:
    """Final numbers of a sentence, its quotes noted; empty when nothing supports it."""
    evidence = numbering.evidence
    least = 1.0 if _NOT_TOLD.search(claim) else SUPPORTED  # what is not told is no claim, unless an abstract says it
    named = [n for n in cited if n in evidence]
    verdicts = {n: find_quotes(claim, [evidence[n].paper], encode) for n in named}
    standing = {n: v for n, v in verdicts.items() if v.support >= least}
    if not standing and len(named) > 1:  # facts of several papers in one sentence
        standing = _by_paper(find_quotes(claim, [evidence[n].paper for n in named], encode), named, least)
    if not standing:
        # A sentence that names another paper may be about that one: its subject must be this one's.
        subject = content_words(claim)[:1] if named else []
        others = {
            n: find_quotes(claim, [e.paper], encode)
            for n, e in evidence.items()
            if n not in named and {*subject} <= {*content_words(f"{e.paper.label} {e.paper.title} {e.paper.abstract}")}
        }
        best = max(others, key=lambda n: others[n].support, default=None)
        if best is not None and others[best].support >= max(least, _REPAIRED):
            standing = {best: others[best]}
    return list(dict.fromkeys(numbering.cite(n, v.quotes) for n, v in standing.items()))


def _by_paper(joint: Verdict, named: Sequence[int], least: float) -> dict[int, Verdict]:
    if joint.support < least:
        return {}
    found: dict[int, list[Quote]] = {}
    for quote, owner in zip(joint.quotes, joint.owners, strict=True):
        found.setdefault(named[owner], []).append(quote)
    return {n: Verdict(tuple(found[n]), joint.support) for n in named if n in found}


def _leads_in(sentence: Marked, names: str) -> bool:
    """Whether a sentence only announces what follows, or names the paper it is about, and claims nothing itself."""
    text = sentence.text.rstrip("*_ ")
    return text.endswith((":", "：")) and not sentence.numbers and _claims_nothing(text, names)


def _claims_nothing(text: str, known: str) -> bool:
    """Whether a short text has only announcing words and words that are known."""
    told = set(content_words(known)) | _ANNOUNCING
    counted = {f for f in figures(text) if len(f) == 1}  # "Two results:"
    return (
        len(text.split()) <= _SHORT
        and set(figures(text)) - counted <= set(figures(known))
        and all(w in told or not w.isalpha() for w in content_words(text))
    )


def _cut_off(found: Sequence[Marked]) -> Marked | None:
    """The last sentence when it breaks off: neither marker nor final punctuation, after others that have both."""
    if len(found) > 1 and not found[-1].numbers and not _END.search(found[-1].text):
        return found[-1]
    return None


def _tidy(shown: Sequence[str]) -> str:
    return re.sub(r"\n{3,}", "\n\n", "\n".join(shown)).strip()
