"""Which sentences answer, and which words of a question the papers lack."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from rag.relevance import SentenceEncoder, coverage, missing_names, missing_words, rank_sentences, word_weights
from tests.fakes import BEES, PUMP, FakeEmbedder, evidence

if TYPE_CHECKING:
    from rag.types import Vectors


def frequencies(words: Iterable[str]) -> tuple[int, dict[str, int]]:
    return 10, {w: {"bee": 1, "energi": 5}.get(w, 0) for w in words}


def test_rare_words_weigh_more() -> None:
    weights = word_weights("How much energy do bees need?", frequencies)
    assert weights["bee"] > weights["energi"] > 0
    assert coverage(weights, "Bees fly.") > 0.5 > coverage(weights, "Energy is saved.")
    assert coverage({}, "Bees fly.") == 0


@pytest.mark.parametrize("encoder", [None, SentenceEncoder(FakeEmbedder())], ids=["words", "vectors"])
@pytest.mark.parametrize(
    ("question", "start"),
    [
        ("How long did bees without landmarks take to return?", "Bees without landmarks took"),
        ("How much energy does Heliopump save?", "In field trials on 12 farms"),
        ("Which controller predicts clouds?", "We introduce Heliopump"),
    ],
)
def test_the_answering_sentence_comes_first(question: str, start: str, encoder: SentenceEncoder | None) -> None:
    ranked = rank_sentences(question, evidence(PUMP, BEES), word_weights(question, frequencies), encoder)
    assert ranked[0].sentence.text.startswith(start)
    assert len(ranked) == 9
    assert all(a.relevance >= b.relevance for a, b in pairwise(ranked))


def test_no_evidence() -> None:
    assert rank_sentences("Why?", [], {}, SentenceEncoder(FakeEmbedder())) == []


@pytest.mark.parametrize(
    ("question", "text", "names"),
    [
        ("Does it run on LIBERO?", "It runs on CALVIN.", ("LIBERO",)),
        ("Is RL used?", "We use reinforcement learning.", ()),
        ("Is GPT-4o used?", "We use GPT-4 models.", ("GPT-4o",)),
        ("Which bees fly?", "We study wasps.", ()),
        ("Does Bert help?", "We study wasps.", ("Bert",)),
    ],
)
def test_missing_names(question: str, text: str, names: tuple[str, ...]) -> None:
    assert missing_names(question, text) == names


def test_missing_words_as_typed() -> None:
    assert missing_words("Do Wasps find their hives?", BEES.abstract) == ("Wasps",)


def test_sentences_are_encoded_once() -> None:
    class Counting(FakeEmbedder):
        seen: list[str] = []  # noqa: RUF012

        def documents(self, texts: Sequence[str], /) -> Vectors:
            self.seen.extend(texts)
            return super().documents(texts)

    encoder = SentenceEncoder(Counting(), size=3)
    first = encoder.similarities("bees", ["Bees fly.", "Pumps hum.", "Bees fly."])
    assert first == encoder.similarities("bees", ["Bees fly.", "Pumps hum.", "Bees fly."])
    assert first[0] == first[2] > first[1] == 0
    assert Counting.seen == ["Bees fly.", "Pumps hum."]
    encoder.similarities("bees", ["Pumps hum.", "a b", "c d"])  # more than it keeps: what is in use stays
    assert Counting.seen[2:] == ["a b", "c d"]
