"""The answerer with an LLM, at any OpenAI-compatible endpoint: the only file that knows LangChain's chat models.

It writes text with ``[n]`` markers over numbered abstracts and believes nothing: ``rag.verify`` checks every sentence.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rag import environment, prompts
from rag.endpoint import Endpoint
from rag.types import Brief, Evidence, Turn

if TYPE_CHECKING:
    from langchain_core.messages import AIMessageChunk
    from langchain_core.runnables import Runnable

REFUSAL = "NOT_IN_CORPUS"
"""What the model writes, alone, when the abstracts do not answer."""

# Characters, not tokens: a token counter would have to be fetched, and three to four characters make one in English.
_ABSTRACT = 6_000  # a longer abstract is given by its best passage
_EVIDENCE = 100_000  # all abstracts together; the lowest ranks fall away
_REPLY = 8_000  # a model that does not stop by itself is stopped
_TURN = 1_500
_TURNS = 4
_COMPLETE = frozenset({"stop", "stop_sequence", "end_turn", "eos", "eos_token"})  # finish reasons, by server
_REMEDIES = {
    "length": "raise the server's limit of tokens, or ask a narrower question",
    "content_filter": "ask in other words, or set QUOTH_LLM_MODEL to another model",
}
_CONNECT = 10.0  # seconds; a host that does not take the call in this time is not there

_REASONING = re.compile(r"(?:.*/)?(?:o\d|gpt-5(?!.*chat))")  # these refuse a temperature
# What could be taken for our own fences or markers inside an abstract.
_FENCE = re.compile(r"[<＜](?=\s*/?\s*(?:abstract|conversation|question)\b)", re.IGNORECASE)
_NUMBERS = re.compile(r"\\?[\[【［]\s*(\d+(?:\s*[,，;–-]\s*\d+)*)\s*\\?[\]】］]")
_ESCAPED = re.compile(r"\\\[(.*?)\\\]")
_LEAD = re.compile(r"^(?:(?:rewritten|standalone|last)\s*)?(?:question)?\s*[:：]\s*", re.IGNORECASE)
_WRAPPING = " \"“”'`*"
_MARKER = re.compile(r"\s*\[\d+\]")


class LLMAnswerer:
    """A chat model as ``rag.types.Answerer``. Nothing is loaded or asked before the first question.

    Every failure is a ModelError; pieces that came before it stay yielded.
    """

    def __init__(
        self, model: str, base_url: str = "", api_key: str = "", timeout: float = 120, retries: int = 2
    ) -> None:
        self.name = f"openai:{model}"
        self.usage = {"input_tokens": 0, "output_tokens": 0}
        """Tokens of the latest call, complete when its stream has ended; every call makes a new dict."""
        self._endpoint = Endpoint(model, base_url, api_key, timeout)
        self._retries = retries
        # What a server may refuse; `_chunks` then does without.
        self._options: dict[str, Any] = {"stream_usage": True}
        if not _REASONING.match(model.lower()):
            self._options["temperature"] = 0
        self._model: Any = None

    def stream(self, brief: Brief, evidence: Sequence[Evidence], history: Sequence[Turn] = (), /) -> Iterator[str]:
        """The answer in pieces, or REFUSAL. Markers are ranks of the evidence."""
        if not evidence:
            return iter((REFUSAL,))
        talk = _conversation(history, markers=False)
        user = prompts.load(
            "answer_user",
            evidence=_abstracts(evidence),
            history=f"<conversation>\n{talk}\n</conversation>\n\n" if talk else "",
            question=_harmless(brief.standalone),
        )
        return self._reply(user, system=prompts.load("answer_system"))

    def stream_summary(self, evidence: Sequence[Evidence]) -> Iterator[str]:
        """Problem, method and result of the papers in pieces."""
        user = prompts.load("summary_user", evidence=_abstracts(evidence))
        return self._reply(user, system=prompts.load("answer_system"))

    def standalone(self, question: str, history: Sequence[Turn], /) -> str:
        """The question, understandable without the conversation; unchanged when there is none."""
        talk = _conversation(history, markers=True)
        if not talk:
            return question
        reply = "".join(self._reply(prompts.load("standalone", history=talk, question=_harmless(question)))).strip()
        first = _LEAD.sub("", _MARKER.sub("", reply.splitlines()[0]).strip(_WRAPPING)).strip(_WRAPPING)
        # A weak model may answer or ramble instead; then the user's own words are the better query.
        return first if first and len(first) <= 2 * len(question) + 200 else question

    def _reply(self, user: str, system: str = "") -> Iterator[str]:
        self.usage = {"input_tokens": 0, "output_tokens": 0}
        return self._checked(_without_thoughts(_whole_characters(self._pieces(user, system, self.usage))))

    def _checked(self, pieces: Iterator[str]) -> Iterator[str]:
        left, empty = _REPLY, True
        for piece in pieces:
            if kept := piece[:left]:
                yield kept
            left -= len(piece)
            empty = empty and not kept.strip()
            if left < 0:
                break
        del pieces  # hangs up, if the model still writes
        if empty:
            raise self._endpoint.empty()
        if left < 0:
            remedy = "ask a narrower question, or set QUOTH_LLM_MODEL to another model"
            raise self._endpoint.stopped(f"longer than {_REPLY} characters", remedy)

    def _pieces(self, user: str, system: str, usage: dict[str, int]) -> Iterator[str]:
        started, reason = False, ""
        for chunk in self._chunks(user, system):
            started = True
            reason = str(chunk.response_metadata.get("finish_reason") or reason)
            if chunk.usage_metadata:
                usage["input_tokens"] = chunk.usage_metadata["input_tokens"]
                usage["output_tokens"] = chunk.usage_metadata["output_tokens"]
            if text := str(chunk.text):
                yield text
        if started and not reason:  # the socket was closed in good order, but before the answer's end
            raise self._endpoint.broken_off()
        if reason and reason.lower() not in _COMPLETE:
            remedy = _REMEDIES.get(reason.lower(), "ask again, or set QUOTH_LLM_MODEL to another model")
            raise self._endpoint.stopped(reason, remedy)

    def _chunks(self, user: str, system: str) -> Iterator[AIMessageChunk]:
        key, options, started = self._endpoint.usable_key(), dict(self._options), False
        try:
            for chunk in self._chain(key, system, options).stream({"system": system, "user": user}):
                started = True
                yield chunk
            return
        except Exception as e:  # the one border to foreign code: openai, httpx and langchain raise many kinds
            refused = None if started else _refused_option(e, options)
            if refused is None:
                raise self._endpoint.explain(e, started=started) from None  # the foreign text may hold the key
        self._options = {name: value for name, value in options.items() if name != refused}
        yield from self._chunks(user, system)

    def _chain(self, key: str, system: str, options: dict[str, Any]) -> Runnable[dict[str, str], AIMessageChunk]:
        environment.prepare(offline=False)  # before LangChain: it may trace to a service
        # LangChain dumps every chunk; of an odd one Pydantic would tell the user's terminal.
        warnings.filterwarnings("ignore", "Pydantic serializer warnings", UserWarning)
        from langchain.chat_models import init_chat_model
        from langchain_core.prompts import ChatPromptTemplate
        from openai import Timeout

        if self._model is None:
            self._model = init_chat_model(
                f"openai:{self._endpoint.model}",
                base_url=self._endpoint.url,
                api_key=key,
                timeout=Timeout(self._endpoint.timeout, connect=min(self._endpoint.timeout, _CONNECT)),
                max_retries=self._retries,
                use_responses_api=False,  # local servers speak Chat Completions only
            )
        messages = [("system", "{system}")] if system else []
        prompt = ChatPromptTemplate.from_messages([*messages, ("human", "{user}")])
        chain: Runnable[dict[str, str], AIMessageChunk] = prompt | self._model.bind(**options)
        return chain


def _refused_option(error: Exception, options: dict[str, Any]) -> str | None:
    """The option that the server does not know, if that is what it complains of."""
    if getattr(error, "status_code", None) not in (400, 422):
        return None
    names = {"temperature": "temperature", "stream_usage": "stream_options"}
    return next((option for option in options if names[option] in str(error)), None)


def _abstracts(evidence: Sequence[Evidence]) -> str:
    """The numbered abstracts, each in a fence that its text cannot leave."""
    blocks: list[str] = []
    left = _EVIDENCE
    for e in evidence:
        whole = e.paper.abstract
        text = _harmless(whole if 0 < len(whole) <= _ABSTRACT else _cut(e.passage.text, _ABSTRACT))
        left -= len(text)
        if blocks and left < 0:
            break
        title = f"Title: {' '.join(_harmless(e.paper.title).split())}\n" if e.paper.title else ""
        blocks.append(f'<abstract number="{e.rank}">\n{title}{text}\n</abstract>')
    return "\n\n".join(blocks)


def _conversation(history: Sequence[Turn], markers: bool) -> str:
    """The last turns as text. Their markers number the papers of an earlier answer: keep them only to say "[2]"."""
    lines = []
    for turn in history[-_TURNS:]:
        text = _ESCAPED.sub(r"(\1)", turn.content)
        text = text if markers else _MARKER.sub("", text)
        text = _cut(" ".join(_FENCE.sub("‹", text).split()), _TURN)
        if text:
            lines.append(f"{'User' if turn.role == 'user' else 'Assistant'}: {text}")
    return "\n".join(lines)


def _harmless(text: str) -> str:
    """Text that cannot pose as a fence or as a marker: ``[3]`` becomes ``(3)``."""
    return _NUMBERS.sub(r"(\1)", _FENCE.sub("‹", text))


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[:length].rsplit(" ", 1)[0] + " …"


def _whole_characters(pieces: Iterator[str]) -> Iterator[str]:
    """Join the halves of a character that a server put into two pieces; U+FFFD for a half without its other."""
    held = ""
    for piece in pieces:
        text = held + piece
        held = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        whole = text[: len(text) - len(held)]
        if whole:
            yield whole.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if held:
        yield "\ufffd"


def _without_thoughts(pieces: Iterator[str]) -> Iterator[str]:
    """Drop the ``<think>…</think>`` that some local servers leave at the head of a reply."""
    head = ""
    for piece in pieces:
        head += piece
        begun = head.lstrip()
        if begun.startswith("<think>"):
            if "</think>" in begun:
                head = begun.partition("</think>")[2].lstrip()
                break
        elif not "<think>".startswith(begun):
            break
    if head and not head.lstrip().startswith("<think>"):
        yield head
    yield from pieces
