"""Does the evidence answer the question? A probability from signals that generalise, and the threshold on it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from rag.relevance import Candidate, coverage, matched
from rag.types import Evidence

THRESHOLD = 0.5
"""Answerability under which the corpus is said not to tell."""
# Logistic regression on 1,000 questions and claims (PubMedQA; SciFact with its rationales), each put to corpora of 40
# and 300 abstracts of its field with and without the right one: area under the curve .96 to .98 from one set to the
# other. The constant is not fitted: it is set by hand so that more than .99 of the answerable ones are kept (the first
# percentile would be at -6.0), since people's questions share fewer words with the abstract than these do.
_WEIGHTS = (-5.4, 11.9, 1.1)
_WORDS_ONLY = (-2.1, 11.7)  # in the share of words found, fitted and placed in the same way: area .97


def answerability(
    weights: dict[str, float], papers: int, evidence: Sequence[Evidence], ranked: Sequence[Candidate]
) -> float:
    """Probability (0..1) that the best evidence answers the question.

    Logistic in two signals: cosine of question and best sentence, and information of the question's words that the
    best abstract has (``papers``: size of the library). Without an encoder in one: the share of those words.
    """
    if not evidence or not ranked:
        return 0.0
    texts = [f"{e.paper.title}\n{e.paper.abstract}" for e in evidence[:3]]
    sentence = max((c.similarity for c in ranked if c.similarity is not None), default=None)
    if sentence is None:
        return _logistic(_WORDS_ONLY[0] + _WORDS_ONLY[1] * max(coverage(weights, t) for t in texts))
    words = max(matched(weights, t, papers) for t in texts)
    return _logistic(_WEIGHTS[0] + _WEIGHTS[1] * sentence + _WEIGHTS[2] * words)


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
