"""Options that commands share."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from rag.options import common, count, filtered, parse_years
from rag.settings import Settings
from rag.types import Filters


@pytest.mark.parametrize(
    ("text", "years"),
    [
        ("2024", (2024, 2024)),
        ("2024..2026", (2024, 2026)),
        ("2024..", (2024, None)),
        ("..2024", (None, 2024)),
        (" 2024 .. 2026 ", (2024, 2026)),
    ],
)
def test_years(text: str, years: tuple[int | None, int | None]) -> None:
    assert parse_years(text) == years


@pytest.mark.parametrize("text", ["", "..", "24", "2024-2026", "2026..2024", "2024 2026", "x", "2024...2026", "20245"])
def test_no_years(text: str) -> None:
    with pytest.raises(click.BadParameter, match=r"\.\.|ends before"):
        parse_years(text)


def test_a_command_gets_settings_and_filters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    seen: list[tuple[Settings, bool, Filters]] = []

    @click.command()
    @count
    @filtered
    @common
    def command(settings: Settings, as_json: bool, filters: Filters) -> None:
        seen.append((settings, as_json, filters))

    options = ["--library", "bees", "--home", str(tmp_path), "--answerer", "extractive", "--json", "-k", "3"]
    options += ["--year", "2020..", "--venue", "tmlr", "--author", "noether"]
    result = CliRunner().invoke(command, options, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    ((settings, as_json, filters),) = seen
    assert (settings.library, settings.answerer, settings.k, as_json) == ("bees", "extractive", 3, True)
    assert settings.home == tmp_path
    assert filters == Filters(2020, None, "tmlr", "noether")


def test_a_wrong_year_is_a_usage_error() -> None:
    @click.command()
    @filtered
    def command(filters: Filters) -> None:
        raise AssertionError

    result = CliRunner().invoke(command, ["--year", "soon"])
    assert result.exit_code == 2
    assert "write 2024" in result.output
