"""Reading the files of public question sets; every fault names the file, the line and the remedy."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rag.errors import CorpusError

Row = dict[str, Any]


def inside(folder: Path, *names: str) -> Path:
    """The first of these files that a folder has."""
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise CorpusError(f"{folder} has no {names[0]}: give the folder that holds it")


def chosen(source: Path, pattern: str, split: str | None) -> Path:
    """The one file of a folder that matches, or whose name carries the split; a file is itself."""
    if source.is_file():
        return source
    paths = sorted(source.glob(pattern))
    names = [p.stem.removeprefix("claims_") for p in paths]
    if not paths:
        raise CorpusError(f"{source} has no {pattern}: give the folder that holds it")
    if split is None and len(paths) == 1:
        return paths[0]
    if split in names:
        return paths[names.index(split)]
    said = "has several splits" if split is None else f"has no split {split!r}"
    raise CorpusError(f"{source} {said}: give --split {' or '.join(names)}")


def qrels(path: Path) -> Iterator[tuple[str, str, float]]:
    """Judgements as (query, paper, gain), with or without a heading."""
    for n, text in enumerate(text_of(path).splitlines(), 1):
        cells = text.split("\t") if "\t" in text else text.split()
        if len(cells) == 4:  # TREC's own form has a second column that nobody uses
            cells = [cells[0], cells[2], cells[3]]
        if not cells or (n == 1 and not _is_number(cells[-1])):
            continue
        if len(cells) != 3 or not _is_number(cells[2]):
            raise CorpusError(f"{path}, line {n} is no judgement: write query, paper and gain, separated by tabs")
        yield cells[0].strip(), cells[1].strip(), float(cells[2])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def json_lines(path: Path) -> Iterable[Row]:
    """One object a line."""
    for n, text in enumerate(text_of(path).split("\n"), 1):
        if text.strip():
            try:
                yield json.loads(text)
            except ValueError as e:
                raise CorpusError(f"{path}, line {n} is not JSON ({e}): mend or remove it") from None


def json_file(path: Path) -> Any:
    """A file that is one JSON value."""
    try:
        return json.loads(text_of(path))
    except ValueError as e:
        raise CorpusError(f"{path} is not JSON ({e}): check --from") from None


def text_of(path: Path) -> str:
    """A text file, unpacked where it is packed."""
    try:
        raw = path.read_bytes()
        return (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8-sig")
    except (OSError, EOFError) as e:
        raise CorpusError(f"{path} cannot be read ({e}): check the file") from None
    except UnicodeDecodeError:
        raise CorpusError(f"{path} is not UTF-8 text: save it as UTF-8") from None
