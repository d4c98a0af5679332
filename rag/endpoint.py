"""An OpenAI-compatible address, and what its failures mean to the user: foreign exceptions end here.

Every message is one line that says what happened and which setting mends it. The key never stands in one:
servers quote keys in their refusals.
"""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from rag.errors import ModelError

if TYPE_CHECKING:
    from openai import APIStatusError

OPENAI = "https://api.openai.com/v1"
_KEYLIKE = re.compile(r"\b(?:sk|gsk|pk|key|xai)[-_][^\s\"',;]{4,}|\bBearer\s+\S+", re.IGNORECASE)
_TOO_LONG = re.compile(r"context|too long|too many (?:input )?tokens|maximum.*tokens", re.IGNORECASE)


@dataclass(frozen=True)
class Endpoint:
    """Where a chat model is asked. ``timeout``: seconds of silence to bear."""

    model: str
    base_url: str
    api_key: str = field(repr=False)
    timeout: float

    @property
    def url(self) -> str:
        """The base address that requests go to."""
        return self.base_url or OPENAI

    @property
    def shown(self) -> str:
        """The same as it may be shown: without user, password and query."""
        try:
            parts = urlsplit(self.url)
        except ValueError:
            return "OPENAI_BASE_URL"
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    def usable_key(self) -> str:
        """The key to send; a word where a server of the user's own needs none.

        Raises ModelError when OpenAI's address has no key, or when the key cannot be one.
        """
        key = self.api_key.strip()
        if not key and not self.base_url:
            raise ModelError(
                f"{self.model} needs a key: set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own, "
                "or QUOTH_ANSWERER=extractive to do without an LLM"
            )
        if not re.fullmatch(r"[!-~]*", key):
            raise ModelError("OPENAI_API_KEY holds blanks or characters that no key has: paste it again")
        return key or "none"

    def explain(self, error: Exception, *, started: bool = False) -> ModelError:
        """The error for the user. ``started``: whether a part of the reply had come."""
        import openai

        if isinstance(error, openai.APITimeoutError):
            return self._silent(error, started)
        if isinstance(error, openai.APIConnectionError):
            return self._unreachable(error, started)
        if isinstance(error, openai.APIStatusError):
            return self._status(error)
        if isinstance(error, openai.APIError):  # an error that the server wrote into the stream
            return ModelError(f"{self.shown} stopped with an error{self._words(error)}: ask again", transient=True)
        if type(error).__name__ == "InvalidURL":
            return ModelError("OPENAI_BASE_URL is no usable address: write it as http://host:port/v1")
        if started:
            return ModelError(
                f"{self.shown} sent a reply that breaks OpenAI's format ({type(error).__name__}): ask again",
                transient=True,
            )
        return ModelError(
            f"{self.shown} sent no reply in OpenAI's format ({type(error).__name__}): "
            "check OPENAI_BASE_URL, which mostly ends in /v1, or ask again",
            transient=True,
        )

    def broken_off(self) -> ModelError:
        """A reply that ended before its end."""
        return ModelError(f"{self.shown} broke off in mid answer: ask again", transient=True)

    def stopped(self, reason: str, remedy: str) -> ModelError:
        """A reply whose writer was made to stop. ``reason``: the server's word for it, or ours."""
        word = re.sub(r"\W+", " ", reason)[:40].strip()
        return ModelError(
            f"{self.model} at {self.shown} stopped before the end of the answer ({word}): {remedy}", transient=True
        )

    def empty(self) -> ModelError:
        """A reply without text."""
        return ModelError(
            f"{self.model} at {self.shown} gave an empty reply: ask again, or set QUOTH_LLM_MODEL to another model",
            transient=True,
        )

    def _silent(self, error: Exception, started: bool) -> ModelError:
        if any(type(e).__name__ == "ConnectTimeout" for e in _causes(error)):
            return ModelError(f"{self.shown} cannot be reached: check OPENAI_BASE_URL and the network", transient=True)
        what = "fell silent in mid answer" if started else "sent nothing"
        return ModelError(
            f"{self.shown} {what} for {self.timeout:g} s: ask again, or raise QUOTH_LLM_TIMEOUT", transient=True
        )

    def _unreachable(self, error: Exception, started: bool) -> ModelError:
        causes = list(_causes(error))
        if started:
            return self.broken_off()
        if any(isinstance(e, socket.gaierror) for e in causes):
            return ModelError(f"the host of {self.shown} is not known: check OPENAI_BASE_URL and the network")
        if any(isinstance(e, ssl.SSLError) for e in causes):
            return ModelError(f"no secure connection with {self.shown}: check OPENAI_BASE_URL (http or https?)")
        if any(isinstance(e, ConnectionRefusedError) for e in causes):
            return ModelError(
                f"nothing listens at {self.shown}: start the server, or check OPENAI_BASE_URL", transient=True
            )
        return ModelError(
            f"the connection with {self.shown} failed: check OPENAI_BASE_URL and the network, or ask again",
            transient=True,
        )

    def _status(self, error: APIStatusError) -> ModelError:
        status, words, where = error.status_code, self._words(error), self.shown
        said = f" ({status}{words})"
        if status == 401:  # the server's words are left out: they like to quote the key
            return ModelError(f"{where} refuses the key (401): set OPENAI_API_KEY to a valid key of that service")
        if status == 402 or error.code == "insufficient_quota":
            return ModelError(f"{where} wants to be paid{said}: top up the account, or set another OPENAI_API_KEY")
        if status == 403:
            return ModelError(
                f"{where} forbids the request{said}: check that OPENAI_API_KEY may use QUOTH_LLM_MODEL={self.model}"
            )
        if status == 404 and "model" in words.lower():
            return ModelError(f"{where} has no model {self.model}{said}: set QUOTH_LLM_MODEL to one that it serves")
        if status in (404, 405):
            return ModelError(f"{where} has no chat completions{said}: check OPENAI_BASE_URL, which mostly ends in /v1")
        if status == 429:
            return ModelError(
                f"{where} takes no more requests for now{said}: wait and ask again, or raise QUOTH_LLM_RETRIES",
                transient=True,
            )
        if status in (408, 409) or status >= 500:
            return ModelError(
                f"{where} failed{said}: ask again later, or set OPENAI_BASE_URL to another server", transient=True
            )
        if status == 413 or _TOO_LONG.search(words):
            return ModelError(
                f"the abstracts are longer than {self.model} can read{said}: "
                "lower QUOTH_K, or set QUOTH_LLM_MODEL to a model that reads more"
            )
        return ModelError(f"{where} refuses the request{said}: check QUOTH_LLM_MODEL={self.model} and OPENAI_BASE_URL")

    def _words(self, error: Exception) -> str:
        """What the server said, on one short line without the key; nothing where it sent a web page."""
        body = getattr(error, "body", None)
        if isinstance(body, dict):
            inner = body.get("error", body)
            body = (inner.get("message") or inner.get("detail")) if isinstance(inner, dict) else inner
        text = " ".join(body.split()) if isinstance(body, str) else ""
        text = text.encode("utf-8", "replace").decode()  # half characters cannot be printed
        if not text or text.startswith("<"):
            return ""
        if key := self.api_key.strip():
            text = text.replace(key, "…")
        text = _KEYLIKE.sub("…", text)
        return f", “{text[:160]}…”" if len(text) > 160 else f", “{text}”"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and what led to it, down to the operating system's own."""
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__
