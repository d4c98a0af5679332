"""Every test has a home of its own, no settings of the user's, and no way to another machine."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder of the libraries, not yet made."""
    for name in list(os.environ):
        if name.upper().startswith(("OPENAI_", "QUOTH_")):
            monkeypatch.delenv(name)
    folder = tmp_path / "home"
    monkeypatch.setenv("QUOTH_HOME", str(folder))
    return folder


@pytest.fixture(autouse=True)
def loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection to another machine fails the test, whatever the code does with exceptions."""
    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, _guarded(getattr(socket.socket, name)))


def _guarded(connect: Any) -> Any:
    def guarded(self: socket.socket, address: Any) -> Any:
        local = not isinstance(address, tuple) or address[0] in ("127.0.0.1", "::1", "localhost")
        if not local:
            pytest.fail(f"a test wanted to connect to {address}")
        return connect(self, address)

    return guarded
