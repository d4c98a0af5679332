"""A line of an abstract, a title or an answer as HTML: LaTeX and Markdown shown as meant, everything else inert.

Text is cut into pieces that remember which characters they stand for, so that a quote can be lit by its offsets
whatever the display makes of the characters. No piece carries HTML of the source: all of it is escaped, and loses its
control characters only then.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape as escape_html
from typing import Literal

from rag.show import clean
from ui.mathml import mathml, table

Marker = Callable[[int], str | None]
"""The HTML for ``[n]``, or None when n is no citation and the brackets are shown as they are."""


@dataclass(frozen=True)
class Piece:
    """Characters ``start:end`` of the source and what is shown for them.

    ``text`` shows the characters themselves, ``atom`` shows ``html`` and cannot be cut, ``tag`` opens or closes an
    element around other pieces.
    """

    start: int
    end: int
    kind: Literal["text", "atom", "tag"]
    html: str = ""


def escape(text: str) -> str:
    """Text that is inert in a page: no HTML, no control and no direction-changing characters."""
    return escape_html(clean(text))


def inline(text: str, marks: Sequence[tuple[int, int]] = (), marker: Marker | None = None) -> str:
    """``text`` as inline HTML, the characters of every ``marks`` span (start, end) inside ``<mark>``.

    A formula that is quoted in part is lit whole. Spans may overlap.
    """
    spans = _merged(marks)
    html: list[str] = []
    lit = False

    def show(shown: str, light: bool) -> None:
        nonlocal lit
        if light != lit:
            html.append("<mark>" if light else "</mark>")
            lit = light
        html.append(shown)

    for piece in pieces(text, marker):
        if piece.kind == "tag":  # <mark> never crosses the border of an element
            if lit:
                html.append("</mark>")
                lit = False
            html.append(piece.html)
        elif piece.kind == "atom":
            show(piece.html, any(start < piece.end and piece.start < end for start, end in spans))
        else:
            for start, end, light in _cut(piece.start, piece.end, spans):
                show(escape(text[start:end]), light)
    if lit:
        html.append("</mark>")
    return "".join(html)


def readable(text: str) -> str:
    """``text`` without markup and control characters, for attributes and window titles (not escaped)."""
    shown = (text[p.start : p.end] if p.kind == "text" else _TAGS.sub("", p.html) for p in pieces(text))
    return re.sub(r"&(amp|lt|gt|#x27|quot);", lambda m: _ENTITIES[m[1]], clean("".join(shown)))


def pieces(text: str, marker: Marker | None = None) -> list[Piece]:
    """The source in display pieces, in order."""
    found: list[Piece] = []
    _parse(text, 0, len(text), found, marker, 0)
    return found


_TAGS = re.compile(r"<[^>]*>")
_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "#x27": "'", "quot": '"'}
_DEEPEST = 20  # nested styles; deeper ones stay as typed
_FARTHEST = 4000  # characters between the braces of one style

# A dollar opens a formula when something follows at once, and closes one when something precedes at once and no digit
# follows: "$25 to $30" are prices.
_SPECIAL = re.compile(
    r"""
    (?P<math>   \$\$(?P<display>[^$]{1,600})\$\$
              | (?<![\\$])\$(?P<dollars>(?=\S)(?:\\.|[^$\\]){1,600}?)(?<=\S)\$(?![\d$])
              | \\\((?P<round>.{1,600}?)\\\) )
  | \\(?P<styled>textbf|textit|emph|textsc|texttt|textsl|underline|textrm|textsf|textnormal|text|mbox|textsuperscript
              |textsubscript|url|footnote)\s*(?P<brace>\{)
  | \{\\(?P<declared>bf|em|it|sc|tt)\s
  | \\(?P<word>[A-Za-z]+)(?P<after>\{\})?
  | \\(?P<accent>["'`^~])\{?(?P<letter>[A-Za-z])\}?
  | \\(?P<escaped>[^A-Za-z\s])
  | (?P<break>\\\s)
  | (?<=\S)(?P<tie>~)(?=\S)
  | (?<!`)`(?P<code>[^`\n]{1,600})`(?!`)
  | \*\*(?P<strong>(?=\S)(?:(?!\*\*).){1,600}?)(?:(?<=[^\s*])\*\*(?!\w)|(?<=[\w%])\*\*)
  | (?<![\w*\\])\*(?P<star>(?=[^\s*])[^*\n]{1,600}?)(?<=\S)\*(?![\w*])
  | (?<![\w\\])_(?P<low>(?=[^\s_])[^_\n]{1,600}?)(?<=\S)_(?!\w)
  | \[(?P<number>\d{1,3})\]
    """,
    re.VERBOSE | re.DOTALL,
)
_ELEMENTS = table(
    """textbf b bf b textit i textsl i it i emph em em em underline u texttt code tt code url code
    textsuperscript sup textsubscript sub"""
)
_SYMBOLS = table(
    """times × pm ± textpm ± textemdash — textendash – ldots … dots … sim ∼ approx ≈ leq ≤ geq ≥ textdegree °
    textquotedblleft “ textquotedblright ” ie i.e. eg e.g. etc etc. LaTeX LaTeX alpha α beta β delta δ Delta Δ epsilon ϵ
    lambda λ mu μ pi π sigma σ tau τ o ø"""
)
_ACCENTS = {'"': "\u0308", "'": "\u0301", "`": "\u0300", "^": "\u0302", "~": "\u0303"}
_ESCAPED = {"\\": "<br>", ",": "\u2009", ";": " ", ":": " ", "!": "", "-": ""}
_TEXT_ONLY = re.compile(r"\s*\\(?:textbf|textit|emph|textsc|texttt|text|textrm|textnormal)\s*\{")
# Two words in a row, or an amount with a word after a comma or bracket, stand between prices, not in a formula.
_PROSE = re.compile(r"[A-Za-z]{2,}\s+[A-Za-z]{2,}|^\d[^A-Za-z]*[,(].*[A-Za-z]{2,}")


def _parse(text: str, at: int, end: int, out: list[Piece], marker: Marker | None, depth: int) -> None:
    while at < end:
        match = _SPECIAL.search(text, at, end) if depth < _DEEPEST else None
        if match is None:
            break
        if match.start() > at:
            out.append(Piece(at, match.start(), "text"))
        at = _special(text, match, end, out, marker, depth)
    if at < end:
        out.append(Piece(at, end, "text"))


def _special(text: str, m: re.Match[str], end: int, out: list[Piece], marker: Marker | None, depth: int) -> int:
    """Emit what the match stands for and return where to go on."""
    start, stop = m.span()

    def wrapped(tag: str, inner: tuple[int, int], after: int) -> int:
        opened, closed = (tag, tag) if tag != "sc" else ("span class='sc'", "span")
        out.append(Piece(start, inner[0], "tag", f"<{opened}>"))
        _parse(text, *inner, out, marker, depth + 1)
        out.append(Piece(inner[1], after, "tag", f"</{closed}>"))
        return after

    def atom(html: str) -> int:
        out.append(Piece(start, stop, "atom", html))
        return stop

    match m.lastgroup if m.lastgroup not in ("display", "dollars", "round") else "math":
        case "math":
            return _formula(text, m, out, marker, depth)
        case "brace":
            close = _closing(text, stop - 1, end)
            if close is None:
                return atom("")
            name = m["styled"]
            return wrapped("sc" if name == "textsc" else _ELEMENTS.get(name, "span"), (stop, close), close + 1)
        case "declared":
            close = _closing(text, start, end)
            if close is None:
                return atom("")
            name = m["declared"]
            return wrapped("sc" if name == "sc" else _ELEMENTS[name], (stop, close), close + 1)
        case "word" | "after":
            return atom(escape(_SYMBOLS.get(m["word"], text[start:stop])))
        case "letter":
            return atom(unicodedata.normalize("NFC", m["letter"] + _ACCENTS[m["accent"]]))
        case "escaped":
            return atom(_ESCAPED.get(m["escaped"], escape(m["escaped"])))
        case "break":
            return atom(" ")
        case "tie":
            return atom("\u00a0")
        case "code":
            return atom(f"<code>{escape(m['code'])}</code>")
        case "strong":
            return wrapped("strong", m.span("strong"), stop)
        case "star":
            return wrapped("em", m.span("star"), stop)
        case "low":
            return wrapped("em", m.span("low"), stop)
        case _:
            shown = marker(int(m["number"])) if marker else None
            return atom(shown if shown is not None else escape(m[0]))


def _formula(text: str, m: re.Match[str], out: list[Piece], marker: Marker | None, depth: int) -> int:
    group = next(g for g in ("display", "dollars", "round") if m[g] is not None)
    inner, (start, stop) = m[group], m.span(group)
    only_text = _TEXT_ONLY.match(inner)
    if only_text and _closing(text, start + only_text.end() - 1, stop) is not None:
        # Authors bold whole phrases inside dollars; as a formula these could not wrap.
        out.append(Piece(m.start(), start, "tag"))
        _parse(text, start, stop, out, marker, depth + 1)
        out.append(Piece(stop, m.end(), "tag"))
        return m.end()
    prose = re.sub(r"\\[A-Za-z]+\s*(\{[^{}]*\})?", " ", inner)
    if group == "dollars" and _PROSE.search(prose):
        out.append(Piece(m.start(), m.start() + 1, "text"))
        return m.start() + 1
    try:
        html = mathml(inner)
    except ValueError:
        html = f"<code>{escape(inner)}</code>"
    out.append(Piece(m.start(), m.end(), "atom", html))
    return m.end()


def _closing(text: str, brace: int, end: int) -> int | None:
    """Index of the brace that closes the one at ``brace``, if it is near."""
    depth = 0
    for i in range(brace, min(end, brace + _FARTHEST)):
        if text[i] in "{}" and (i == brace or text[i - 1] != "\\"):
            depth += 1 if text[i] == "{" else -1
            if depth == 0:
                return i
    return None


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(s for s in spans if s[0] < s[1]):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def _cut(start: int, end: int, spans: Sequence[tuple[int, int]]) -> Iterable[tuple[int, int, bool]]:
    """The stretch cut at the borders of the (merged) spans, each part with whether it is lit."""
    at = start
    for left, right in spans:
        if right <= at or left >= end:
            continue
        if left > at:
            yield at, left, False
        yield max(left, at), min(right, end), True
        at = min(right, end)
    if at < end:
        yield at, end, False
