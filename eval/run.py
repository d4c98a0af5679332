"""Ask a library every question of an item file and keep what comes back. Resumes where it was interrupted."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval.about import describe, differences
from eval.items import Item
from eval.records import (
    ITEMS,
    PAPER_NAMES,
    PAPERS,
    RECORD_NAMES,
    RECORDS,
    RUN,
    Record,
    line,
    read_about,
    read_lines,
    writable,
    write,
    write_lines,
)
from rag.errors import CorpusError, QuothError
from rag.types import Answer

if TYPE_CHECKING:
    from rag.pipeline import Quoth

DEPTH = 50
"""How many ranked papers a record holds."""

log = logging.getLogger(__name__)


def run(
    quoth: Quoth,
    items: Sequence[Item],
    out: Path,
    search_only: bool = False,
    limit: int | None = None,
    workers: int = 1,
    progress: Callable[[int, int], None] | None = None,
    source: str = "",
) -> None:
    """Write ``out``'s records, one line an item as it finishes; ``progress(done, total)`` is called after each.

    Items that are already recorded without an error are not asked again. A failing item is recorded with its error.
    ``search_only`` retrieves and writes no answers; ``workers`` threads ask at once, which pays for LLM endpoints;
    ``source`` is the name of the item file, kept for the reader.

    Raises CorpusError when the folder holds a run with other items or settings.
    """
    items = items[:limit]
    with writable(out), _only_writer(out):
        about = describe(quoth, items, search_only, workers, source)
        done = _resume(out, about)
        if not done:
            write_lines(out / ITEMS, (item.as_dict() for item in items))
            write(out / RUN, json.dumps(about, ensure_ascii=False, indent=2) + "\n")
        todo = [item for item in items if item.id not in done]
        shelf = _Shelf(quoth, out / PAPERS, items)
        finished = len(items) - len(todo)
        if progress:
            progress(finished, len(items))
        with (out / RECORDS).open("a", encoding="utf-8", errors="backslashreplace", newline="\n") as records:
            for record in _each(lambda item: _record(quoth, shelf, item, search_only), todo, workers):
                records.write(line(record))
                records.flush()
                finished += 1
                if progress:
                    progress(finished, len(items))


def _record(quoth: Quoth, shelf: _Shelf, item: Item, search_only: bool) -> Record:
    names = shelf.names(item)
    record: Record = {
        "id": item.id,
        "type": item.type,
        "question": item.question,
        "answerable": item.answerable,
        "papers": list(dict.fromkeys(names.get(shelf.stored(p), p) for p in item.papers)),
        "answer": None,
        "ranked": [],
        "seconds": None,
        "error": None,
    }
    started = time.perf_counter()
    try:
        found = quoth.find(item.question, item.history, depth=DEPTH)
        answer = None if search_only else _last(quoth.stream_from(found))
        seconds = time.perf_counter() - started
        if answer is not None:
            shelf.keep(answer, names)
            record["answer"] = _renamed(answer, names)
        record["ranked"] = [names.get(paper, paper) for paper in found.ranked[:DEPTH]]
        record["seconds"] = round(seconds, 4)
    except QuothError as e:
        record["error"] = str(e)
    except Exception as e:  # one broken item must not end a long run
        record["error"] = f"{type(e).__name__}: {e}"
    if record["error"]:
        log.info("item %s failed", item.id, exc_info=True)
    return record


def _last(pieces: Iterator[str | Answer]) -> Answer:
    last = None
    for piece in pieces:
        last = piece
    if not isinstance(last, Answer):
        raise TypeError("the answerer ended without an answer")
    return last


def _renamed(answer: Answer, names: Mapping[str, str]) -> dict[str, Any]:
    """The answer as JSON, its papers under the ids that the item uses."""
    shown = answer.as_dict()
    for part in (*shown["citations"], *shown["evidence"], *shown["nearest"]):
        stored = part["paper_id"]
        part["paper_id"] = names.get(stored, stored)
        if "aliases" in part:
            part["aliases"] = [i for i in (stored, *part["aliases"]) if i != part["paper_id"]]
    return shown


class _Shelf:
    """The library's papers as a run needs them: which id means which paper, and the abstracts of the cited ones."""

    def __init__(self, quoth: Quoth, path: Path, items: Sequence[Item]) -> None:
        self._quoth, self._path, self._lock = quoth, path, threading.Lock()
        papers = quoth.papers()
        self._stored = {alias: p.paper_id for p in papers for alias in p.aliases} | {
            p.paper_id: p.paper_id for p in papers
        }
        kept = read_lines(path, *PAPER_NAMES) if path.is_file() else []
        write_lines(path, kept)  # a torn last line goes
        self._kept = {p["paper_id"] for p in kept}
        unknown = {p for item in items for p in item.papers if p not in self._stored}
        if unknown:
            log.warning(
                "%d papers that items name are not in this library and count as not found, for instance %s",
                len(unknown),
                min(unknown),
            )

    def stored(self, name: str) -> str:
        """The id under which a paper is stored; an unknown name is its own."""
        return self._stored.get(name, name)

    def names(self, item: Item) -> dict[str, str]:
        """Stored id → the id that the item uses for the paper. Of two ids that mean one paper the first counts."""
        used = dict.fromkeys((*item.papers, *item.grades, *(g.paper for g in item.evidence)))
        return {self.stored(name): name for name in reversed(used)}

    def keep(self, answer: Answer, names: Mapping[str, str]) -> None:
        """Write down the abstracts of cited papers as the library has them, before the record that cites them."""
        for stored in (c.paper.paper_id for c in answer.citations):
            shown = names.get(stored, stored)
            with self._lock:
                if shown in self._kept:
                    continue
                try:
                    abstract = self._quoth.paper(stored).abstract
                except CorpusError:
                    continue  # a citation of a paper that is not there will count as invalid
                with self._path.open("a", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
                    file.write(line({"paper_id": shown, "abstract": abstract}))
                self._kept.add(shown)


def _each(job: Callable[[Item], Record], items: Sequence[Item], workers: int) -> Iterator[Record]:
    """Records as they finish. An interruption ends at once: what is under way is not waited for."""
    if workers <= 1:
        yield from map(job, items)
        return
    pool = ThreadPoolExecutor(workers)
    try:
        waiting = iter(items)
        under_way = {pool.submit(job, item) for item in islice(waiting, workers)}
        while under_way:
            finished, under_way = wait(under_way, return_when=FIRST_COMPLETED)
            under_way |= {pool.submit(job, item) for item in islice(waiting, len(finished))}
            yield from (future.result() for future in finished)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _resume(out: Path, about: Mapping[str, Any]) -> set[str]:
    """Ids of the items that need not be asked again; what else the records hold is taken out.

    Raises CorpusError when the folder's run had other items or settings.
    """
    if not (out / RECORDS).is_file():
        return set()
    before = read_about(out)
    if not before:
        raise CorpusError(f"{out} has records but no {RUN}: give another folder with --out")
    differs = differences(before, about)
    if differs:
        listed = "; ".join(differs[:4]) + (f" and {len(differs) - 4} more" if len(differs) > 4 else "")
        raise CorpusError(f"{out} holds a run with other settings ({listed}): give another folder with --out")
    good = {r["id"]: r for r in read_lines(out / RECORDS, *RECORD_NAMES) if not r["error"]}
    write_lines(out / RECORDS, good.values())
    return set(good)


@contextmanager
def _only_writer(out: Path) -> Iterator[None]:
    """Two runs into one folder would mix their records."""
    from filelock import FileLock, Timeout

    try:
        out.mkdir(parents=True, exist_ok=True)
        with FileLock(out / ".lock", timeout=0):
            yield
    except Timeout:
        raise CorpusError(f"another run is writing to {out}: wait for it, or give another folder with --out") from None
