"""History + question → a brief: the standalone question, and the papers that stay in play."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from rag import prompts
from rag.markers import unescape
from rag.text import content_words
from rag.types import Brief, Turn

_REFERS = re.compile(
    r"\b(it|its|itself|they|them|their|theirs|this|that|these|those|he|she|his|her|the (first|second|third|fourth"
    r"|fifth|last|latter|former|other|others|same|authors?|paper|papers|method|model|approach)( one| ones)?"
    r"|(first|second|third|last|latter|former|other) (one|ones|paper|papers))\b",
    re.IGNORECASE,
)
_CONTINUES = re.compile(r"^\W*(and|but|so|also|or|then|what about|how about|why|which ones?|anything else)\b", re.I)
_ORDINALS = {
    w: n
    for n, words in enumerate((("first", "1st", "former"), ("second", "2nd"), ("third", "3rd"), ("fourth", "4th")))
    for w in words
}
_NTH = re.compile(r"\bthe (first|second|third|fourth|1st|2nd|3rd|4th|former|latter|last)\b(?! time)", re.IGNORECASE)
_NUMBER = re.compile(r"\[(\d{1,2})\]")
_FEW_WORDS = 2
_CONTEXT = 600  # characters of the last answer that may stand in for what "it" means


def make_brief(question: str, history: Sequence[Turn], rewrite: Callable[[str], str] | None = None) -> Brief:
    """Make a question understandable on its own.

    ``rewrite`` is an LLM's rewriting of the question in the light of the history. A question that (still) points
    back (a pronoun, "the second one", "and …", hardly a subject of its own) gets the last exchange as its context,
    any other is taken as it stands: a change of topic must not drag the history along.
    """
    if not history:
        return Brief(question, question)
    cited = next((t.papers for t in reversed(history) if t.role == "assistant" and t.papers), ())
    meant = _meant(question, cited)
    standalone = (rewrite(question).strip() if rewrite is not None else "") or question
    # A model's short question is short because it says all; a user's, because the conversation says the rest.
    leans = points_back(standalone) if standalone == question else bool(_REFERS.search(standalone))
    if not meant and not leans:
        return Brief(question, standalone)
    asked = next((t.content for t in reversed(history) if t.role == "user"), "")
    told = next((t.content for t in reversed(history) if t.role == "assistant" and not _is_refusal(t)), "")
    told = _NUMBER.sub("", unescape(told))[:_CONTEXT]
    context = " ".join(x.strip() for x in (asked, told) if x.strip())
    return Brief(question, standalone, context, cited, meant)


def _is_refusal(turn: Turn) -> bool:
    """Whether an earlier turn is one of the fixed texts without an answer: it is about nothing."""
    fixed = (f"{name}_{language}" for name in ("not_in_corpus", "small_talk") for language in ("en", "zh"))
    return not turn.papers and any(turn.content.strip().startswith(prompts.load(name)) for name in fixed)


def points_back(question: str) -> bool:
    """Whether a question needs the conversation to be understood."""
    if _REFERS.search(question) or _CONTINUES.search(question) or _NUMBER.search(question):
        return True
    return len(content_words(question)) <= _FEW_WORDS


def _meant(question: str, cited: Sequence[str]) -> tuple[str, ...]:
    """The paper of the last answer that "[2]" or "the second one" means, if any."""
    places = [int(n) - 1 for n in _NUMBER.findall(question)]
    for m in _NTH.finditer(question):
        word = m[1].lower()
        places.append(len(cited) - 1 if word in ("last", "latter") else _ORDINALS[word])
    return tuple(dict.fromkeys(cited[p] for p in places if 0 <= p < len(cited)))
