"""The reply of a language model made ready for checking: what is no statement goes, what is one stands on its line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

_THINKING = re.compile(r"<(think(?:ing)?)>.*?(?:</\1>|\Z)", re.DOTALL)
_THOUGHT = re.compile(r"\A.*</think(?:ing)?>", re.DOTALL)  # some servers leave out the opening tag
_FENCE = re.compile(r"^[ \t]*(?:```|~~~).*$", re.MULTILINE)
_RAISED = re.compile(r"<sup>\s*\[?([\d,;\s-]+)\]?\s*</sup>", re.IGNORECASE)
_SCRIPT = re.compile(r"<(script|style)\b.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(
    r"</?(?:a|b|br|code|div|em|i|img|li|mark|ol|p|pre|q|script|span|strong|style|sub|sup|u|ul)(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
_LINK = re.compile(r"\[([^\[\]\n]*[^\W\d][^\[\]\n]*)\]\([^()\s]*\)")
_AUTHOR_YEAR = re.compile(r"\s?\((?:[^\W\d_][^()\d]{1,60}?,?\s(?:19|20)\d\d[a-z]?(?:;\s*)?)+\)")
_SOURCES = re.compile(
    r"^\W*(?:sources?|references?|citations?|bibliography|参考文献|来源)\W*(?:\[\d+\]\W*)*$", re.IGNORECASE
)
_ITEM = re.compile(r"^(\s*(?:[-*•+]|(?:\d{1,2}|[a-h])[.)]|\((?:\d{1,2}|[a-h]|[ivx]{1,4})\))\s+)(?=\S)")
_HEADING = re.compile(r"^\s*(?:#{1,6}\s+.*|\*\*[^*]*[^*.!?。]\*\*:?)\s*$")
_ROW = re.compile(r"^\s*\|(.*)\|\s*((?:\[\d+\]\s*)*)$")
_RULE = re.compile(r"^\s*\|[\s:|-]*-[\s:|-]*\|\s*$")


@dataclass(frozen=True)
class Line:
    """A line of a reply; ``prefix`` is its bullet or number."""

    kind: Literal["blank", "heading", "text"]
    body: str = ""
    prefix: str = ""


def clean(text: str, known: str) -> str:
    """The reply without thoughts, code fences, HTML, links and author-year references.

    HTML, links and references that stand in ``known`` (the evidence) are quoted and stay.
    """
    text = _THOUGHT.sub("", _THINKING.sub("", text))
    text = _RAISED.sub(r"[\1]", _FENCE.sub("", text).replace("\ufffd", ""))

    def unless_known(replacement: str) -> Callable[[re.Match[str]], str]:
        return lambda m: m[0] if m[0].strip() in known else m.expand(replacement)

    for pattern, replacement in ((_SCRIPT, ""), (_TAG, ""), (_LINK, r"\1"), (_AUTHOR_YEAR, "")):
        text = pattern.sub(unless_known(replacement), text)
    return text.strip()


def lines(text: str) -> Iterator[Line]:
    """The lines of a reply. Rows of a table become items, its head goes; a list of sources ends the reply."""
    rows = text.splitlines()
    for n, line in enumerate(rows):
        row, item = _ROW.match(line), _ITEM.match(line)
        if _SOURCES.match(line):
            return
        if _RULE.match(line) or (n + 1 < len(rows) and row and _RULE.match(rows[n + 1])):
            continue
        if row:
            head, *cells = (cell.strip() for cell in row[1].split("|"))
            told = "; ".join(cell for cell in cells if cell)
            yield Line("text", f"{head}: {told} {row[2]}" if head and told else head or told, "- ")
        elif _HEADING.match(line):
            yield Line("heading", line.strip())
        elif item:
            yield Line("text", line[item.end() :], item[1])
        else:
            yield Line("text" if line.strip() else "blank", line.strip())
