"""Does a text say the opposite of a statement? Negations, directions (more, less) and the sides of a comparison.

Works on words, so it finds only what is said with nearly the same words; that is where likeness misleads most.
"""

from __future__ import annotations

import re
from functools import lru_cache

from rag.text import content_words, plain

_NEGATIONS = re.compile(
    r"\b(?:no|not|never|cannot|without|neither|nor|none|nothing|hardly|unable|fails?|failed|lacks?|lacking"
    r"|avoid(?:s|ed|ing)?|eschew(?:s|ed|ing)?|instead of|rather than)\b|n't\b"
)
_NO_NEGATION = re.compile(r"\bnot (?:only|just|merely|limited)\b|\bno (?:longer|more|less|fewer|later) than\b")
_REACH, _FAR = 3, 12  # content words after a negation that it governs, and that it may still govern
_CLAUSE_END = re.compile(r"[.;:,()](?!\d)|\b(?:but|while|whereas|although)\b")
_SIDE = 3  # content words that name a side of a comparison
_COMPARES = re.compile(r"\bthan\b|\b(?:outperform|surpass|exceed|beat)(?:s|es|ing)?\b")
_DIRECTIONS = tuple(
    (re.compile(rf"\b(?:{up})\b|≥|\\geq?\b"), re.compile(rf"\b(?:{down})\b|≤|\\leq?\b"))
    for up, down in (
        (
            r"more|high(?:er)?|larger?|greater|longer|bigger|increas\w+|rais(?:es?|ed|ing)|ris(?:es?|ing)|grow(?:s|ing)?"
            r"|boost(?:s|ed|ing)?|improv(?:es?|ed|ing)|enhanc(?:es?|ed|ing)|at least|better",
            r"less|low(?:er|ers|ered|ering)?|small(?:er)?|fewer|shorter|decreas\w+|reduc(?:es?|ed|ing)|drop(?:s|ped|ping)?"
            r"|declin(?:es?|ed|ing)|f[ae]lls?|degrad(?:es?|ed|ing)|suppress(?:es|ed|ing)?|mitigat(?:es?|ed|ing)"
            r"|worsen(?:s|ed|ing)?|at most|worse",
        ),
        (r"fast(?:er)?|quick(?:er|ly)?|accelerat(?:es?|ed|ing)|speeds? up", r"slow(?:er|s|ed|ly)?|slow(?:s|ed)? down"),
        (r"similar(?:ly)?|same|alike|identical", r"different(?:ly)?|differs?|dissimilar|distinct"),
        (r"outperform(?:s|ed|ing)?|surpass(?:es|ed|ing)?|beats?", r"underperform(?:s|ed|ing)?|trail(?:s|ed|ing)?"),
        (r"strong(?:er|ly)?|positive(?:ly)?|best", r"weak(?:er|ly)?|negative(?:ly)?|worst"),
        (r"before", r"after"),
        (r"above|over", r"below|under"),
    )
)
_OPPOSING_PREFIX = ("un", "in", "im", "ir", "non", "dis")
_LONG_ENOUGH = 6  # letters of a word that a prefix turns round: "reliable", not "form" and "inform"


def contradicts(statement: str, text: str) -> bool:
    """Whether the text says of the same words the opposite of what the statement says."""
    shared = set(content_words(statement)) & set(content_words(text))
    # Closely denied by one, and nowhere near a negation in the other.
    denied = (_negated(statement) - _negated(text, _FAR) | _negated(text) - _negated(statement, _FAR)) & shared
    turned = _turned(statement, text) & shared
    if _sides_swapped(statement, text):
        return bool(denied) or not turned  # "A has less than B" is "B has more than A"
    return bool(denied ^ turned) or _prefix_differs(statement, text)


@lru_cache(maxsize=4096)
def _negated(text: str, reach: int = _REACH) -> frozenset[str]:
    """Content words that a negation governs."""
    folded = _NO_NEGATION.sub(" ", plain(text))
    governed: set[str] = set()
    for m in _NEGATIONS.finditer(folded):
        governed.update(_clause_after(folded, m.end())[:reach])
    return frozenset(governed)


def _turned(a: str, b: str) -> set[str]:
    """Words that go up in one text and down in the other."""
    found: set[str] = set()
    for (up_a, down_a), (up_b, down_b) in zip(_directions(a), _directions(b), strict=True):
        found |= (up_a - down_a) & (down_b - up_b) | (down_a - up_a) & (up_b - down_b)
    return found


@lru_cache(maxsize=4096)
def _directions(text: str) -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    """For each axis the words next to an "up" and those next to a "down": two after it, one before, in its clause."""
    folded = plain(text)

    def near(pattern: re.Pattern[str]) -> frozenset[str]:
        found: set[str] = set()
        for m in pattern.finditer(folded):
            found.update(_clause_after(folded, m.end())[:2])
            found.update(_clause_before(folded, m.start())[-1:])
        return frozenset(found)

    return tuple((near(up), near(down)) for up, down in _DIRECTIONS)


def _sides_swapped(a: str, b: str) -> bool:
    """Whether both compare the same two things, each on the other side."""
    left_a, right_a = _sides(a)
    left_b, right_b = _sides(b)
    return bool((left_a - right_a) & (right_b - left_b)) and bool((right_a - left_a) & (left_b - right_b))


@lru_cache(maxsize=4096)
def _sides(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """What stands first in the clause of the first comparison, and what stands right after "than"."""
    folded = re.sub(r"(?<=\w)-(?=\w)", "", plain(text))  # M-CBM is one name, not a CBM
    m = _COMPARES.search(folded)
    if m is None:
        return frozenset(), frozenset()
    before = re.split(r"\bthat\b", folded[: m.start()])[-1]
    clauses = [words for part in _CLAUSE_END.split(before) if (words := content_words(part))]
    left, right = clauses[-1] if clauses else [], _clause_after(folded, m.end())  # "A is good, surpassing B"
    return frozenset(left[:_SIDE]), frozenset(right[:_SIDE])


def _prefix_differs(statement: str, text: str) -> bool:
    """Whether one has "reliable" where the other has "unreliable", and no negation makes up for it."""
    a, b = _long_words(statement), _long_words(text)
    for here, there, source in ((a - b, b - a, statement), (b - a, a - b, text)):
        for word in here:
            opposed = any(prefix + word in there for prefix in _OPPOSING_PREFIX)
            if opposed and not set(content_words(word)) & _negated(source):
                return True
    return False


@lru_cache(maxsize=4096)
def _long_words(text: str) -> frozenset[str]:
    return frozenset(w for w in re.findall(r"[a-z]+", plain(text)) if len(w) >= _LONG_ENOUGH)


def _clause_after(folded: str, start: int) -> list[str]:
    return content_words(_CLAUSE_END.split(folded[start:], maxsplit=1)[0])


def _clause_before(folded: str, end: int) -> list[str]:
    return content_words(_CLAUSE_END.split(folded[:end])[-1])
