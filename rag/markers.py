"""The grammar of citation markers: ``[1]``, ``[1, 2]``, ``[1-3]``, ``【1】`` are read, ``[1][2]`` is written."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from rag.text import sentences

_NUMBERS = r"\d{1,3}(?:\s*[,;，、–-]\s*\d{1,3})*"
_MARKER = re.compile(rf"(?<!\\)[\[【]\s*({_NUMBERS})\s*[\]】](?!\()")
_BRACKETED = re.compile(rf"\[(\s*{_NUMBERS}\s*)\]")
_ESCAPED = re.compile(r"\\\[([^\[\]\\]*)\\\]")
_LONGEST_RANGE = 20


@dataclass(frozen=True)
class Marked:
    """A sentence of an answer without its markers, and the numbers that stood at it, in order."""

    text: str
    numbers: tuple[int, ...]


def escape(quote: str) -> str:
    """Write bracketed numbers of a quoted abstract so that they are no markers: ``[3]`` → ``\\[3\\]``."""
    return _BRACKETED.sub(r"\\[\1\\]", quote)


def unescape(text: str) -> str:
    """The reverse of ``escape``."""
    return _ESCAPED.sub(r"[\1]", text)


def marker(numbers: Iterable[int]) -> str:
    """The one written form: ``[1][2]``."""
    return "".join(f"[{n}]" for n in numbers)


def marked_sentences(line: str) -> list[Marked]:
    """Cut one line of an answer into sentences with their markers.

    A marker belongs to the sentence it stands in or directly after, whichever side of the final punctuation; one
    that opens a line belongs to the sentence that follows.
    """
    bare: list[str] = []
    places: list[tuple[int, list[int]]] = []
    length = at = 0
    for m in _MARKER.finditer(line):
        piece = line[at : m.start()]
        if piece.strip() and not line[m.end() : m.end() + 1].isalnum():
            piece = piece.rstrip()  # the blank before a marker belongs to it
        bare.append(piece)
        length += len(piece)
        places.append((length, _expand(m[1])))
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


def _expand(inside: str) -> list[int]:
    numbers: list[int] = []
    for part in re.split(r"\s*[,;，、]\s*", inside.strip()):
        ends = [int(x) for x in re.split(r"\s*[–-]\s*", part)]
        if len(ends) == 2 and 0 <= ends[1] - ends[0] <= _LONGEST_RANGE:
            numbers += range(ends[0], ends[1] + 1)
        else:
            numbers += ends
    return numbers
