"""The Markdown blocks of an answer as HTML: paragraphs, lists, headings, tables and code.

The inside of every block goes through ``ui.markup``; no HTML of the source survives.
"""

from __future__ import annotations

import re

from ui.markup import Marker, escape, inline

_BULLET = re.compile(r"\s{0,6}[-*+•]\s+(?=\S)")
_NUMBERED = re.compile(r"\s{0,6}(\d{1,3})[.)]\s+(?=\S)")
_HEADING = re.compile(r"#{1,6}\s+(?=\S)")
_RULE = re.compile(r"\s*\|?[\s:|-]*-[\s:|-]*\|?\s*$")
_CELL_BORDER = re.compile(r"(?<!\\)\|")


def blocks(text: str, marker: Marker | None = None) -> str:
    """``text`` as HTML blocks. ``marker`` gives the HTML of ``[n]``."""
    html: list[str] = []
    lines = text.replace("\r\n", "\n").split("\n")
    at = 0
    while at < len(lines):
        kind = _kind(lines, at)
        end = at + 1
        if kind == "code":
            while end < len(lines) and not lines[end].lstrip().startswith("```"):
                end += 1
            html.append(f"<pre><code>{escape(chr(10).join(lines[at + 1 : end]))}</code></pre>")
            end += 1
        else:
            while end < len(lines) and _goes_on(kind, lines, end):
                end += 1
            html.append(_block(kind, lines[at:end], marker))
        at = end
    return "".join(html)


def _kind(lines: list[str], at: int) -> str:
    line = lines[at]
    if not line.strip():
        return "blank"
    if line.lstrip().startswith("```"):
        return "code"
    if _HEADING.match(line):
        return "heading"
    if _BULLET.match(line):
        return "ul"
    if _NUMBERED.match(line):
        return "ol"
    if "|" in line and at + 1 < len(lines) and "|" in lines[at + 1] and _RULE.match(lines[at + 1]):
        return "table"
    return "p"


def _goes_on(kind: str, lines: list[str], at: int) -> bool:
    """Does the block of this kind contain the line too?"""
    if kind == "heading":
        return False
    if kind == "table":
        return "|" in lines[at]
    here = _kind(lines, at)
    return here == kind or (kind in ("ul", "ol") and here == "p" and lines[at].startswith(" "))


def _block(kind: str, lines: list[str], marker: Marker | None) -> str:
    if kind == "blank":
        return ""
    if kind == "heading":
        return f"<h4>{inline(_HEADING.sub('', lines[0]), marker=marker)}</h4>"
    if kind == "table":
        head, _, *rows = lines
        return (
            f"<div class='wide'><table><thead>{_row(head, 'th', marker)}</thead>"
            f"<tbody>{''.join(_row(row, 'td', marker) for row in rows)}</tbody></table></div>"
        )
    if kind in ("ul", "ol"):
        start = _NUMBERED.match(lines[0])
        opened = f"<ol start='{int(start[1])}'>" if kind == "ol" and start else "<ul>"
        items: list[str] = []
        for line in lines:
            found = (_NUMBERED if kind == "ol" else _BULLET).match(line)
            if found or not items:
                items.append(line[found.end() if found else 0 :])
            else:
                items[-1] += " " + line.strip()
        return f"{opened}{''.join(f'<li>{inline(item, marker=marker)}</li>' for item in items)}</{kind}>"
    return f"<p>{'<br>'.join(inline(line.strip(), marker=marker) for line in lines)}</p>"


def _row(line: str, tag: str, marker: Marker | None) -> str:
    line = line.strip().removeprefix("|").removesuffix("|")
    cells = (inline(cell.strip(), marker=marker) for cell in _CELL_BORDER.split(line))
    return "<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in cells) + "</tr>"
