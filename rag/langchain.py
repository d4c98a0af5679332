"""quoth's retriever and encoder as LangChain components, for anyone's chain."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever

from rag.pipeline import Quoth
from rag.types import Embedder


class QuothRetriever(BaseRetriever):
    """The papers that ``Quoth.find`` gives, best first: abstract as content, the card as metadata."""

    quoth: Any
    """An open ``Quoth``."""

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        quoth: Quoth = self.quoth
        return [
            Document(id=e.paper.paper_id, page_content=e.paper.abstract, metadata=e.paper.card() | {"score": e.score})
            for e in quoth.find(query).evidence
        ]


class QuothEmbeddings(Embeddings):
    """An encoder of quoth as LangChain's ``Embeddings``."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[float(x) for x in row] for row in self._embedder.documents(texts)]

    def embed_query(self, text: str) -> list[float]:
        return [float(x) for x in self._embedder.query(text)]
