"""The texts that are sent to a model or shown as they are: one plain file each in ``prompts/``.

A file holds ``{variables}``; literal braces in it are written ``{{ }}``. Braces in a value are just text.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from string import Formatter

from rag.errors import SettingsError

FOLDER = Path(__file__).parents[1] / "prompts"


def load(name: str, /, **variables: str) -> str:
    """The text of ``prompts/<name>.txt`` with its variables filled.

    Raises SettingsError when the file is missing or broken, or when its variables are not those that are given:
    an edited prompt that lost its ``{question}`` must not go unnoticed.
    """
    parts = _parts(FOLDER / f"{name}.txt")
    wanted = {variable for _, variable in parts if variable is not None}
    if wanted != variables.keys():
        listed = ", ".join(f"{{{v}}}" for v in sorted(variables)) or "no variables"
        found = ", ".join(f"{{{v}}}" for v in sorted(wanted)) or "none"
        raise SettingsError(f"prompts/{name}.txt must use {listed}, but has {found}: mend the file")
    return "".join(text + (variables[variable] if variable is not None else "") for text, variable in parts)


def variables(name: str) -> set[str]:
    """Names of the variables that a prompt uses."""
    return {variable for _, variable in _parts(FOLDER / f"{name}.txt") if variable is not None}


@lru_cache
def _parts(file: Path) -> tuple[tuple[str, str | None], ...]:
    """The file as (text, variable after it or None)."""
    shown = f"prompts/{file.name}"
    try:
        text = file.read_text(encoding="utf-8").strip()
        parsed = list(Formatter().parse(text))
    except FileNotFoundError:
        raise SettingsError(f"{shown} is missing: restore it, or install quoth again") from None
    except OSError as e:
        raise SettingsError(f"{shown} cannot be read: {e.strerror}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{shown} is not UTF-8 text: save it as UTF-8") from None
    except ValueError as e:
        raise SettingsError(f"{shown} has a brace out of place ({e}): write a literal brace twice") from None
    for _, field, spec, conversion in parsed:
        if field is not None and (not field.isidentifier() or spec or conversion):
            raise SettingsError(f"{shown}: {{{field}}} is no plain variable: write a literal brace twice")
    return tuple((literal, field) for literal, field, _, _ in parsed)
