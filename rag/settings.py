"""All settings, typed and frozen. Order: explicit argument, environment (``QUOTH_*``), ``.env``, default."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from platformdirs import user_data_path
from pydantic import AliasChoices, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from rag.errors import SettingsError

PREFIX = "QUOTH_"
LIBRARY_NAME = r"[A-Za-z0-9][A-Za-z0-9_-]{0,47}"


class Settings(BaseSettings):
    """What a user may set. The docstring under a field is its line in ``.env.example``."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_ignore_empty=True,
        env_file_encoding="utf-8-sig",
        extra="ignore",
        frozen=True,
        populate_by_name=True,
        use_attribute_docstrings=True,
    )

    home: Path = Field(default_factory=lambda: user_data_path("quoth", appauthor=False))
    """Folder that holds the libraries; empty: the platform's user data folder."""
    library: str = "default"
    """Library in use; each has its own papers and index."""
    chroma_url: str = Field(default="", pattern=r"^$|^https?://[^\s/]+(/\S*)?$")
    """Chroma server, as http://host:8000 or https://host/tenant/database; empty: embedded, on disk."""
    chroma_token: SecretStr | None = None
    """Token of that server, if it wants one."""
    embedding_model: str = "bundled"
    """Encoder: bundled (all-MiniLM-L6-v2), a sentence-transformers name or folder, or openai:<model>."""
    embedding_dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    """Number format while encoding; auto: bfloat16 where the processor computes in it."""
    passage_tokens: int = Field(default=0, ge=0)
    """Longest passage in tokens of the encoder; 0: all that it reads."""
    retriever: Literal["hybrid", "dense", "lexical"] = "hybrid"
    """How papers are found: hybrid, dense (meaning) or lexical (words; needs no encoder)."""
    reranker: str = ""
    """Cross-encoder that reorders the best papers, a sentence-transformers name or folder; empty: off."""
    k: int = Field(default=5, ge=1, le=50)
    """Papers given to the answerer, or shown by search."""
    abstain_below: float | None = Field(default=None, ge=0, le=1)
    """Answerability under which quoth says that the corpus does not tell; empty: the calibrated threshold."""
    answerer: Literal["auto", "extractive", "llm"] = "auto"
    """Who writes: auto (the LLM where one is set), extractive (verbatim sentences) or llm."""
    llm_model: str = ""
    """Chat model at OPENAI_BASE_URL, for instance gpt-5-mini or llama3.2; empty: extractive answers."""
    llm_timeout: float = Field(default=120, gt=0)
    """Seconds to wait for the LLM to start or go on."""
    llm_retries: int = Field(default=2, ge=0, le=10)
    """How often a request that failed for a passing reason is sent again."""
    openai_api_key: SecretStr | None = Field(
        default=None, validation_alias=AliasChoices("OPENAI_API_KEY", "openai_api_key")
    )
    """Key of the OpenAI-compatible endpoint; local servers take any word."""
    openai_base_url: str = Field(
        default="", pattern=r"^$|^https?://\S+$", validation_alias=AliasChoices("OPENAI_BASE_URL", "openai_base_url")
    )
    """Address of the OpenAI-compatible endpoint; empty: OpenAI's own."""

    @field_validator("home")
    @classmethod
    def _expanded(cls, home: Path) -> Path:
        return home.expanduser()

    @field_validator("library")
    @classmethod
    def _nameable(cls, library: str) -> str:
        if not re.fullmatch(LIBRARY_NAME, library):
            raise ValueError("a library's name has letters, digits, - and _, at most 48, the first a letter or digit")
        return library

    @field_validator("chroma_url", "openai_base_url")
    @classmethod
    def _an_address(cls, url: str) -> str:
        try:
            parts = urlsplit(url)
            usable = not url or bool(parts.hostname and parts.port != 0)
        except ValueError:  # a port that is none, or a bracket without its other
            usable = False
        if not usable:
            raise ValueError("not an address: write http://host:port")
        return url

    @property
    def library_folder(self) -> Path:
        """Where this library keeps its files."""
        return self.home / "libraries" / self.library

    def key(self) -> str:
        """The API key in clear, or an empty text. Never log it."""
        return self.openai_api_key.get_secret_value() if self.openai_api_key else ""


def variable(field: str) -> str:
    """The environment name of a field: ``k`` → ``QUOTH_K``, ``openai_api_key`` → ``OPENAI_API_KEY``."""
    return field.upper() if field.startswith("openai_") else PREFIX + field.upper()


def load_settings(env_file: Path | None = Path(".env"), **given: Any) -> Settings:
    """Settings from arguments (None: not given), environment and ``.env``.

    Raises SettingsError for a bad value or an unknown ``QUOTH_*`` name, naming the nearest known one.
    """
    if env_file is not None and not env_file.is_file():
        env_file = None
    if wrong := given.keys() - Settings.model_fields.keys():
        raise TypeError(f"no such settings: {', '.join(sorted(wrong))}")
    try:
        _refuse_unknown(os.environ, "the environment")
        if env_file:
            _refuse_unknown(_names_in(env_file), str(env_file))
        return Settings(_env_file=env_file, **{k: v for k, v in given.items() if v is not None})  # type: ignore[call-arg]
    except ValidationError as e:
        first = e.errors(include_url=False, include_input=False)[0]
        name = str(first["loc"][0]) if first["loc"] else "settings"
        field = name.lower().removeprefix(PREFIX.lower())
        raise SettingsError(
            f"{variable(field)}: {first['msg'].removeprefix('Value error, ')}; see .env.example for what it takes"
        ) from None
    except UnicodeDecodeError:
        raise SettingsError(f"{env_file} is not UTF-8 text: save it as UTF-8") from None


def _names_in(env_file: Path) -> dict[str, str]:
    lines = env_file.read_text(encoding="utf-8-sig").splitlines()
    names = (line.strip().removeprefix("export ").partition("=")[0].strip() for line in lines)
    return {name: "" for name in names if name and not name.startswith("#")}


def _refuse_unknown(names: Mapping[str, str], where: str) -> None:
    known = [variable(f) for f in Settings.model_fields]
    own = [name.removeprefix(PREFIX) for name in known if name.startswith(PREFIX)]
    for name in names:
        if name.upper().startswith(PREFIX) and name.upper() not in known:
            near = difflib.get_close_matches(name.upper().removeprefix(PREFIX), own, 1, 0.6)
            remedy = f"did you mean {PREFIX}{near[0]}?" if near else ".env.example lists them all"
            raise SettingsError(f"{name} in {where} is no setting of quoth; {remedy}")
