"""From evidence to checked text: an LLM writes if there is one, quotes stand in where it fails, all is verified."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from rag.errors import ModelError
from rag.support import Encode
from rag.types import Answerer, Evidence, Sentence, Turn
from rag.verify import Verified, quoted, verify

# A stop at the end of a word, with quotes and markers behind it; a marker without a stop ends an item of a list.
_MARKERS = r"(?:\s*[\[【]\d+(?:\s*[,;–-]\s*\d+)*[\]】])"
_END = re.compile(rf"[.!?…][\"'”’)*_]*{_MARKERS}*(?=\s)|[。！？]{_MARKERS}*|{_MARKERS}+[.!?。]?(?=\s|$)")


class LLM(Answerer, Protocol):
    """What is asked of a language model beyond answering."""

    @property
    def usage(self) -> dict[str, int]: ...

    def standalone(self, question: str, history: Sequence[Turn], /) -> str: ...

    def stream_summary(self, evidence: Sequence[Evidence], /) -> Iterator[str]: ...


@dataclass
class Written:
    """A verified text and how it came about."""

    verified: Verified = field(default_factory=lambda: Verified("", (), (), False))
    answerer: str = "extractive"
    refusal: str = ""
    """Why nothing was written, where it is not for lack of evidence."""
    notices: list[str] = field(default_factory=list)
    usage: dict[str, int] = field(default_factory=lambda: {"input_tokens": 0, "output_tokens": 0})
    seconds: dict[str, float] = field(default_factory=lambda: {"generate": 0.0, "verify": 0.0})


def write(
    evidence: Sequence[Evidence],
    llm: LLM | None,
    by_llm: Callable[[LLM], Iterator[str]],
    by_quotes: Callable[[], Sequence[Sequence[tuple[int, Sentence]]]],
    encode: Encode | None,
    *,
    strict: bool,
    may_refuse: bool = True,
) -> Generator[str, None, Written]:
    """Yield pieces of unverified text; return what stands of them.

    A model that fails before a whole sentence is replaced by quotes, with a notice; so is one of whose sentences no
    abstract supports any, unless it said that the corpus does not tell and that is an answer (``may_refuse``).
    ``strict``: the model was chosen by hand, and its failure is a ModelError. One that will not pass always is.
    """
    started = time.perf_counter()
    written = Written()
    text = ""
    if llm is not None:
        text = yield from _from_llm(llm, by_llm(llm), written, strict)
    generated = time.perf_counter()
    if text:
        written.verified = verify(text, evidence, encode)
    if not written.verified.citations and not (may_refuse and written.verified.refused):
        if text:
            written.answerer = "extractive"
            written.notices.append("No abstract supports what the model wrote: these are quotes instead.")
        written.verified = replace(quoted(by_quotes(), evidence), unsupported=written.verified.unsupported)
        yield written.verified.text
    written.seconds = {"generate": generated - started, "verify": time.perf_counter() - generated}
    return written


def _from_llm(llm: LLM, pieces: Iterator[str], written: Written, strict: bool) -> Generator[str, None, str]:
    usage = llm.usage  # this stream's own; another question on another thread makes another
    text = ""
    try:
        for piece in pieces:
            text += piece
            yield piece
    except ModelError as e:
        text = whole_sentences(text)
        if not text and (strict or not e.transient):
            raise
        written.notices.append(f"The answer may be incomplete: {e}" if text else f"Answered without the LLM: {e}")
    if text:
        written.answerer, written.usage = llm.name, dict(usage)
    return text


def whole_sentences(text: str) -> str:
    """What a broken-off text says in whole sentences or lines."""
    ends = [m.end() for m in _END.finditer(text)]
    return text[: ends[-1]].strip() if ends else ""
