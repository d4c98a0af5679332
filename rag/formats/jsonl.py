"""JSON: one object a line, an array of objects, or an object that holds either."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from rag.formats import fields
from rag.formats.source import Source, Unusable
from rag.types import BadRecord, Paper

WRAPPERS = ("papers", "records", "items", "results", "data", "articles", "notes", "entries", "works", "documents")


def read_lines(source: Source) -> Iterator[Paper | BadRecord]:
    """The papers of a file with one JSON object a line; ``n`` counts the lines that are not blank."""
    n = 0
    for number, line in enumerate(source.lines(), 1):
        if not line.strip():
            continue
        n += 1
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            yield source.bad_line(number, f"not valid JSON: {_why(error)}")
            continue
        if not isinstance(record, dict):
            yield source.bad_line(number, "not a JSON object")
            continue
        yield fields.build(record.items(), source, n) or fields.no_abstract(f"{source.name}:{number}")


def read_whole(source: Source) -> Iterator[Paper | BadRecord]:
    """The papers of a file that is one JSON value, which is loaded whole; ``n`` counts its records."""
    try:
        value = json.loads(source.text())
    except (ValueError, RecursionError) as error:
        raise Unusable(f"not valid JSON: {_why(error)}") from None
    for n, record in enumerate(_records(value), 1):
        if not isinstance(record, dict):
            yield BadRecord(source.place(n), "not a JSON object")
            continue
        yield fields.build(record.items(), source, n) or fields.no_abstract(source.place(n))


def _records(value: Any) -> list[Any]:
    """The records of an array, of an object that wraps one, of an object of objects by id, or the one object."""
    if isinstance(value, list):
        return value
    if not isinstance(value, dict):
        raise Unusable("JSON without records: an array of objects is expected")
    if any(fields.known(key) == "abstract" for key in value):
        return [value]
    for key in WRAPPERS:
        if isinstance(value.get(key), list):
            return list(value[key])
    if value and all(isinstance(record, dict) for record in value.values()):
        return [record if _has_id(record) else {"id": key, **record} for key, record in value.items()]
    return [value]


def _has_id(record: dict[str, Any]) -> bool:
    return any(fields.known(key) == "id" for key in record)


def _why(error: Exception) -> str:
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)
