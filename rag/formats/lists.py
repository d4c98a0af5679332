"""Plain-text lists: a heading, then abstracts with blank lines between them, no titles."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rag.formats import clean
from rag.formats.source import Source, Unusable
from rag.labels import label
from rag.types import BadRecord, Paper

HEADING_LENGTH = 120  # a one-line block below this, without a full stop, is a heading and no abstract

_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n)+")
_HAS_LETTERS = re.compile(r"[^\W\d_]")


def read(source: Source) -> Iterator[Paper | BadRecord]:
    """The papers of a list. ``n`` counts abstracts from 1; rules of dashes and stars are no records."""
    blocks = _blocks(source.text())
    if blocks and _is_heading(blocks[0]):
        del blocks[0]
    if not blocks:
        raise Unusable("no abstracts found; a list is a heading, then abstracts with blank lines between them")
    for n, block in enumerate(blocks, 1):
        folded = clean.abstract(block)
        if not folded.text or _is_heading(block):
            yield BadRecord(source.place(n), "no abstract, only a short line")
            continue
        source.tally.update(folded.changes)
        yield Paper(source.place(n), folded.text, source=source.place(n), label=label("", folded.text))


def _blocks(text: str) -> list[str]:
    text = re.sub("[\x0b\x0c\u2028\u2029]", "\n", text)
    return [block for part in _BLANK_LINES.split(text) if _HAS_LETTERS.search(block := part.strip())]


def _is_heading(block: str) -> bool:
    return "\n" not in block and len(block) < HEADING_LENGTH and not block.endswith((".", "。"))
