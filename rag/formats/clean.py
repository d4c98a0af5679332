"""The stored form of an abstract: the record's own text, with the accidents of files and exports folded away.

LaTeX, Markdown and runs of blanks stay: they are the author's. What goes beyond white space (an "Abstract" prefix, a
copyright tail, hyphens at line ends, control characters) is named in ``Folded.changes``, so that it can be reported.
"""

from __future__ import annotations

import html
import re
import unicodedata
from dataclasses import dataclass

PREFIX = "“Abstract” prefixes removed"
COPYRIGHT = "copyright tails removed"
HYPHENS = "abstracts with end-of-line hyphens joined"
CONTROLS = "abstracts with control characters or broken Unicode mended"
WRAP_WIDTH = (40, 130)  # characters that the longest line of a hard-wrapped text has


@dataclass(frozen=True)
class Folded:
    """A text as it is stored, and what was removed or mended on the way."""

    text: str
    changes: tuple[str, ...] = ()


# Bytes 80-9F that were taken for Latin-1 are windows-1252 in practice (“’” as U+0092), as HTML reads them too.
_C1 = {code: bytes([code]).decode("cp1252", "ignore") for code in range(0x80, 0xA0)}
_C0 = {code: "" for code in (*range(0x20), 0x7F) if chr(code) not in "\t\n"}
_MENDED = {**_C0, **_C1, 0x0B: "\n", 0x0C: "\n", 0x2028: "\n", 0x2029: "\n\n"}
_ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")

_INLINE = "i|b|u|em|strong|sub|sup|span|a|font|small|tt|sc|italic|bold|underline|inf|scp|jats:[a-z-]+|mml:[a-z]+"
_BLOCK = "p|div|ul|ol|li|h[1-6]|sec|jats:p|jats:sec|jats:title|jats:list|jats:list-item|jats:disp-formula"
_TAG = re.compile(rf"<(/?)({_BLOCK}|{_INLINE}|br|hr)((?:\s+[\w:-]+\s*=\s*(?:\"[^\"]*\"|'[^']*'))*)\s*(/?)>", re.I)
_IS_BLOCK = re.compile(rf"(?:{_BLOCK})\Z", re.I)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")

_LABELS = (
    "abstract|aims?(?: and objectives?)?|backgrounds?|introduction|objectives?|purpose|context|rationale|motivation|"
    "hypothesis|design|study design|setting|participants?|patients|subjects|interventions?|measurements?|"
    "(?:materials?|patients|subjects) and methods|methods?|methodology|methods and (?:results|findings)|approach|"
    "(?:main )?outcomes?(?: measures?)?|(?:main |principal )?(?:results|findings)|discussion|interpretation|"
    "conclusions?|limitations?|significance|importance|relevance|implications|data sources?|study selection|"
    "data (?:extraction|synthesis)|trial registration|funding|availability(?: and implementation)?|"
    "contact|supplementary information"
)
_KNOWN_LABEL = re.compile(rf"(?:{_LABELS})[ ]?[:：]", re.I)
_CAPITAL_LABEL = re.compile(r"[A-Z][A-Z0-9 ,/&()'-]{3,60}:")
_CHINESE_LABEL = re.compile(
    r"[【\[]?(?:背景|目的|方法|结果|结论|讨论|意义)[】\]]?[:：]|【(?:背景|目的|方法|结果|结论|讨论)】"
)
_SENTENCE_END = tuple('.!?:。！？)”"')

_STARTER = r"(?:We|This|These|The|In|Here|Our|Background|Introduction|Objectives?|Purpose|Aims?|Motivation|Recent)\b"
_ABSTRACT_PREFIX = re.compile(
    r"(?:\*\*|__)?(?:Abstract|ABSTRACT)(?:\*\*|__)?"
    rf"(?:\s*(?:[:.]|—|[-–](?=\s))(?:\*\*|__)?\s*|[^\S\n]*\n\s*|[^\S\n]+(?={_STARTER}))"
    r"|(?:摘\s*要\s*[:：]|[【\[]\s*摘\s*要\s*[】\]])\s*"
)
_AT_YEAR = r"\s*(?=(?:19|20)\d\d)"
_TAIL_START = rf"(?:©|Copyright\s*(?:©|\([cC]\))|Copyright{_AT_YEAR}|\([cC]\){_AT_YEAR}|\(PsycINFO Database Record\b)"
_COPYRIGHT_TAIL = re.compile(rf"(?:(?<=[.!?)\]”\"。])\s*|\n\s*){_TAIL_START}[^\n]{{0,250}}\Z")
_ONLY_COPYRIGHT = re.compile(rf"{_TAIL_START}[^\n]{{0,250}}\Z")
_PLACEHOLDER = re.compile(
    r"[\[(]?\s*(?:no abstract(?: available| provided)?|abstract not available|n/?a|nan|null|none|无|暂无摘要|-+)"
    r"[\s.\])]*",
    re.I,
)

_BLANK_LINES = re.compile(r"[^\S\n]*\n[^\S\n]*\n\s*")
_LINE_BREAK = re.compile(r"[^\S\n]*\n[^\S\n]*")
_LINE_END_HYPHEN = re.compile(r"(?:(?<=\s)|\A)(\S*?)(\w+)-[^\S\n]*\n[^\S\n]*([a-z]+)")
# What stands before a hyphen that belongs there: a wrapped line may end at the hyphen of "self-supervised".
_COMPOUNDS = frozenset(
    [
        "self",
        "well",
        "non",
        "high",
        "low",
        "large",
        "small",
        "long",
        "short",
        "few",
        "zero",
        "state",
        "end",
        "fine",
        "cross",
    ]
)


def abstract(text: str, *, markup: bool = False) -> Folded:
    """The text as it is stored. ``markup``: the format may carry entities and tags, which are decoded first."""
    changes: list[str] = []
    if markup:
        text = decode_markup(text)
    if _ODD.search(mended := text.replace("\r\n", "\n").replace("\r", "\n")):
        changes.append(CONTROLS)
    text = unicodedata.normalize("NFC", _safe(mended)).strip()
    if found := _ABSTRACT_PREFIX.match(text):
        text = text[found.end() :]
        changes.append(PREFIX)
    if found := _COPYRIGHT_TAIL.search(text) or _ONLY_COPYRIGHT.match(text):
        text = text[: found.start()]
        changes.append(COPYRIGHT)
    paragraphs = []
    for paragraph in _BLANK_LINES.split(text):
        joined = _join_hyphens(paragraph, text)
        if joined != paragraph:
            changes.append(HYPHENS)
        paragraphs.append(_fold_lines(joined))
    text = "\n\n".join(paragraphs).strip()
    if _PLACEHOLDER.fullmatch(text):
        text = ""
    return Folded(text, tuple(dict.fromkeys(changes)))


def line(text: str, *, markup: bool = False) -> str:
    """A title, name or venue: one line, NFC, every run of white space one blank."""
    if markup:
        text = decode_markup(text)
    return unicodedata.normalize("NFC", " ".join(_safe(text.replace("\r", "\n")).split()))


def decode_markup(text: str) -> str:
    """HTML and JATS tags removed, entities decoded. Only known tags that are closed too are tags: ``x < y`` stays."""
    if "<" in text:
        text = _strip_tags(text)
    if "&" in text:
        text = _ENTITY.sub(lambda found: html.unescape(found[0]), text)
        if "<jats:" in text:
            text = _strip_tags(text)
    return text


def _strip_tags(text: str) -> str:
    tags = [(found[1], found[2].lower()) for found in _TAG.finditer(text)]
    paired = {name for slash, name in tags if not slash} & {name for slash, name in tags if slash}

    def replace(found: re.Match[str]) -> str:
        name = found[2].lower()
        if name in ("br", "hr"):
            return "\n"
        if name not in paired:
            return found[0]
        return "\n\n" if _IS_BLOCK.match(name) else ""

    return _TAG.sub(replace, text)


def _safe(text: str) -> str:
    """Without control characters and lone surrogates, which a store refuses."""
    text = text.removeprefix("\ufeff")
    if not _ODD.search(text):
        return text
    return _SURROGATE.sub("\ufffd", text.translate(_MENDED))


def _fold_lines(paragraph: str) -> str:
    if "\n" not in paragraph:
        return paragraph
    first, *rest = _LINE_BREAK.split(paragraph)
    parts = [first]
    for text in rest:
        parts += ["\n" if _starts_section(text, parts[-1]) else " ", text]
    return "".join(parts)


def _starts_section(text: str, before: str) -> bool:
    if _KNOWN_LABEL.match(text) or _CHINESE_LABEL.match(text):
        return True
    return bool(_CAPITAL_LABEL.match(text)) and before.endswith(_SENTENCE_END)


def _join_hyphens(paragraph: str, whole: str) -> str:
    """Words cut at the line ends of a hard-wrapped paragraph made whole; a compound keeps its hyphen."""
    if "-\n" not in paragraph or not _hard_wrapped(paragraph):
        return paragraph

    def join(found: re.Match[str]) -> str:
        before, left, right = found.groups()
        compound = f"{left}-{right}"
        keeps = "-" in before or left.lower() in _COMPOUNDS or not left.isalpha() or left.isupper() or compound in whole
        return f"{before}{compound if keeps and left + right not in whole else left + right}"

    return _LINE_END_HYPHEN.sub(join, paragraph)


def _hard_wrapped(paragraph: str) -> bool:
    """Whether the lines are about as long as each other and none is longer than a screen is wide."""
    *full, last = [len(text.rstrip()) for text in paragraph.split("\n")]
    longest = max(full, default=0)
    return WRAP_WIDTH[0] <= longest <= WRAP_WIDTH[1] and sum(full) >= len(full) * longest / 2 and last <= longest + 5
