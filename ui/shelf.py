"""The libraries of one server process: each opened once, shared by all sessions."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from rag.build import index_paths, open_quoth, open_store
from rag.errors import QuothError, SettingsError
from rag.index import Report
from rag.pipeline import Quoth
from rag.settings import LIBRARY_NAME, Settings


class Shelf:
    """Opens libraries on demand. Safe for threads: opening happens under a lock, asking does not need one."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._open: dict[str, Quoth] = {}
        self._lock = threading.Lock()

    def names(self) -> list[str]:
        """The libraries that exist, and the one of the settings; folders that no setting could name are left out."""
        home = self.settings.home / "libraries"
        found = {p.name for p in home.iterdir() if p.is_dir()} if home.is_dir() else set()
        return sorted(n for n in found | {self.settings.library} if re.fullmatch(LIBRARY_NAME, n))

    def count(self, name: str) -> int:
        """How many papers a library holds; 0 when it does not exist yet. Loads no model."""
        store = open_store(self._settings(name))
        return len(store.catalog()) if store.exists() else 0

    def quoth(self, name: str) -> Quoth:
        """The open library. Raises StoreError or ModelError when it cannot be asked."""
        settings = self._settings(name)
        with self._lock:
            if name not in self._open:
                self._open[name] = open_quoth(settings)
            return self._open[name]

    def add(self, name: str, paths: Sequence[Path], progress: Callable[[int, int | None], None]) -> Report:
        """Index files into a library; the next question sees them.

        Raises QuothError; it names files as the user knows them, without the folder that uploads are kept in.
        """
        try:
            report = index_paths(self._settings(name), paths, progress)
        except QuothError as e:
            message = str(e)
            for path in paths:
                message = message.replace(str(path), path.name)
            raise type(e)(message) from e
        with self._lock:
            self._open.pop(name, None)
        return report

    def _settings(self, name: str) -> Settings:
        if name not in self.names():  # the name comes from a browser
            raise SettingsError(f"there is no library {name!r}: reload the page")
        return self.settings.model_copy(update={"library": name})
