"""A real HTTP server on loopback that speaks OpenAI's chat protocol and says what a test tells it to.

    with LLMServer(Reply("Bees like ", "hedges. [1]"), error(429)) as server:
        ...  # ask at server.base_url; then look at server.requests

Replies are given in order; the last one is repeated.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

CUT = object()
"""As a part of a reply: the socket is closed here, in mid stream."""


class Reply:
    """What the server says: parts in the order in which they go out.

    A text is a piece of the answer, a number a silence of so many seconds, bytes go onto the wire as they are,
    and CUT closes the socket. Silence before the first text delays the status line too.
    """

    def __init__(
        self,
        *parts: object,
        usage: tuple[int, int] | None = (11, 7),
        finish: str | None = "stop",
    ) -> None:
        self.parts = parts
        self.usage = usage
        self.finish = finish

    @property
    def text(self) -> str:
        """The whole answer."""
        return "".join(p for p in self.parts if isinstance(p, str))


@dataclass(frozen=True)
class Failure:
    """A status instead of a reply. ``body``: JSON, or a text sent as HTML."""

    status: int
    body: Mapping[str, Any] | str
    headers: Mapping[str, str] = field(default_factory=dict)


def error(status: int, message: str = "no", code: str | None = None, **headers: str) -> Failure:
    """A failure with OpenAI's error body; ``retry_after_ms="1"`` becomes the header ``retry-after-ms``."""
    body = {"error": {"message": message, "type": "error", "param": None, "code": code}}
    return Failure(status, body, {name.replace("_", "-"): value for name, value in headers.items()})


@dataclass
class Request:
    """What a client asked. ``hung_up``: it left before the reply was out."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    hung_up: bool = False

    @property
    def prompt(self) -> str:
        """All messages as one text."""
        return "\n".join(m["content"] for m in self.body["messages"])


class LLMServer:
    """The server as a context manager."""

    model = "test-model"

    def __init__(self, *replies: Reply | Failure) -> None:
        self.requests: list[Request] = []
        self._replies = list(replies) or [Reply("Yes. [1]")]
        self._turn = threading.Lock()
        self.closing = threading.Event()
        handler = type("Handler", (_Handler,), {"owner": self})
        self._http = _HTTPServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    @property
    def base_url(self) -> str:
        """The value for OPENAI_BASE_URL."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def script(self, *replies: Reply | Failure) -> None:
        """Say these from now on."""
        with self._turn:
            self._replies = list(replies)

    def take(self, request: Request) -> Reply | Failure:
        """Note the request and give the next reply."""
        with self._turn:
            self.requests.append(request)
            return self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]

    def __enter__(self) -> LLMServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()


class _HTTPServer(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: a client that leaves is part of the play."""


class _Handler(BaseHTTPRequestHandler):
    owner: LLMServer
    protocol_version = "HTTP/1.1"
    wbufsize = 0

    def do_GET(self) -> None:
        models = {"object": "list", "data": [{"id": self.owner.model, "object": "model", "owned_by": "test"}]}
        if self.path == "/v1/models":
            self._whole(200, models)
        else:
            self._whole(404, {"detail": "Not Found"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/v1/chat/completions":
            self._whole(404, {"detail": "Not Found"})
            return
        request = Request(self.path, {k.lower(): v for k, v in self.headers.items()}, body)
        reply = self.owner.take(request)
        try:
            if isinstance(reply, Failure):
                self._whole(reply.status, reply.body, reply.headers)
            elif body.get("stream"):
                self._stream(reply, bool((body.get("stream_options") or {}).get("include_usage")))
            else:
                self._whole(200, self._completion(reply))
        except OSError:
            request.hung_up = True
            self.close_connection = True

    def _whole(self, status: int, body: Mapping[str, Any] | str, headers: Mapping[str, str] | None = None) -> None:
        html = isinstance(body, str)
        data = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html" if html else "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def _completion(self, reply: Reply) -> dict[str, Any]:
        message = {"role": "assistant", "content": reply.text}
        choices = [{"index": 0, "message": message, "finish_reason": reply.finish}]
        whole = {**self._frame("chat.completion"), "choices": choices}
        return whole | ({"usage": _usage(reply.usage)} if reply.usage else {})

    def _stream(self, reply: Reply, with_usage: bool) -> None:
        begun = False
        for part in reply.parts:
            if isinstance(part, (int, float)):
                self.owner.closing.wait(part)
                continue
            if not begun:
                begun = self._begin()
            if part is CUT:
                self.close_connection = True
                return
            self._send(part if isinstance(part, bytes) else self._delta({"content": part}))
        if not begun:
            self._begin()
        if reply.finish:
            self._send(self._delta({}, reply.finish))
        if with_usage and reply.usage:
            chunk = {**self._frame("chat.completion.chunk"), "choices": [], "usage": _usage(reply.usage)}
            self._send(_event(chunk))
        self._send(b"data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def _begin(self) -> bool:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self._send(self._delta({"role": "assistant", "content": ""}))
        return True

    def _send(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def _delta(self, delta: dict[str, object], finish: str | None = None) -> bytes:
        choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
        return _event({**self._frame("chat.completion.chunk"), "choices": choices})

    def _frame(self, kind: str) -> dict[str, Any]:
        return {"id": "chatcmpl-1", "object": kind, "created": 1, "model": self.owner.model}

    def log_message(self, *_: Any) -> None:
        """Nothing: tests are quiet."""


def _event(chunk: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode()


def _usage(counts: Iterable[int]) -> dict[str, int]:
    prompt, completion = counts
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
