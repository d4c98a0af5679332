"""What must be set before heavy libraries load: no telemetry, no idle spinning, no look-ups on a model hub."""

from __future__ import annotations

import os


def prepare(*, offline: bool = True) -> None:
    """Set the process's environment; harmless to repeat. ``offline``: no model is to be fetched from a hub."""
    # Two spinning OpenMP threads on a shared machine raise a query's median time several-fold.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    for name, value in {
        "ANONYMIZED_TELEMETRY": "False",  # Chroma
        "GRADIO_ANALYTICS_ENABLED": "False",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "LANGSMITH_TRACING": "false",  # questions and abstracts must not leave unasked
        "LANGCHAIN_TRACING_V2": "false",
        "DO_NOT_TRACK": "1",
    }.items():
        os.environ[name] = value
    if offline:
        os.environ["HF_HUB_OFFLINE"] = "1"
