"""The folder of a run: what was asked, with what, and what came back.

items.jsonl      the items of the run, so that it can be scored anywhere
run.json         all that is needed to repeat it
records.jsonl    one line an item, in the order in which they finished
papers.jsonl     the stored abstracts of the cited papers, against which quotes are checked
judgements.jsonl verdicts of a language model, where one was asked
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eval.items import Item, load_items
from rag.errors import CorpusError

ITEMS, RUN, RECORDS, PAPERS = "items.jsonl", "run.json", "records.jsonl", "papers.jsonl"
JUDGEMENTS = "judgements.jsonl"
RECORD_NAMES, PAPER_NAMES = ("id", "error", "answer", "ranked"), ("paper_id", "abstract")

Record = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """A finished or interrupted run, as read from its folder."""

    folder: Path
    about: Mapping[str, Any]
    """``run.json``; empty when there is none."""
    items: tuple[Item, ...]
    records: Mapping[str, Record]
    """By item id."""
    abstracts: Mapping[str, str] | None
    """Stored abstracts of cited papers by id; None when the run kept none."""
    judgements: Mapping[str, Record] = field(default_factory=dict)
    """Verdicts of a judge by item id; empty when none was asked."""

    @property
    def missing(self) -> list[str]:
        """Items without a record: the run was interrupted."""
        return [item.id for item in self.items if item.id not in self.records]


def read_run(folder: Path, items: Path | None = None) -> Run:
    """Read a run's folder; ``items`` replaces the copy of the items in it.

    Raises CorpusError when records are missing or damaged.
    """
    if not (folder / RECORDS).is_file():
        raise CorpusError(f"{folder} has no {RECORDS}: make it with `quoth eval run ITEMS --out {folder}`")
    source = items or folder / ITEMS
    if not source.is_file():
        raise CorpusError(f"{source} is missing: give the item file with --items")
    records = {r["id"]: r for r in read_lines(folder / RECORDS, *RECORD_NAMES)}
    wanted = tuple(load_items(source))
    if not any(item.id in records for item in wanted):
        raise CorpusError(f"no record of {folder} belongs to an item of {source}: give the item file of this run")
    kept = folder / PAPERS
    abstracts = {p["paper_id"]: p["abstract"] for p in read_lines(kept, *PAPER_NAMES)} if kept.is_file() else None
    verdicts = folder / JUDGEMENTS
    judgements = {j["id"]: j for j in read_lines(verdicts, "id")} if verdicts.is_file() else {}
    return Run(folder, read_about(folder), wanted, records, abstracts, judgements)


def read_about(folder: Path) -> dict[str, Any]:
    """``run.json``, empty when there is none."""
    path = folder / RUN
    if not path.is_file():
        return {}
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        about = None
    except OSError as e:
        raise CorpusError(f"{path} cannot be read: {e.strerror}") from None
    if not isinstance(about, dict):
        raise CorpusError(f"{path} is damaged: run again into another folder")
    return about


def read_lines(path: Path, *names: str) -> list[dict[str, Any]]:
    """The JSON objects of a file that was appended to. A torn last line, left by a killed process, is dropped.

    Raises CorpusError for damage anywhere else, and for a line that is no object or lacks one of ``names``; the first
    of them is a text.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as e:
        raise CorpusError(f"{path} cannot be read: {e.strerror}") from None
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except ValueError:
            if number == len(lines):
                break
            raise CorpusError(f"{path} is damaged, line {number}: run again into another folder") from None
        if (
            not isinstance(value, dict)
            or not value.keys() >= set(names)
            or not all(isinstance(value[name], str) for name in names[:1])
        ):
            raise CorpusError(f"{path} is damaged, line {number}: run again into another folder")
        found.append(value)
    return found


@contextmanager
def writable(path: Path) -> Iterator[None]:
    """A failure to write to ``path`` is a CorpusError that names it."""
    try:
        yield
    except OSError as e:
        raise CorpusError(f"{path} cannot be written ({e.strerror}): give another place with --out") from None


def line(value: Mapping[str, Any]) -> str:
    """A value as one line of JSON."""
    return json.dumps(value, ensure_ascii=False) + "\n"


def write_lines(path: Path, values: Iterable[Mapping[str, Any]]) -> None:
    """Replace a file of JSON lines at once."""
    write(path, "".join(line(v) for v in values))


def write(path: Path, text: str) -> None:
    """Replace a file at once: a reader, or a crash, sees the old content or the new, never a part."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    # A lone surrogate, which UTF-8 has no bytes for, becomes its JSON escape.
    draft.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
    draft.replace(path)
