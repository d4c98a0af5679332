"""Proposes items from a library, for a person to review: by a language model, or, without one, as gaps to fill."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from eval.items import Gold, Item
from eval.metrics import has_fact
from eval.replies import json_object
from rag import prompts
from rag.errors import ModelError
from rag.text import plain, sentences
from rag.types import Paper

_TEXT = {"type": "string"}
FIELDS: dict[str, dict[str, Any]] = {
    "question": _TEXT,
    "quote": _TEXT,
    "answer": _TEXT,
    "key_facts": {"type": "array", "items": _TEXT},
}
"""What a model's reply holds, as JSON schema."""
UNREVIEWED = "unreviewed"
"""The kind of every drafted item, until a person has looked at it."""
# A figure that stands alone: not the 4 of "GPT-4", nor a year, nor a list's "(1)".
_FIGURE = re.compile(
    r"(?<![\w.,/^_{-])(?!(?:19|20)\d\d\b)(?<!\()\d+(?:[.,]\d+)*(?:\s?(?:\\?%|×|x\b))?(?![\w/)-]|[.,]\d)"
)
_SHORTEST = 8  # words a sentence needs for its gap to be a question


@dataclass(frozen=True)
class Drafted:
    """What came of a library."""

    items: tuple[Item, ...]
    rejected: int
    """Replies of the model that were no usable item."""


def draft(
    papers: Sequence[str],
    read: Callable[[str], Paper],
    count: int,
    ask: Callable[[str], str] | None = None,
    seed: int = 0,
) -> Drafted:
    """Up to ``count`` items, one a paper, from papers (ids) in an order drawn by ``seed``.

    ``read`` gives a paper with its abstract; ``ask`` sends a prompt to a model; without it gaps are drafted. A
    model's item is kept only if its quote is verbatim and the answer is not in the question.
    """
    order = list(papers)
    random.Random(seed).shuffle(order)
    items: list[Item] = []
    rejected = 0
    for name in order:
        if len(items) == count:
            break
        paper, number = read(name), len(items) + 1
        item = _gap(paper, number, seed) if ask is None else _written(paper, number, ask)
        if item is not None:
            items.append(item)
        elif ask is not None:
            rejected += 1
    return Drafted(tuple(items), rejected)


def _gap(paper: Paper, number: int, seed: int) -> Item | None:
    """A sentence with one of its figures taken out."""
    fitting = [s.text for s in sentences(paper.abstract) if len(s.text.split()) >= _SHORTEST and _FIGURE.search(s.text)]
    if not fitting:
        return None
    sentence = random.Random(f"{seed} {paper.paper_id}").choice(fitting)
    figure = _FIGURE.search(sentence)
    assert figure is not None
    question = f"Which figure belongs in the gap? {sentence[: figure.start()]}____{sentence[figure.end() :]}"
    return _item(paper, number, "gap", question, sentence, figure[0], (figure[0],))


def _written(paper: Paper, number: int, ask: Callable[[str], str]) -> Item | None:
    try:
        said = json_object(ask(prompts.load("draft", abstract=paper.abstract))) or {}
    except ModelError as e:
        if not e.transient:
            raise
        return None
    question, quote, answer = (str(said.get(name) or "").strip() for name in ("question", "quote", "answer"))
    raw = said.get("key_facts")
    facts = tuple(f.strip() for f in raw if isinstance(f, str) and f.strip()) if isinstance(raw, list) else ()
    # The stored spelling of the sentence, should the model have changed blanks or dashes.
    stored = next((s.text for s in sentences(paper.abstract) if quote and plain(quote) in plain(s.text)), "")
    told = any(has_fact(fact, question) for fact in facts)
    met = all(has_fact(fact, f"{answer} {stored}") for fact in facts)
    if not (question and answer and stored and facts and met) or told:
        return None
    return _item(paper, number, "written", question, stored, answer, facts)


def _item(paper: Paper, number: int, form: str, question: str, quote: str, answer: str, facts: tuple[str, ...]) -> Item:
    return Item(
        f"draft-{form}-{number:03}",
        question,
        True,
        (paper.paper_id,),
        form,
        UNREVIEWED,
        (),
        (Gold(paper.paper_id, quote),),
        answer,
        facts,
    )
