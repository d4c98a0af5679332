"""Paper → passages: the whole abstract where the encoder can read it, else sentence-aligned windows that tile it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from rag.text import sentences
from rag.types import Paper, Passage


def passages(paper: Paper, token_count: Callable[[str], int], limit: int) -> list[Passage]:
    """Cut a paper so that title and passage together stay within ``limit`` tokens of the encoder.

    Passages tile the abstract: joined in order they give it back, so nothing is lost or stored twice. Windows are
    filled evenly, which avoids a last one of a few words. A sentence longer than a window is cut between words.
    """
    text = paper.abstract
    if token_count(embedded_text(paper.title, text)) <= limit:
        return [_passage(paper, 0, 0, len(text))]
    room = max(16, limit - (token_count(paper.title) if paper.title else 0))
    units = _units(text, token_count, room)
    total = sum(size for _, size in units)
    even = total / -(-total // room)  # tokens a window if all were equally full
    cuts, filled = [0], 0
    start = 0
    for end, size in units:
        if filled and (filled + size > room or filled + size / 2 > even):
            cuts.append(start)
            filled = 0
        filled += size
        start = end
    cuts.append(len(text))
    return [_passage(paper, n, a, b) for n, (a, b) in enumerate(pairwise(cuts))]


def embedded_text(title: str, passage: str) -> str:
    """What the encoder and the lexical index read of a passage: the title is searched, but never quoted."""
    return f"{title}\n{passage.strip()}" if title else passage.strip()


def _units(text: str, token_count: Callable[[str], int], room: int) -> list[tuple[int, int]]:
    """(end offset, tokens) of the smallest pieces: sentences, or words of sentences that are too long."""
    found = sentences(text)
    ends = [s.start for s in found[1:]] + [len(text)]
    units: list[tuple[int, int]] = []
    start = 0
    for end in ends:
        size = token_count(text[start:end])
        if size <= room:
            units.append((end, size))
        else:
            units += _words(text, start, end, token_count, room)
        start = end
    return units


def _words(text: str, start: int, end: int, token_count: Callable[[str], int], room: int) -> list[tuple[int, int]]:
    units = []
    while start < end:
        low, high = start + 1, end  # longest piece that fits, by bisection
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if token_count(text[start:middle]) <= room else (low, middle - 1)
        blank = text.rfind(" ", start, low)
        cut = end if low >= end else (blank + 1 if blank > start else low)
        units.append((cut, token_count(text[start:cut])))
        start = cut
    return units


def _passage(paper: Paper, n: int, start: int, end: int) -> Passage:
    return Passage(f"{paper.paper_id}/{n}", paper.paper_id, paper.abstract[start:end], start, end)
