"""The grammar of citation markers: ``[1]``, ``[1, 2]``, ``[1-3]``, ``【1】`` are read, ``[1][2]`` is written."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from rag.text import sentences

_NUMBERS = r"\d{1,3}(?:\s*(?:,\s*and|and|[,;，、&–-])\s*[#^]?\d{1,3})*"
_WORD = r"(?:(?:abstract|paper|source|ref(?:erence)?|document)s?\.?\s*)?"
_INSIDE = rf"\s*{_WORD}[#^]?({_NUMBERS})(?:†[^\]】］\n]*)?\s*,?\s*"
_LINK = r"(?:\((?:https?://|#|/)[^()\s]*\))?"  # some models link their markers
_ONE = re.compile(rf"(?<!\\)(?:\[\[{_INSIDE}\]\]|[\[【［]{_INSIDE}[\]】］]){_LINK}(?!\()", re.IGNORECASE)
_UNNAMED = _ONE.pattern.replace(f"({_NUMBERS})", _NUMBERS)
_RUN = rf"{_UNNAMED}(?:\s*[,;、–-]?\s*{_UNNAMED})*"
_MARKER = re.compile(rf"\(\s*(?:see|cf\.|{_WORD})\s*{_RUN}\s*\)|{_RUN}", re.IGNORECASE)
# "According to [1], bees …" and "As [1] shows, bees …": the marker is a word of the sentence.
_ATTRIBUTION = re.compile(
    rf"\b(?:According to|Based on|As (?:stated|reported|shown|described|noted) (?:in|by)|In)\s+(?:the\s+)?{_WORD}"
    rf"({_RUN}),\s*(\w+)|\bAs\s+({_RUN})\s+(?:reports?|shows?|states?|notes?|describes?),\s*(\w+)"
)
# Brackets in formulas, code and addresses are no markers: $x_{[1]}$, `a[1]`, https://example.org/a[1]b.
_LITERAL = re.compile(r"(?<![\\$])\$(?=\S)[^$\n]{1,300}?(?<=\S)\$(?![\d$])|`[^`\n]+`|https?://[^\s\[]*\[\d+\]\w\S*")
_RANGE = re.compile(r"[\]】］]\s*[–-]\s*[\[【［]")
_BRACKETED = re.compile(r"[\[【](\s*\d+(?:\s*[,;，、–-]\s*\d+)*\s*)[\]】]")
_SINGLE = re.compile(r"\[(\s*\d+\s*)\]")
_ESCAPED = re.compile(r"\\\[(\s*\d+(?:\s*[,;，、–-]\s*\d+)*\s*)\\\]")
_LONGEST_RANGE = 20


@dataclass(frozen=True)
class Marked:
    """A sentence of an answer without its markers, and the numbers that stood at it, in order."""

    text: str
    numbers: tuple[int, ...]


def escape(quote: str) -> str:
    """Write bracketed numbers of a quoted abstract so that they are no markers: ``[3]`` → ``\\[3\\]``.

    In a formula only ``[3]`` is: a list such as ``$[0,1]$`` is no marker there, and a backslash would spoil it.
    """
    pieces, at = [], 0
    for m in _LITERAL.finditer(quote):
        pieces += [_BRACKETED.sub(r"\\[\1\\]", quote[at : m.start()]), _SINGLE.sub(r"\\[\1\\]", m[0])]
        at = m.end()
    return "".join([*pieces, _BRACKETED.sub(r"\\[\1\\]", quote[at:])])


def unescape(text: str) -> str:
    """The reverse of ``escape``."""
    return _ESCAPED.sub(r"[\1]", text)


def marker(numbers: Iterable[int]) -> str:
    """The one written form: ``[1][2]``."""
    return "".join(f"[{n}]" for n in numbers)


def cite(sentence: str, numbers: Iterable[int]) -> str:
    """A sentence on one line with its markers behind it."""
    line = re.sub(r"\s*\n\s*", " ", sentence)
    return f"{escape(line)} {marker(numbers)}"


def marked_sentences(line: str) -> list[Marked]:
    """Cut one line of an answer into sentences with their markers.

    A marker belongs to the sentence it stands in or directly after, whichever side of the final punctuation; one
    that opens a line belongs to the sentence that follows.
    """
    line = _ATTRIBUTION.sub(_reworded, line)
    masked = _LITERAL.sub(lambda m: "x" * len(m[0]), line)
    bare: list[str] = []
    places: list[tuple[int, list[int]]] = []
    at = 0
    for m in _MARKER.finditer(masked):
        piece = line[at : m.start()]
        after = line[m.end() : m.end() + 1]
        if piece.strip() and not after.isalnum():
            piece = piece.rstrip()  # the blank before a marker belongs to it
        elif piece.rstrip()[-1:] in tuple(".!?") and after.isascii():
            piece = piece.rstrip() + " "  # "One.[1]Two."
        bare.append(piece)
        places.append((len("".join(bare).rstrip()), _expand(m[0])))
        at = m.end()
    bare.append(line[at:])
    text = "".join(bare)
    found = sentences(text)
    numbers: list[list[int]] = [[] for _ in found]
    for place, cited in places:
        owner = max((i for i, s in enumerate(found) if s.start < place), default=0)
        if found:
            numbers[owner] += cited
    return [Marked(s.text, tuple(dict.fromkeys(n))) for s, n in zip(found, numbers, strict=True)]


def _reworded(m: re.Match[str]) -> str:
    """The phrase left out, its marker put behind the first word of what it introduces."""
    word = m[2] or m[4]
    return f"{word[0].upper()}{word[1:]} {m[1] or m[3]}"


def _expand(run: str) -> list[int]:
    numbers: list[int] = []
    for m in _ONE.finditer(_RANGE.sub("-", run)):
        for part in re.split(r"\s*(?:,\s*and|and|[,;，、&])\s*", m[1] or m[2]):
            ends = [int(x) for x in re.findall(r"\d+", part)]
            if len(ends) == 2 and 0 <= ends[1] - ends[0] <= _LONGEST_RANGE:
                numbers += range(ends[0], ends[1] + 1)
            else:
                numbers += ends
    return numbers
