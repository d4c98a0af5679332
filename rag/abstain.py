"""Does the evidence answer the question? A probability from signals that generalise, and the threshold on it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from rag.relevance import Candidate, coverage
from rag.types import Evidence

THRESHOLD = 0.5
"""Answerability under which the corpus is said not to tell."""


def answerability(weights: dict[str, float], evidence: Sequence[Evidence], ranked: Sequence[Candidate]) -> float:
    """Probability (0..1) that the best evidence answers the question.

    Logistic in three signals: cosine of question and best abstract, cosine of question and best sentence, share of
    the question's subject words (rare ones counting more) in the best abstract. Without an encoder only the last.
    """
    if not evidence or not ranked:
        return 0.0
    words = max(coverage(weights, f"{e.paper.title}\n{e.paper.abstract}") for e in evidence[:3])
    abstract = max((e.similarity for e in evidence if e.similarity is not None), default=None)
    sentence = max((c.similarity for c in ranked if c.similarity is not None), default=None)
    if abstract is None or sentence is None:
        return _logistic(_WORDS_ONLY[0] + _WORDS_ONLY[1] * words)
    return _logistic(_WEIGHTS[0] + _WEIGHTS[1] * abstract + _WEIGHTS[2] * sentence + _WEIGHTS[3] * words)


_WEIGHTS = (-6.0, 5.0, 5.0, 4.0)
_WORDS_ONLY = (-3.0, 7.0)

_GREETING = re.compile(
    r"^\W*(hi|hello|hey|howdy|good (morning|afternoon|evening)|thanks?|thank you|bye|goodbye|how are you"
    r"|who are you|what can you do|help|你好|您好|嗨|谢谢|早上好|晚上好|再见)(?!\w*-)\b",
    re.IGNORECASE,
)


def is_small_talk(question: str) -> bool:
    """Whether a message is a greeting, thanks or the like."""
    return bool(_GREETING.match(question)) and len(question.split()) <= 9


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x))
