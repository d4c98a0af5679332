"""quoth's parts in a LangChain chain."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from langchain_core.runnables import RunnableLambda

from rag.langchain import QuothEmbeddings, QuothRetriever
from rag.types import Evidence, Paper, Passage

BEES = Paper("doi:10.1/bees", "Wild bees prefer hedges.", title="Hedges", year=2021)


class FakeQuoth:
    def find(self, question: str) -> SimpleNamespace:
        passage = Passage("doi:10.1/bees/0", BEES.paper_id, BEES.abstract, 0, len(BEES.abstract))
        return SimpleNamespace(evidence=(Evidence(1, BEES, passage, 0.8),))


class FakeEmbedder:
    identity = {"window": 9}  # noqa: RUF012

    def documents(self, texts: list[str]) -> np.ndarray:
        return np.asarray([[len(t), 0.0] for t in texts], dtype=np.float32)

    def query(self, text: str) -> np.ndarray:
        return self.documents([text])[0]

    def token_count(self, text: str) -> int:
        return len(text.split())


def test_the_retriever_fits_into_a_chain() -> None:
    chain = QuothRetriever(quoth=FakeQuoth()) | RunnableLambda(lambda docs: [d.page_content for d in docs])
    assert chain.invoke("Where do bees live?") == ["Wild bees prefer hedges."]


def test_a_document_carries_the_card_of_its_paper() -> None:
    (document,) = QuothRetriever(quoth=FakeQuoth()).invoke("bees")
    assert document.id == "doi:10.1/bees"
    assert (document.metadata["title"], document.metadata["year"], document.metadata["score"]) == ("Hedges", 2021, 0.8)


def test_embeddings_are_lists_of_floats() -> None:
    embeddings = QuothEmbeddings(FakeEmbedder())
    assert embeddings.embed_documents(["ab", "abc"]) == [[2.0, 0.0], [3.0, 0.0]]
    assert embeddings.embed_query("a") == [1.0, 0.0]
