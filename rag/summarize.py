"""A cited summary of papers without an LLM: the sentences that state problem, method and result, verbatim."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rag.markers import cite
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


def stream_summary(evidence: Sequence[Evidence]) -> Iterator[str]:
    """Marked text: per paper the sentences of problem, method and result in the abstract's own order."""
    several = len(evidence) > 1
    for n, e in enumerate(evidence):
        chosen = key_sentences(e.paper.abstract)
        text = " ".join(cite(s.text, [e.rank]) for s in chosen)
        yield ("\n" if n else "") + ("- " if several else "") + text


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
