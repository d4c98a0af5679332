"""BM25 on disk by tantivy: derived from the store, rebuilt from it when they disagree; the only file that knows it."""

from __future__ import annotations

import math
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rag.errors import StoreError
from rag.passages import embedded_text
from rag.text import analyzer, content_words, plain
from rag.types import Paper

_HEAP = 64_000_000  # bytes of the writer's buffer
_MISSPELT = 5  # letters of a word that may be a misspelling: shorter ones are like too many others
_TWO_SLIPS = 8  # letters from which two slips are forgiven


class LexicalIndex:
    """Papers by the words of title and abstract. ``generation`` says which state of the store it mirrors.

    Threads may search it together. Only the holder of the writer's lock may call ``update`` and ``rebuild``.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "lexical"
        self._index: Any = None
        self._damaged = False

    @property
    def generation(self) -> int:
        """The store's generation at the last commit, -1 when there is none or the index was damaged."""
        self._open()
        if self._damaged:
            return -1
        try:
            return int(self._stamp.read_text())
        except (OSError, ValueError):
            return -1

    def update(self, papers: Iterable[Paper], removed: Sequence[str], generation: int) -> None:
        """Replace these papers, take the removed ones out, and mirror ``generation``."""
        with self._writer() as writer:
            for paper_id in removed:
                writer.delete_documents_by_term("paper_id", paper_id)
            for paper in papers:
                writer.delete_documents_by_term("paper_id", paper.paper_id)
                writer.add_document(_document(paper))
        self._mirrors(generation)

    def rebuild(self, papers: Iterable[Paper], generation: int) -> None:
        """Make it anew from all papers. Searches see the old state until it is done."""
        self._open()
        if self._damaged:  # it is derived, so it can go
            self._index = None
            shutil.rmtree(self._folder, ignore_errors=True)
        with self._writer() as writer:
            writer.delete_all_documents()
            for paper in papers:
                writer.add_document(_document(paper))
        self._mirrors(generation)

    def reload(self) -> None:
        """See what another process has committed."""
        index = self._index
        try:
            if index is not None and not self._damaged:
                index.reload()
                return
        except ValueError:  # its files are others now
            pass
        self._index = None

    def search(self, question: str, n: int, only: Sequence[str] | None = None) -> list[tuple[str, float]]:
        """(paper id, BM25 score), best first, at most ``n``; only papers that share a subject word with the question.

        A word counts as often as the question says it: long questions repeat what they are about. A longer word that
        no paper has stands for the library's words spelt almost like it. ``only`` restricts to these papers.
        k1 = 1.2, b = 0.75 (Robertson and Zaragoza, 2009).
        """
        from tantivy import Occur, Query

        index = self._open()
        words = Counter(content_words(question))
        if not words or (only is not None and not only):
            return []
        schema = index.schema
        papers, counts = self.frequencies(words)
        weighted = [
            Query.boost_query(Query.term_query(schema, "text", w), times)
            if counts[w] or len(w) < _MISSPELT or not w.isalpha()  # GPT3 is no slip for GPT4
            else _like(schema, w, times * math.log(1 + papers))
            for w, times in words.items()
        ]
        query = Query.boolean_query([(Occur.Should, term) for term in weighted])
        if only is not None:
            allowed = Query.const_score_query(Query.term_set_query(schema, "paper_id", list(only)), 0.0)
            query = Query.boolean_query([(Occur.Must, query), (Occur.Must, allowed)])
        searcher = index.searcher()
        hits = searcher.search(query, n).hits
        return [(searcher.doc(address)["paper_id"][0], float(score)) for score, address in hits]

    def frequencies(self, words: Iterable[str]) -> tuple[int, dict[str, int]]:
        """Number of papers, and in how many of them each (stemmed) word stands."""
        from tantivy import Query

        index = self._open()
        searcher = index.searcher()

        def papers_with(word: str) -> int:  # the engine's own number counts replaced papers for a while
            return int(searcher.search(Query.term_query(index.schema, "text", word), 1).count)

        return searcher.num_docs, {w: papers_with(w) for w in words}

    @property
    def _stamp(self) -> Path:
        return self._folder / "generation"

    @contextmanager
    def _writer(self) -> Iterator[Any]:
        try:
            writer = self._open().writer(_HEAP, 1)
            yield writer
            writer.commit()
            writer.wait_merging_threads()
        except ValueError as e:
            line = " ".join(str(e).split())[:160]
            raise StoreError(
                f"cannot write the word index in {self._folder} ({line}): check the disk, then run the command again"
            ) from e

    def _mirrors(self, generation: int) -> None:
        self._stamp.write_text(str(generation))
        self.reload()

    def _open(self) -> Any:
        """The index on disk; while that is damaged, an empty one in memory."""
        index = self._index  # one look: another thread may let go of it
        if index is None:
            from tantivy import Index, SchemaBuilder

            builder = SchemaBuilder()
            builder.add_text_field("paper_id", stored=True, tokenizer_name="raw", index_option="basic")
            builder.add_text_field("text", stored=False, tokenizer_name="quoth", index_option="freq")
            schema = builder.build()
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
                try:
                    index, damaged = Index(schema, str(self._folder)), False
                except ValueError:  # damaged, or of an older schema: readers must not touch it, ``rebuild`` will
                    index, damaged = Index(schema), True
            except OSError as e:
                raise StoreError(
                    f"cannot open the word index in {self._folder} ({e.strerror}): check QUOTH_HOME"
                ) from e
            index.register_tokenizer("quoth", analyzer())
            self._index, self._damaged = index, damaged
        return index


def _like(schema: Any, word: str, score: float) -> Any:
    """Papers with a word within one or two slips (swapped neighbours are one) of ``word``, each given ``score``."""
    from tantivy import Query

    slips = 2 if len(word) >= _TWO_SLIPS else 1
    return Query.const_score_query(Query.fuzzy_term_query(schema, "text", word, slips, True), score)


def _document(paper: Paper) -> Any:
    from tantivy import Document

    return Document(paper_id=[paper.paper_id], text=[plain(embedded_text(paper.title, paper.abstract))])
