"""Structured replies of language models, which are not always what was asked for."""

from __future__ import annotations

import json
from typing import Any


def json_object(reply: str) -> dict[str, Any] | None:
    """The last JSON object of a reply, whatever stands around it; None when there is none.

    Last, for a model that thinks aloud comes to its verdict at the end.
    """
    decoder = json.JSONDecoder()
    found, at = None, reply.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(reply, at)
        except (ValueError, RecursionError):
            at = reply.find("{", at + 1)
            continue
        found = value if isinstance(value, dict) else found
        at = reply.find("{", end)
    return found
