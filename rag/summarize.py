"""A cited summary of papers without an LLM: the sentences that state problem, method and result, verbatim."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rag.text import sentences
from rag.types import Evidence, Sentence

# Phrases by which abstracts announce what a sentence does, strongest first.
_CUES: dict[str, tuple[str, ...]] = {
    "problem": (
        r"\b(however|despite|yet|although|lack|limit\w*|challeng\w*|struggl\w*|fail\w*|unclear|remain\w*|suffer\w*)\b",
        r"\b(problem|difficult|costly|expensive|open question|not (?:yet )?(?:been )?\w+ed)\b",
        r"\b(background|objective|aim|purpose)\b",
    ),
    "method": (
        r"\b(we|this (?:paper|work|study|article)|here we)\s+(?:\w+ly\s+)?(?:propose|introduce|present|develop|design"
        r"|describe|build|formulate|investigate|study|characterize|formalize|examine|analy[sz]e)s?\b",
        r"\b(novel|new|our)\s+(?:\w+[- ]){0,3}"
        r"(?:method|approach|framework|model|benchmark|dataset|algorithm|pipeline)\b",
        r"\b(method|approach|framework|methods?:|design)\b",
    ),
    "result": (
        r"\b(experiments?|results?|evaluations?|findings?)\b.{0,60}\b(show|demonstrate|indicate|reveal|confirm|suggest)\w*",
        r"\b(outperform|surpass|achieve|improve|exceed|reduc)\w*\b",
        r"\b(we (?:show|find|found|demonstrate|prove|report|observe)|results?:|conclusions?:)",
    ),
}
_PATTERNS = {role: tuple(re.compile(c, re.IGNORECASE) for c in cues) for role, cues in _CUES.items()}


def quotes(evidence: Sequence[Evidence]) -> list[list[tuple[int, Sentence]]]:
    """The summary as sentences with the numbers of their evidence, one group a paper."""
    groups = ([(e.rank, s) for s in key_sentences(e.paper.abstract)] for e in evidence)
    return [group for group in groups if group]


def key_sentences(abstract: str) -> list[Sentence]:
    """One sentence each for problem, method and result, in the order of the abstract, none twice.

    Where no phrase announces a role, the place does: problems open an abstract, results close it.
    """
    found = sentences(abstract)
    if len(found) <= 3:
        return found
    chosen: dict[int, Sentence] = {}
    for role, default in (("method", len(found) // 2), ("result", len(found) - 1), ("problem", 0)):
        taken = set(chosen)
        method = min(taken, default=len(found))
        free = [i for i in range(len(found)) if i not in taken and (role != "problem" or i <= method)]
        if role == "result":  # results are said again and better towards the end
            free.reverse()
        if not free:
            continue
        best = max(free, key=lambda i: _strength(role, found[i].text))
        if _strength(role, found[best].text) == 0 and default in free:
            best = default
        chosen[best] = found[best]
    return [chosen[i] for i in sorted(chosen)]


def _strength(role: str, text: str) -> int:
    patterns = _PATTERNS[role]
    return next((len(patterns) - i for i, p in enumerate(patterns) if p.search(text)), 0)
