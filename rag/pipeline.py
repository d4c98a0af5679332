"""The flow on one screen: question → brief → evidence → marked text → verified answer."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from rag import abstain, prompts, summarize
from rag.errors import CorpusError, ModelError
from rag.extract import ExtractiveAnswerer
from rag.followup import make_brief
from rag.index import follow_if_free
from rag.lexical import LexicalIndex
from rag.relevance import Candidate, SentenceEncoder, missing_names, missing_words, rank_sentences, word_weights
from rag.settings import Settings
from rag.store import Store
from rag.text import is_cjk
from rag.types import Answer, Answerer, Brief, Embedder, Evidence, Filters, Paper, Passage, Retriever, Sentence, Turn
from rag.verify import Verified, verify

_NEAREST = 3  # papers named when none answers
# A stop at the end of a word, with quotes and markers behind it; a marker without a stop ends an item of a list.
_MARKERS = r"(?:\s*[\[【]\d+(?:\s*[,;–-]\s*\d+)*[\]】])"
_END = re.compile(rf"[.!?…][\"'”’)*_]*{_MARKERS}*(?=\s)|[。！？]{_MARKERS}*|{_MARKERS}+[.!?。]?(?=\s|$)")


class LLM(Answerer, Protocol):
    """What the pipeline asks of a language model beyond answering."""

    @property
    def usage(self) -> dict[str, int]: ...

    def standalone(self, question: str, history: Sequence[Turn], /) -> str: ...

    def stream_summary(self, evidence: Sequence[Evidence], /) -> Iterator[str]: ...


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


@dataclass
class _Draft:
    """A text on its way to an answer."""

    answerer: str
    text: str = ""
    notices: list[str] = field(default_factory=list)
    usage: dict[str, int] = field(default_factory=lambda: {"input_tokens": 0, "output_tokens": 0})
    generate: float = 0.0

    def start_anew(self) -> None:
        """Drop what a model wrote; quotes take its place."""
        self.answerer, self.text = "extractive", ""
        self.notices.append("No abstract supports what the model wrote: these are quotes instead.")


class Quoth:
    """One open library with its retriever and answerers. Made by ``rag.build.open_quoth``."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        lexical: LexicalIndex,
        retriever: Retriever,
        embedder: Embedder | None = None,
        llm: LLM | None = None,
        notices: Sequence[str] = (),
    ) -> None:
        self.settings = settings
        self._store, self._lexical, self._retriever = store, lexical, retriever
        self._embedder, self._llm, self._notices = embedder, llm, tuple(notices)
        self._encoder = SentenceEncoder(embedder) if embedder is not None else None

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
        self._refresh()
        notices = list(self._notices)
        rewrite = None
        if self._llm is not None and history:
            llm = self._llm

            def rewrite(question: str) -> str:
                try:
                    return llm.standalone(question, history)
                except ModelError as e:
                    notices.append(f"The question was taken as typed: {e}")
                    return question

        brief = make_brief(question, history, rewrite)
        k = self.settings.k
        found = self._retriever.search(brief, max(k, depth or 0), filters)
        return Found(
            brief,
            tuple(found[:k]),
            tuple(e.paper.paper_id for e in found),
            tuple(history),
            filters,
            time.perf_counter() - started,
            tuple(notices),
        )

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
        sure = abstain.answerability(weights, len(self._store.catalog()), evidence, ranked)
        unread = self._unread(brief)
        draft = _Draft("extractive", notices=list(found.notices))
        if unread:
            draft.notices.append(unread)
        verified = Verified("", (), (), False)
        verifying = 0.0
        threshold = self.settings.abstain_below
        if sure >= (abstain.THRESHOLD if threshold is None else threshold) and not unread:
            yield from self._write(found, ranked, draft)
            draft.generate = time.perf_counter() - started
            verified = self._verify(draft.text, evidence)
            if self._failed(draft, verified):
                draft.start_anew()
                yield from self._extract(found, ranked, draft)
                verified = replace(self._verify(draft.text, evidence), unsupported=verified.unsupported)
            verifying = time.perf_counter() - started - draft.generate
        yield self._answer(found, draft, verified, sure, started, verifying)

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
        """A cited summary of papers, by id, alias or label: problem, method, result. Streams like ``stream``."""
        self._refresh()
        started = time.perf_counter()
        evidence = tuple(self._as_evidence(n, self.paper(name)) for n, name in enumerate(papers, 1))
        bare = ", ".join(e.paper.label for e in evidence if not e.paper.abstract)
        if not any(e.paper.abstract for e in evidence):
            raise CorpusError(f"there is no abstract to summarise: {bare}")
        title = ", ".join(e.paper.title or e.paper.label for e in evidence)
        found = Found(
            Brief(title, title),
            evidence,
            tuple(e.paper.paper_id for e in evidence),
            seconds=time.perf_counter() - started,
            notices=self._notices,
        )
        draft = _Draft("extractive", notices=list(found.notices))
        if bare:
            draft.notices.append(f"Without an abstract: {bare}")
        if self._llm is not None:
            yield from self._by_llm(self._llm, self._llm.stream_summary(evidence), draft)
        if not draft.text:
            yield from self._key_sentences(evidence, draft)
        draft.generate = time.perf_counter() - started
        verified = self._verify(draft.text, evidence)
        if draft.answerer != "extractive" and not verified.citations:  # there is nothing that it could refuse
            draft.start_anew()
            yield from self._key_sentences(evidence, draft)
            verified = replace(self._verify(draft.text, evidence), unsupported=verified.unsupported)
        verifying = time.perf_counter() - started - draft.generate
        yield self._answer(found, draft, verified, 1.0, started, verifying, asked=False)

    def summarize(self, papers: Sequence[str]) -> Answer:
        """The verified summary."""
        return _last(self.stream_summary(papers))

    # -- the library ------------------------------------------------------------------------------------------------

    def papers(self) -> list[Paper]:
        """Cards of all papers, abstracts left out, in the order of their sources."""
        self._refresh()
        return [entry.paper for entry in self._store.catalog().values()]

    def paper(self, name: str) -> Paper:
        """A paper with its abstract, by id, alias or unique label. Raises CorpusError for any other name."""
        paper_id = resolve(name, [e.paper for e in self._store.catalog().values()])
        return self._store.papers([paper_id])[paper_id]

    def fingerprint(self) -> dict[str, str]:
        """What the library is made of: digests of its papers and of the encoder behind its vectors."""
        self._refresh()
        contents = sorted(entry.content_sha for entry in self._store.catalog().values())
        encoder = json.dumps(self._store.embedder, sort_keys=True)
        return {
            "papers": hashlib.sha256("\n".join(contents).encode()).hexdigest(),
            "embedder": hashlib.sha256(encoder.encode()).hexdigest(),
        }

    # -- inside -----------------------------------------------------------------------------------------------------

    def _write(self, found: Found, ranked: Sequence[Candidate], draft: _Draft) -> Iterator[str]:
        if self._llm is not None:
            written = self._llm.stream(found.brief, found.evidence, found.history)
            yield from self._by_llm(self._llm, written, draft)
        if not draft.text:
            yield from self._extract(found, ranked, draft)

    def _extract(self, found: Found, ranked: Sequence[Candidate], draft: _Draft) -> Iterator[str]:
        for piece in ExtractiveAnswerer(ranked).stream(found.brief, found.evidence, found.history):
            draft.text += piece
            yield piece

    def _key_sentences(self, evidence: Sequence[Evidence], draft: _Draft) -> Iterator[str]:
        for piece in summarize.stream_summary(evidence):
            draft.text += piece
            yield piece

    def _verify(self, text: str, evidence: Sequence[Evidence]) -> Verified:
        return verify(text, evidence, self._encoder.vectors if self._encoder else None)

    def _failed(self, draft: _Draft, verified: Verified) -> bool:
        """Whether a model answered and nothing of it stands, without having said that the corpus does not tell."""
        return draft.answerer != "extractive" and not verified.citations and not verified.refused

    def _by_llm(self, llm: LLM, pieces: Iterator[str], draft: _Draft) -> Iterator[str]:
        """Take the LLM's text; where it fails, what came is kept if it holds a whole sentence.

        With the answerer chosen by hand (``llm``) a failure without any text is an error; else the extractive
        answerer takes over, and a notice says so.
        """
        usage = llm.usage  # this stream's own; another question on another thread makes another
        try:
            for piece in pieces:
                draft.text += piece
                yield piece
        except ModelError as e:
            draft.text = _whole_sentences(draft.text)
            if draft.text:
                draft.notices.append(f"The answer may be incomplete: {e}")
            elif self.settings.answerer == "llm" or not e.transient:
                raise
            else:
                draft.notices.append(f"Answered without the LLM: {e}")
        if draft.text:
            draft.answerer, draft.usage = llm.name, dict(usage)

    def _answer(
        self,
        found: Found,
        draft: _Draft,
        verified: Verified,
        sure: float,
        started: float,
        verifying: float,
        *,
        asked: bool = True,
    ) -> Answer:
        """``asked``: there was a question; a summary has none."""
        brief, evidence = found.brief, found.evidence
        status = verified.status
        text = verified.text
        nearest: tuple[Evidence, ...] = ()
        missing: tuple[str, ...] = ()
        shown = [c.paper for c in verified.citations] or [e.paper for e in evidence]
        said = " ".join(f"{p.title} {p.abstract}" for p in shown)
        if status == "answered":
            # What is asked of a name that the cited abstracts do not have cannot have been answered in full.
            missing = missing_names(brief.question, said) if asked else ()
            status = "partial" if missing else status
        else:
            missing = missing_words(brief.question, said)
        if status == "not_in_corpus":
            language = "zh" if is_cjk(brief.question) else "en"
            small_talk = abstain.is_small_talk(brief.question)
            nearest = () if small_talk else evidence[:_NEAREST]
            missing = () if small_talk else missing
            text = prompts.load(f"{'small_talk' if small_talk else 'not_in_corpus'}_{language}")
        spent = time.perf_counter() - started
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
            notices=tuple(draft.notices),
            answerer=draft.answerer,
            usage=draft.usage,
            seconds={
                "retrieve": found.seconds,
                "generate": draft.generate,
                "verify": verifying,
                "total": found.seconds + spent,
            },
        )

    def _unread(self, brief: Brief) -> str:
        """Why the encoder cannot read the question, or nothing."""
        english_only = self._embedder is not None and self._embedder.identity["model"] == "all-MiniLM-L6-v2"
        if english_only and is_cjk(brief.standalone):
            return prompts.load("unread_zh")
        return ""

    def _as_evidence(self, rank: int, paper: Paper) -> Evidence:
        whole = Passage(f"{paper.paper_id}/0", paper.paper_id, paper.abstract, 0, len(paper.abstract))
        return Evidence(rank, paper, whole, 1.0)

    def _refresh(self) -> None:
        if self._store.refresh():
            self._lexical.reload()
            follow_if_free(self._store, self._lexical, self.settings.library_folder)


def resolve(name: str, papers: Sequence[Paper]) -> str:
    """The paper_id that a name means: an id, an alias, or a label that one paper only has (case does not count).

    Raises CorpusError when none or several answer to it.
    """
    for paper in papers:
        if name == paper.paper_id:
            return name
    matches = [p.paper_id for p in papers if name in p.aliases]
    matches = matches or [p.paper_id for p in papers if name.casefold() == p.label.casefold()]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise CorpusError(f"{len(matches)} papers have the label {name!r}: use one of the ids {', '.join(matches[:5])}")
    raise CorpusError(f"there is no paper {name!r} in this library: `quoth papers list` shows ids and labels")


def resolve_filters(filters: Filters, papers: Sequence[Paper]) -> Filters:
    """Filters with every named paper as its id."""
    return replace(filters, papers=tuple(resolve(name, papers) for name in filters.papers))


def _whole_sentences(text: str) -> str:
    """What a broken-off text says in whole sentences or lines."""
    ends = [m.end() for m in _END.finditer(text)]
    return text[: ends[-1]].strip() if ends else ""


def _last(parts: Iterator[str | Answer]) -> Answer:
    answer = None
    for part in parts:
        answer = part
    assert isinstance(answer, Answer)
    return answer
