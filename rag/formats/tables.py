"""Tables as text: values parted by commas, tabs, semicolons or bars, the first row naming the columns."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator

from rag.formats import fields
from rag.formats.source import Source, Unusable
from rag.types import BadRecord, Paper

DELIMITERS = (",", "\t", ";", "|")
FIELD_LIMIT = 1 << 24  # characters of a cell; the csv module stops at 131,072 by itself
SAMPLE_ROWS = 200

_QUOTED_CELL = re.compile(r'"(?:[^"]|"")*"')


def header(text: str) -> tuple[str, list[str]]:
    """The delimiter under which most cells of the first row are known columns, and those cells."""
    csv.field_size_limit(FIELD_LIMIT)
    first = text.lstrip("\n\r").replace("\r", "\n").split("\n", 1)[0]
    rows = {mark: next(csv.reader([first], delimiter=mark), []) for mark in DELIMITERS}
    mark = max(rows, key=lambda mark: (sum(map(bool, map(fields.known, rows[mark]))), len(rows[mark])))
    return mark, rows[mark]


def is_table(text: str) -> bool:
    """Two known columns, one of them a title or an abstract, are no accident."""
    names = {fields.known(cell) for cell in header(text)[1]} - {""}
    return len(names) > 1 and bool(names & {"title", "abstract"})


def read(source: Source) -> Iterator[Paper | BadRecord]:
    """The papers of a table; ``n`` counts the rows below the header. A row of another width is no paper."""
    mark, columns = header(source.head)
    if not {"abstract", "text"} & {fields.known(column) for column in columns}:
        shown = ", ".join(columns[:12])
        raise Unusable(f"no column named abstract; the columns are: {shown[:200]}")
    # A note in a table is the reader's or the database's remark, not something that must stand on every card.
    columns = ["" if fields.known(column) == "note" else column for column in columns]
    n, seen_header = 0, False
    for number, cells in _rows(source, mark):
        if isinstance(cells, str):
            n += 1
            yield source.bad_line(number, f"row {n}: {cells}")
        elif not any(cell.strip() for cell in cells):
            continue
        elif not seen_header:
            seen_header = True
        else:
            n += 1
            if len(cells) < len(columns) or any(cell.strip() for cell in cells[len(columns) :]):
                yield source.bad_line(number, f"row {n} has {len(cells)} fields, the header has {len(columns)}")
            else:
                paper = fields.build(zip(columns, cells, strict=False), source, n)
                yield paper or fields.no_abstract(f"{source.name}:{number}")


def _rows(source: Source, mark: str) -> Iterator[tuple[int, list[str] | str]]:
    """Every row with the line on which it starts; a text in place of cells says why there are none."""
    if mark == "\t" and not _quoted(source.head):
        rows = csv.reader(source.lines(), delimiter=mark, quoting=csv.QUOTE_NONE)
    else:
        rows = csv.reader(source.lines(), delimiter=mark, strict=True)
    while True:
        start = rows.line_num + 1
        try:
            cells = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            lost = f" (lines {start} to {rows.line_num} are left out)" if rows.line_num > start else ""
            yield start, f"{_why(error)}{lost}"
        else:
            yield start, cells


def _quoted(text: str) -> bool:
    """Whether quotes enclose the cells of a tab-separated text: else they are ordinary characters.

    The reading under which more rows have the width of the header is right; if both fit, quotes that do not enclose a
    whole cell are ordinary.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")[:SAMPLE_ROWS]
    plain = [line.split("\t") for line in lines if line.strip()]
    width = len(plain[0])
    try:
        quoted = list(csv.reader(io.StringIO("\n".join(lines), newline=""), delimiter="\t"))
    except csv.Error:
        return False
    fits, fits_quoted = (sum(len(row) == width for row in rows) for rows in (plain, quoted))
    if fits != fits_quoted:
        return fits_quoted > fits
    return all(_QUOTED_CELL.fullmatch(cell) for row in plain for cell in row if cell.startswith('"'))


def _why(error: csv.Error) -> str:
    text = str(error)
    if "unexpected end of data" in text:
        return "a quote is opened and never closed"
    if "expected after" in text:
        return "text after a closing quote"
    if "field larger than" in text:
        return f"a cell has more than {FIELD_LIMIT:,} characters"
    return text
