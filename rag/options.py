"""Options that commands share: they become a ``Settings``, which the command gets ready-made."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import click

from rag.settings import load_settings
from rag.types import Filters


def common(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--library --home --answerer --json -v``; the command gets ``settings`` and ``as_json``."""

    @click.option("--library", metavar="NAME", help="Library in use (default: default).")
    @click.option("--home", metavar="DIR", type=click.Path(file_okay=False), help="Folder that holds the libraries.")
    @click.option("--answerer", type=click.Choice(["auto", "extractive", "llm"]), help="Who writes the answer.")
    @click.option("--json", "as_json", is_flag=True, help="Machine-readable output on stdout.")
    @click.option("-v", "--verbose", is_flag=True, help="Log what happens, on stderr.")
    @functools.wraps(command)
    def wrapped(
        *args: Any,
        library: str | None,
        home: str | None,
        answerer: str | None,
        as_json: bool,
        verbose: bool,
        **more: Any,
    ) -> Any:
        if verbose:
            import logging

            logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
        settings = load_settings(library=library, home=home, answerer=answerer, k=more.pop("k", None))
        return command(*args, settings=settings, as_json=as_json, **more)

    return wrapped


def count(command: Callable[..., Any]) -> Callable[..., Any]:
    """``-k``: papers given to the answerer, or shown. Put it above ``common``."""
    return click.option("-k", "k", type=click.IntRange(1, 50), help="Papers to use (default: 5).")(command)


def filtered(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--year --venue --author``; the command gets ``filters``."""

    @click.option("--year", metavar="YEARS", help="2024, 2024..2026, 2024.. or ..2024")
    @click.option("--venue", metavar="TEXT", default="", help="Part of the venue's name.")
    @click.option("--author", metavar="TEXT", default="", help="Part of an author's name.")
    @functools.wraps(command)
    def wrapped(*args: Any, year: str | None, venue: str, author: str, **more: Any) -> Any:
        first, last = parse_years(year) if year else (None, None)
        return command(*args, filters=Filters(first, last, venue, author), **more)

    return wrapped


def parse_years(text: str) -> tuple[int | None, int | None]:
    """``2024`` → (2024, 2024), ``2024..`` → (2024, None), ``..2024`` → (None, 2024), ``2024..2026``.

    Raises click.BadParameter for anything else, and for a range that ends before it starts.
    """
    m = re.fullmatch(r"\s*(\d{4})?\s*(\.\.)?\s*(\d{4})?\s*", text)
    if not m or not (m[1] or m[3]) or (m[1] and m[3] and not m[2]):
        raise click.BadParameter(f"{text!r}: write 2024, 2024..2026, 2024.. or ..2024", param_hint="--year")
    first, last = (int(m[1]) if m[1] else None), (int(m[3]) if m[3] else None)
    if not m[2]:
        last = first
    if first is not None and last is not None and first > last:
        raise click.BadParameter(f"{text!r}: the range ends before it starts", param_hint="--year")
    return first, last
