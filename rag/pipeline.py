"""The flow on one screen: question → brief → evidence → marked text → verified answer."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag import abstain, extract, prompts, summarize
from rag.errors import CorpusError, ModelError
from rag.followup import make_brief
from rag.lexical import LexicalIndex
from rag.library import Library
from rag.relevance import SentenceEncoder, missing_names, missing_words, rank_sentences, word_weights
from rag.settings import Settings
from rag.text import is_cjk
from rag.types import Answer, Brief, Embedder, Evidence, Filters, Paper, Passage, Retriever, Sentence, Turn
from rag.writing import LLM, Written, write

_NEAREST = 3  # papers named when none answers


@dataclass(frozen=True)
class Found:
    """What retrieval made of a question. ``ranked`` may reach deeper than the evidence."""

    brief: Brief
    evidence: tuple[Evidence, ...]
    ranked: tuple[str, ...]
    history: tuple[Turn, ...] = ()
    filters: Filters = Filters()
    seconds: float = 0.0
    notices: tuple[str, ...] = ()


class Quoth:
    """One open library with its retriever and answerers. Made by ``rag.build.open_quoth``."""

    def __init__(
        self,
        settings: Settings,
        library: Library,
        lexical: LexicalIndex,
        retriever: Retriever,
        embedder: Embedder | None = None,
        llm: LLM | None = None,
        notices: Sequence[str] = (),
    ) -> None:
        self.settings, self.library = settings, library
        self._lexical, self._retriever = lexical, retriever
        self._embedder, self._llm, self._notices = embedder, llm, tuple(notices)
        self._encoder = SentenceEncoder(embedder) if embedder is not None else None
        self._encode = self._encoder.vectors if self._encoder is not None else None

    # -- asking -----------------------------------------------------------------------------------------------------

    def find(
        self, question: str, history: Sequence[Turn] = (), filters: Filters = Filters(), depth: int | None = None
    ) -> Found:
        """Retrieve. ``depth``: how many papers to rank, at least those given to the answerer.

        Raises CorpusError for an empty question.
        """
        started = time.perf_counter()
        if not question.strip():
            raise CorpusError("the question is empty: type one")
        question = question.encode("utf-8", "replace").decode()  # half characters cannot be sent, stored or printed
        self.library.refresh()
        notices = list(self._notices)

        def rewrite(question: str) -> str:
            try:
                return self._llm.standalone(question, history) if self._llm is not None else question
            except ModelError as e:
                notices.append(f"The question was taken as typed: {e}")
                return question

        brief = make_brief(question, history, rewrite)
        k = self.settings.k
        found = self._retriever.search(brief, max(k, depth or 0), filters)
        ranked = tuple(e.paper.paper_id for e in found)
        spent = time.perf_counter() - started
        return Found(brief, tuple(found[:k]), ranked, tuple(history), filters, spent, tuple(notices))

    def stream(
        self, question: str, history: Sequence[Turn] = (), filters: Filters = Filters()
    ) -> Iterator[str | Answer]:
        """Pieces of text as they are written, not yet verified; last the verified answer."""
        yield from self.stream_from(self.find(question, history, filters))

    def ask(self, question: str, history: Sequence[Turn] = (), filters: Filters = Filters()) -> Answer:
        """The verified answer."""
        return _last(self.stream(question, history, filters))

    def stream_from(self, found: Found) -> Iterator[str | Answer]:
        """Answer from what was found."""
        started = time.perf_counter()
        brief, evidence = found.brief, found.evidence
        weights = word_weights(brief.query, self._lexical.frequencies)
        own_weights = word_weights(brief.standalone, self._lexical.frequencies)
        ranked = rank_sentences(brief.standalone, evidence, own_weights or weights, self._encoder)
        sure = abstain.answerability(weights, len(self.library), evidence, ranked)
        threshold = self.settings.abstain_below
        written = Written(refusal=self._unread(brief))
        if not written.refusal and sure >= (abstain.THRESHOLD if threshold is None else threshold):
            written = yield from write(
                evidence,
                self._llm,
                lambda llm: llm.stream(brief, evidence, found.history),
                lambda: extract.quotes(brief.question, ranked),
                self._encode,
                strict=self.settings.answerer == "llm",
            )
        yield compose(found, written, sure, time.perf_counter() - started)

    def search(self, question: str, filters: Filters = Filters()) -> list[tuple[Evidence, Sentence]]:
        """The best papers, each with the sentence that matches the question best."""
        found = self.find(question, (), filters)
        weights = word_weights(found.brief.query, self._lexical.frequencies)
        best: dict[str, Sentence] = {}
        for c in rank_sentences(question, found.evidence, weights, self._encoder):
            best.setdefault(c.evidence.paper.paper_id, c.sentence)
        nothing = Sentence("", 0, 0)  # of a paper without an abstract
        return [(e, best.get(e.paper.paper_id, nothing)) for e in found.evidence]

    # -- summaries --------------------------------------------------------------------------------------------------

    def stream_summary(self, papers: Sequence[str]) -> Iterator[str | Answer]:
        """A cited summary of papers, by id, alias or label: problem, method, result. Streams like ``stream``.

        Raises CorpusError for an unknown paper, and when none of them has an abstract.
        """
        started = time.perf_counter()
        chosen = list({p.paper_id: p for p in map(self.library.paper, papers)}.values())
        evidence = tuple(_whole(n, paper) for n, paper in enumerate(chosen, 1))
        bare = ", ".join(p.label for p in chosen if not p.abstract)
        if not any(p.abstract for p in chosen):
            raise CorpusError(f"there is no abstract to summarise: {bare}")
        title = ", ".join(p.title or p.label for p in chosen)
        notices = (*self._notices, *([f"Without an abstract: {bare}"] if bare else []))
        ids = tuple(p.paper_id for p in chosen)
        found = Found(Brief(title, title), evidence, ids, seconds=time.perf_counter() - started, notices=notices)
        started = time.perf_counter()
        written = yield from write(
            evidence,
            self._llm,
            lambda llm: llm.stream_summary(evidence),
            lambda: summarize.quotes(evidence),
            self._encode,
            strict=self.settings.answerer == "llm",
            may_refuse=False,
        )
        yield compose(found, written, 1.0, time.perf_counter() - started, asked=False)

    def summarize(self, papers: Sequence[str]) -> Answer:
        """The verified summary."""
        return _last(self.stream_summary(papers))

    # -- the library ------------------------------------------------------------------------------------------------

    def papers(self) -> list[Paper]:
        """Cards of all papers, abstracts left out."""
        return self.library.papers()

    def paper(self, name: str) -> Paper:
        """A paper with its abstract, by id, alias or unique label. Raises CorpusError for any other name."""
        return self.library.paper(name)

    def _unread(self, brief: Brief) -> str:
        """Why the encoder cannot read the question, or nothing."""
        english_only = self._embedder is not None and self._embedder.identity["model"] == "all-MiniLM-L6-v2"
        return prompts.load("unread_zh") if english_only and is_cjk(brief.standalone) else ""


def compose(found: Found, written: Written, sure: float, seconds: float, *, asked: bool = True) -> Answer:
    """The answer for the user: its status, what is missing, the nearest papers where none answers.

    ``sure``: the answerability. ``asked``: there was a question; a summary has none.
    """
    brief, evidence, verified = found.brief, found.evidence, written.verified
    status, text = verified.status, verified.text
    nearest: tuple[Evidence, ...] = ()
    shown = [c.paper for c in verified.citations] or [e.paper for e in evidence]
    said = " ".join(f"{p.title} {p.abstract}" for p in shown)
    if status == "answered":
        # What is asked of a name that the cited abstracts do not have cannot have been answered in full.
        missing = missing_names(brief.question, said) if asked else ()
        status = "partial" if missing else status
    else:
        missing = missing_words(brief.question, said)
    if status == "not_in_corpus":
        small_talk = abstain.is_small_talk(brief.question)
        nearest, missing = ((), ()) if small_talk or written.refusal else (evidence[:_NEAREST], missing)
        language = "zh" if is_cjk(brief.question) else "en"
        text = written.refusal or prompts.load(f"{'small_talk' if small_talk else 'not_in_corpus'}_{language}")
    return Answer(
        question=brief.question,
        standalone_question=brief.query,
        status=status,
        answer=text,
        citations=verified.citations,
        unsupported=verified.unsupported,
        evidence=evidence,
        answerability=sure,
        missing=missing,
        nearest=nearest,
        filters=found.filters,
        notices=(*found.notices, *written.notices),
        answerer=written.answerer,
        usage=written.usage,
        seconds={
            "retrieve": found.seconds + seconds - sum(written.seconds.values()),  # sentences are found, too
            **written.seconds,
            "total": found.seconds + seconds,
        },
    )


def _whole(rank: int, paper: Paper) -> Evidence:
    """A paper as evidence by itself, with its whole abstract as the passage."""
    return Evidence(
        rank, paper, Passage(f"{paper.paper_id}/0", paper.paper_id, paper.abstract, 0, len(paper.abstract)), 1.0
    )


def _last(parts: Iterator[str | Answer]) -> Answer:
    answer = None
    for part in parts:
        answer = part
    assert isinstance(answer, Answer)
    return answer
