"""One library as it can be looked at: its papers by any of their names, and what it is made of."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from rag.errors import CorpusError
from rag.index import follow_if_free
from rag.lexical import LexicalIndex
from rag.store import Store
from rag.types import Paper


class Library:
    """A store and its word index, read together. Needs neither encoder nor LLM."""

    def __init__(self, store: Store, lexical: LexicalIndex, folder: Path) -> None:
        self._store, self._lexical, self._folder = store, lexical, folder

    def __len__(self) -> int:
        return len(self._store.catalog())

    def refresh(self) -> None:
        """See what another process has written since."""
        if self._store.refresh():
            self._lexical.reload()
            follow_if_free(self._store, self._lexical, self._folder)

    def papers(self) -> list[Paper]:
        """Cards of all papers, abstracts left out, in the order of their sources."""
        self.refresh()
        return [entry.paper for entry in self._store.catalog().values()]

    def paper(self, name: str) -> Paper:
        """A paper with its abstract, by id, alias or unique label. Raises CorpusError for any other name."""
        paper_id = resolve(name, self.papers())
        return self._store.papers([paper_id])[paper_id]

    def fingerprint(self) -> dict[str, str]:
        """What the library is made of: digests of its papers and of the encoder behind its vectors."""
        self.refresh()
        contents = sorted(entry.content_sha for entry in self._store.catalog().values())
        encoder = json.dumps(self._store.embedder, sort_keys=True)
        return {
            "papers": hashlib.sha256("\n".join(contents).encode()).hexdigest(),
            "embedder": hashlib.sha256(encoder.encode()).hexdigest(),
        }


def resolve(name: str, papers: Sequence[Paper]) -> str:
    """The paper_id that a name means: an id, an alias, or a label that one paper only has (case does not count).

    Raises CorpusError when none or several answer to it.
    """
    if any(name == paper.paper_id for paper in papers):
        return name
    matches = [p.paper_id for p in papers if name in p.aliases]
    matches = matches or [p.paper_id for p in papers if name.casefold() == p.label.casefold()]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise CorpusError(f"{len(matches)} papers have the label {name!r}: use one of the ids {', '.join(matches[:5])}")
    raise CorpusError(f"there is no paper {name!r} in this library: `quoth papers list` shows ids and labels")
