"""Sentences, words and folding: the only place that cuts text into pieces."""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from typing import Any

from rag.types import Sentence

# Enumerators such as "(1)", "(ii)" or "1)" and the stops inside $…$ end no sentence. They are masked by text of equal
# length before splitting, so that offsets stay those of the original.
_NO_BOUNDARY = re.compile(r"\((?:\d{1,2}|[ivx]{1,4}|[a-h])\)|(?<=[\s:;,])\d{1,2}\)|\$[^$\n]{1,200}\$")
# The splitter takes these for boundaries, or overlooks them.
_ABBREVIATION_END = re.compile(
    r"(?:\b(?:e\.g|i\.e|cf|vs|resp|approx|w\.r\.t|et al|Fig|Figs|Eq|Eqs|Sec|Ref|Refs|Tab|No|Dr|Prof|St)\.)\s*$"
)
_BLANKS = re.compile(r"\s*")


def sentences(text: str) -> list[Sentence]:
    """The sentences of an abstract, in order, outer blanks left out; ``text[s.start:s.end] == s.text``.

    Boundaries come from ``sentencex``. A piece that ends in an abbreviation, or that holds no letter, is
    joined to its neighbour.
    """
    return list(_sentences(text))


@lru_cache(maxsize=4096)
def _sentences(text: str) -> tuple[Sentence, ...]:
    from sentencex import get_sentence_boundaries

    masked = _NO_BOUNDARY.sub(lambda m: "x" * len(m[0]), text)
    spans: list[tuple[int, int]] = []
    for b in get_sentence_boundaries("en", masked):
        start, end = b["start_index"], b["end_index"]
        wordless = not any(c.isalpha() for c in text[start:end])
        if spans and (wordless or _ABBREVIATION_END.search(text[spans[-1][0] : spans[-1][1]])):
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    found = []
    for start, end in spans:
        piece = text[start:end]
        left = len(piece) - len(piece.lstrip())
        piece = piece.strip()
        if piece:
            found.append(Sentence(piece, start + left, start + left + len(piece)))
    return tuple(found)


_LATEX_COMMAND = re.compile(r"\\[a-z]+\s*(?=\{)|\\[,;:! ]|[${}]")
_MARKDOWN = re.compile(r"[*`]|(?<!\w)_+|_+(?!\w)")
_DASHES = re.compile("[\u2010-\u2015\u2212]")


@lru_cache(maxsize=8192)
def plain(text: str) -> str:
    """Fold what is written differently but reads the same: width, case, LaTeX, Markdown, dashes, quotes, blanks.

    For matching only: offsets are lost.
    """
    text = unicodedata.normalize("NFKC", text).casefold()
    text = text.replace("\\times", "×").replace("\\%", "%")
    text = _LATEX_COMMAND.sub("", text)
    text = _MARKDOWN.sub("", text)
    text = _DASHES.sub("-", text).replace("‘", "'").replace("’", "'")
    return " ".join(text.split())


# Words that carry no subject in a question or claim about papers, beyond the usual English stop words.
_QUESTION_WORDS = frozenset(
    """what which who whom whose when where why how does do did done doing is are was were be been being has have had
    can could should would will may might must shall there here it its they them their this that these those he she we
    our you your i me my one ones any anyone anything anybody someone something thing things paper papers work works
    study studies abstract abstracts author authors article articles please tell give show list name describe explain
    say says said state states mention mentions mentioned report reports reported about also and or but not no of for
    from in on at to with without by as than then so such into over under between among via per more most much many
    some all both each every other others another only very same own a an the if while during against after before up
    down out off again further once just because until nor too s t don now kind kinds sort get gets got use used uses
    using need needs let make makes made""".split()
)


@cache
def _analyzer() -> Any:
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    # Snowball's English stemmer and stop words; the same chain serves the lexical index.
    return (
        TextAnalyzerBuilder(Tokenizer.simple())
        .filter(Filter.lowercase())
        .filter(Filter.ascii_fold())
        .filter(Filter.remove_long(80))
        .filter(Filter.stopword("english"))
        .filter(Filter.stemmer("english"))
        .build()
    )


def analyzer() -> Any:
    """The word chain (a tantivy ``TextAnalyzer``): lower case, accents off, stop words off, stemmed."""
    return _analyzer()


@lru_cache(maxsize=8192)
def terms(text: str) -> tuple[str, ...]:
    """Stemmed terms as the lexical index has them, in order, repeats kept."""
    return tuple(_analyzer().analyze(plain(text)))


@lru_cache(maxsize=8192)
def _content(text: str) -> tuple[str, ...]:
    kept = " ".join(w for w in re.findall(r"[^\W_]+(?:'[^\W_]+)?", plain(text)) if w not in _QUESTION_WORDS)
    return tuple(t for t in _analyzer().analyze(kept) if len(t) > 1 or t.isdigit())


def content_words(text: str) -> list[str]:
    """Stemmed terms that carry the subject: no stop words, no question words ("does it work"), in order."""
    return list(_content(text))


_NUMBER = r"(?<![\w.])\d+(?:[.,]\d+)*"
_FIGURE_OR_WORD = re.compile(rf"{_NUMBER}|[^\W\d_][^\W_]*(?:'[^\W_]+)?")
_PERCENTAGE = re.compile(
    rf"{_NUMBER}(?:\s*(?:%\s*)?(?:-|/|and|or|to)\s*{_NUMBER})*\s*(?:%|percent\b|per cent\b|percentage points?\b)"
)
_ENUMERATOR = re.compile(r"(?<!\w)\(?\d{1,2}\)(?=[\s.,;:]|$)")
_COUNTED = "two three four five six seven eight nine ten eleven twelve".split()  # "one" is mostly a pronoun
_NUMBER_WORDS = {word: str(n) for n, word in enumerate(_COUNTED, 2)}
_BESIDE = 3  # content words on either side that say what a figure counts


@lru_cache(maxsize=8192)
def figures(text: str) -> dict[str, frozenset[str]]:
    """The figures of a text in one spelling, each with the content words around it.

    ``8,972`` → ``8972``, ``5.80`` → ``5.8``, ``two`` → ``2``, ``18 percent`` → ``18%``, ``2-3%`` → ``2%`` and ``3%``.
    Enumerators such as ``(1)`` are none.
    """
    folded = _ENUMERATOR.sub(" ", plain(text))
    found: dict[str, frozenset[str]] = {}
    for sentence in re.split(r"(?<=[.!?])\s+", folded):
        percentages = [m.span() for m in _PERCENTAGE.finditer(sentence)]
        words: list[str] = []
        places: list[tuple[str, int]] = []
        for m in _FIGURE_OR_WORD.finditer(sentence):
            if m[0] in _NUMBER_WORDS:
                places.append((_NUMBER_WORDS[m[0]], len(words)))
            elif m[0][0].isdigit():
                percent = any(start <= m.start() < end for start, end in percentages)
                places.append((_number(m[0]) + "%" * percent, len(words)))
            else:
                words += content_words(m[0])
        for figure, at in places:
            beside = words[max(0, at - _BESIDE) : at + _BESIDE]
            found[figure] = found.get(figure, frozenset()) | frozenset(beside)
    return found


def numbers(text: str) -> frozenset[str]:
    """The figures of a text in one spelling."""
    return frozenset(figures(text))


def _number(raw: str) -> str:
    if re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?", raw):
        raw = raw.replace(",", "")
    if re.fullmatch(r"\d+\.\d+", raw):
        raw = raw.rstrip("0").rstrip(".")
    return raw


_CJK = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]")


def is_cjk(text: str) -> bool:
    """Whether a text is mainly Chinese, Japanese or Korean (more such characters than Latin words)."""
    cjk = len(_CJK.findall(text))
    return cjk > 0 and cjk >= len(re.findall(r"[A-Za-z]+", text))
