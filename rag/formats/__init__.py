"""Files to papers: finds the files, recognises each one's format by its content, and hands it to that format's reader.

A new format is a module with a ``read(source)``, an entry in ``READERS`` and its recognition in ``sniff``.
"""

from __future__ import annotations

import errno
import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from rag.errors import CorpusError
from rag.formats import jsonl, lists, tables
from rag.formats.source import Source, Unusable
from rag.types import BadRecord, Paper

__all__ = ["read", "sniff"]

log = logging.getLogger(__name__)

Reader = Callable[[Source], Iterator[Paper | BadRecord]]

READERS: dict[str, Reader] = {
    "jsonl": jsonl.read_lines,
    "json": jsonl.read_whole,
    "table": tables.read,
    "list": lists.read,
}
TABLE_SUFFIXES = {".csv", ".tsv", ".tab"}
LINE_SUFFIXES = {".jsonl", ".ndjson"}
READ_SUFFIXES = {".txt", ".text", ".json", *LINE_SUFFIXES, *TABLE_SUFFIXES}
# Lists of papers that are not read: in a folder they are named, other files are passed over.
FOREIGN_SUFFIXES = set(".bib .ris .nbib .enw .ciw .xml .xlsx .xls .ods .parquet .gz .zip .pdf".split())
FOREIGN = {
    "BibTeX": re.compile(r"\s*@\w+\s*[{(]"),
    "RIS": re.compile(r"\s*TY  - "),
    "MEDLINE": re.compile(r"\s*PMID- ?\d"),
    "Web of Science": re.compile(r"\s*FN (?:Clarivate|Thomson|ISI)"),
    "XML or HTML": re.compile(r"\s*<(?:\?xml|!DOCTYPE|[a-zA-Z][\w:-]*[\s>])"),
}
REMEDY = "export it as CSV, JSON lines or a plain-text list"
_NOT_PAPERS = re.compile(r"(?:readme|license|licence|copying|changelog|notice|requirements|robots)\b", re.I)
_ARRAY = re.compile(r"\s*\[\s*[{\]]")


def read(
    paths: Iterable[Path], notice: Callable[[str], None] = log.warning, *, title_only: bool = False
) -> Iterator[Paper | BadRecord]:
    """The papers of files and folders, file by file, and the records that could not be used.

    ``title_only`` keeps records with a title but no abstract: they can be found and listed, never quoted.
    ``notice`` is told, a sentence each, what was mended while a file was read. Raises CorpusError, before anything is
    read, for a path that does not exist or a folder without a list of papers, and for a file that is unusable as a
    whole when it is the only one; else such a file is one BadRecord and the others are read.
    """
    files = _files([Path(path) for path in paths])
    return _read(files, notice, title_only)


def sniff(path: Path) -> str:
    """The format of a file, a key of ``READERS``: by content first, by extension where the content leaves it open.

    Raises CorpusError when it is no text or a format that is not read.
    """
    try:
        return _sniff(Source(path))
    except Unusable as error:
        raise CorpusError(f"{path}: {error}") from None
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read ({error.strerror}); check the file and its permissions") from None


def _read(files: list[Path], notice: Callable[[str], None], title_only: bool) -> Iterator[Paper | BadRecord]:
    for path in files:
        source = Source(path, title_only)
        try:
            empty = True
            for record in READERS[_sniff(source)](source):
                empty = False
                yield record
            if empty:
                yield BadRecord(source.name, "no records: the file holds no paper")
        except (Unusable, OSError) as error:
            reason = str(error)
            if isinstance(error, OSError):
                reason = f"cannot be read ({error.strerror}); check the file and its permissions"
            if len(files) == 1:
                raise CorpusError(f"{path}: {reason}") from None
            yield BadRecord(source.name, reason)
        for text in source.notices():
            notice(text)


def _sniff(source: Source) -> str:
    if source.is_binary:
        raise Unusable(f"not a text file; {REMEDY}")
    text, suffix = source.head, source.path.suffix.lower()
    if not text.strip():
        raise Unusable("the file is empty")
    if foreign := next((name for name, pattern in FOREIGN.items() if pattern.match(text)), ""):
        raise Unusable(f"{foreign} is not read; {REMEDY}")
    if text.lstrip().startswith("{"):
        return "jsonl" if suffix in LINE_SUFFIXES or _object_lines(text, source.head_is_all) else "json"
    if suffix in LINE_SUFFIXES:
        return "jsonl"
    if suffix == ".json" or _ARRAY.match(text):
        return "json"
    return "table" if suffix in TABLE_SUFFIXES or tables.is_table(text) else "list"


def _object_lines(text: str, is_all: bool) -> bool:
    """Whether most of several lines are objects by themselves; the last line may be cut."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    whole = lines if is_all else lines[:-1]
    return len(lines) > 1 and sum(line.startswith("{") and line.endswith("}") for line in whole) > len(whole) / 2


def _files(paths: list[Path]) -> list[Path]:
    """The files of all paths, each once."""
    found: dict[Path, Path] = {}
    for path in paths:
        try:
            path.stat()
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                raise CorpusError(f"{str(path)[:60]}…: the name is too long; give a file or a folder") from None
        if path.is_dir():
            inside = sorted(_walk(path))
            if not inside:
                raise CorpusError(f"{path}: the folder holds no list of papers ({', '.join(sorted(READ_SUFFIXES))})")
        elif path.is_file():
            inside = [path]
        else:
            problem = "is not a regular file" if path.exists() else "does not exist"
            raise CorpusError(f"{path}: {problem}; give a file or a folder with lists of papers")
        for file in inside:
            found.setdefault(file.resolve(), file)
    return list(found.values())


def _walk(folder: Path) -> Iterator[Path]:
    """The files below a folder that look like lists of papers; links that lead round are followed once."""
    seen: set[str] = set()
    for root, folders, names in os.walk(folder, followlinks=True):
        real = os.path.realpath(root)
        folders[:] = [] if real in seen else [name for name in folders if not name.startswith(".")]
        if real in seen:
            continue
        seen.add(real)
        for name in names:
            path = Path(root, name)
            if path.suffix.lower() not in READ_SUFFIXES | FOREIGN_SUFFIXES:
                continue
            if not name.startswith(".") and not _NOT_PAPERS.match(name) and (path.is_file() or not path.exists()):
                yield path
