"""One file as lines of text, whatever its encoding, and a tally of what was mended on the way.

Two legacy encodings are told apart by hand: of Chinese text nearly all high bytes come in GB 2312 pairs, of Western
text nearly none do. charset-normalizer was the worse judge of abstracts: it read windows-1252 as cp1250 and hp-roman8.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from rag.formats.clean import line as one_line
from rag.types import BadRecord

HEAD_BYTES = 1 << 18
WIDE = (  # a UTF-32 mark begins like a UTF-16 one
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
LEGACY = {"gb18030": "GBK", "cp1252": "windows-1252"}

_LONE_CR = re.compile(rb"(?<=\r)(?!\n)")
_HIGH_BYTES = re.compile(rb"[\x80-\xff]+")
_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


class Unusable(Exception):
    """The file as a whole cannot be read as a list of papers; the text says why and what to do."""


@dataclass
class Source:
    """A file that is being read."""

    path: Path
    title_only: bool = False
    """Whether a record with a title but no abstract is a paper."""
    tally: Counter[str] = field(default_factory=Counter)
    """What was mended, and how often: the caller tells the user."""

    @cached_property
    def name(self) -> str:
        """The file's name as it stands in paper ids."""
        return one_line(self.path.name)

    def place(self, n: int) -> str:
        """The source of the n-th record, counted from 1."""
        return f"{self.name}#{n}"

    def bad_line(self, number: int, reason: str) -> BadRecord:
        """A record that cannot be used, by its line, counted from 1."""
        return BadRecord(f"{self.name}:{number}", reason)

    @cached_property
    def _head(self) -> bytes:
        with self.path.open("rb") as file:
            return file.read(HEAD_BYTES)

    @cached_property
    def _wide(self) -> str:
        """The encoding that a byte order mark announces, or ""."""
        return next((name for mark, name in WIDE if self._head.startswith(mark)), "")

    @cached_property
    def _legacy(self) -> str:
        """The encoding of lines that are not UTF-8."""
        odd = b"".join(raw for raw in self._head.split(b"\n") if not _is_utf8(raw)) or self._head
        runs = _HIGH_BYTES.findall(odd)
        paired = sum(len(run) for run in runs if len(run) % 2 == 0 and min(run) >= 0xA1)
        return "gb18030" if paired > 0.7 * sum(map(len, runs)) else "cp1252"

    @cached_property
    def is_binary(self) -> bool:
        """No text: controls where text has none."""
        if self._wide:
            return False
        return self._head.startswith(b"%PDF") or len(_CONTROLS.findall(self._head)) > len(self._head) / 100

    @cached_property
    def head(self) -> str:
        """The start of the file as text, for recognising its format."""
        if self._wide:
            return self._head.decode(self._wide, "replace")
        lines = self._head.removeprefix(codecs.BOM_UTF8).split(b"\n")
        return "\n".join(line.decode("utf-8" if _is_utf8(line) else self._legacy, "replace") for line in lines)

    @property
    def head_is_all(self) -> bool:
        return len(self._head) < HEAD_BYTES

    def lines(self) -> Iterator[str]:
        """The lines with their ends (LF, CRLF or CR), decoded one by one, so that a file of any size takes no memory.

        UTF-8 is tried for every line; a line that is none is read as the legacy encoding of the file, and counted.
        """
        if self._wide:
            with self.path.open(encoding=self._wide, errors="replace", newline="") as wide:
                yield from wide
            return
        with self.path.open("rb") as file:
            if file.read(3) != codecs.BOM_UTF8:
                file.seek(0)
            for raw in file:
                if raw.find(b"\r", 0, len(raw) - 2) < 0:
                    yield self._decode(raw)
                else:
                    yield from map(self._decode, _LONE_CR.split(raw))

    def text(self) -> str:
        """The whole file, every line end as LF."""
        return "".join(self.lines()).replace("\r\n", "\n").replace("\r", "\n")

    def notices(self) -> list[str]:
        """What the user should know about the reading of this file, a sentence each."""
        return [f"{self.name}: {what} ({count})" for what, count in sorted(self.tally.items())]

    def _decode(self, raw: bytes) -> str:
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            self.tally[f"lines that are not UTF-8, read as {LEGACY[self._legacy]}"] += 1
            return raw.decode(self._legacy, "replace")


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data" and error.end >= len(raw) and error.start > len(raw) - 4
    return True
