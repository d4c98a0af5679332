"""When are two records the same paper? Known text is recognised first, then ids; different papers are never merged."""

from __future__ import annotations

import difflib
import hashlib
import json
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from rag.labels import label
from rag.store import Entry
from rag.types import Paper

Outcome = Literal["added", "updated", "unchanged", "duplicate", "conflict"]
STRONG = ("doi:", "arxiv:", "pmid:", "openreview:", "acl:")
_ALIKE = 0.8


def text_sha(text: str) -> str:
    """Digest of a text's letters and digits: case, accents, punctuation and blanks do not count."""
    folded = unicodedata.normalize("NFKD", text).casefold()
    return hashlib.sha256("".join(c for c in folded if c.isalnum()).encode()).hexdigest()


def content_sha(paper: Paper) -> str:
    """Digest of everything stored of a paper."""
    content = paper.card() | {"abstract": paper.abstract, "keywords": list(paper.keywords)}
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


@dataclass(frozen=True)
class Match:
    """What a record is to the library: its outcome, and the paper as it should now be stored."""

    outcome: Outcome
    paper: Paper


class Register:
    """The papers a library knows, by text and by every id; told of each record in turn.

    ``conflict`` means that the record's id is taken by another text of the library and that only the rest of its
    source can tell whether it replaces that text: give it to ``settle`` when the source has been read.
    """

    def __init__(self, entries: Mapping[str, Entry]) -> None:
        self._entries = dict(entries)
        self._by_text: dict[str, list[str]] = {}
        self._by_id: dict[str, str] = {}
        for entry in entries.values():
            self._learn(entry)
        self._met: set[str] = set()

    def meet(self, paper: Paper) -> Match:
        """Compare a record with what is known; ``paper.abstract`` of a match is empty when it stays as stored."""
        known = self._same_text(paper)
        if known is None:
            if paper.paper_id in self._by_id:
                return Match("conflict", paper)
            return self._accept("added", paper)
        entry = self._entries[known]
        again = known in self._met
        self._met.add(known)
        same_source = _same_source(entry.paper, paper) and not again
        merged = _merge(entry.paper, paper, newer_wins=same_source)
        if same_source and content_sha(replace(merged, abstract=paper.abstract)) == entry.content_sha:
            return Match("unchanged", merged)
        if not same_source and merged == entry.paper:
            own = paper.paper_id in (known, *entry.paper.aliases) and not again
            return Match("unchanged" if own else "duplicate", merged)
        return self._accept("updated", merged)

    def settle(self, paper: Paper, old_abstract: str) -> Match:
        """Decide a conflict once the whole source is known: an update of the old text, or a paper of its own."""
        holder = self._by_id[paper.paper_id]
        entry = self._entries[holder]
        titles = text_sha(paper.title), text_sha(entry.paper.title)
        named = bool(paper.title) and titles[0] == titles[1] and "#" not in paper.paper_id
        left = holder not in self._met
        if left and (named or _alike(paper.abstract, old_abstract) >= _ALIKE):
            self._met.add(holder)
            return self._accept("updated", _merge(entry.paper, paper, newer_wins=True))
        own = f"{paper.paper_id}~{text_sha(paper.abstract)[:6]}"
        return self._accept("added", replace(paper, paper_id=own))

    def holder(self, paper_id: str) -> str:
        """The stored id of the paper that answers to this id."""
        return self._by_id[paper_id]

    def accepted(self, entry: Entry) -> None:
        """Tell the register what was stored."""
        self._entries[entry.paper.paper_id] = entry
        self._learn(entry)

    def _accept(self, outcome: Outcome, paper: Paper) -> Match:
        self._met.add(paper.paper_id)
        if paper.abstract:  # metadata alone changes neither text nor ids of what is looked up by text
            self.accepted(Entry(replace(paper, abstract=""), text_sha(paper.abstract), content_sha(paper), 1))
        else:
            old = self._entries[paper.paper_id]
            self.accepted(replace(old, paper=paper))
        return Match(outcome, paper)

    def _same_text(self, paper: Paper) -> str | None:
        title = text_sha(paper.title) if paper.title else ""
        for known in self._by_text.get(text_sha(paper.abstract), ()):
            other = self._entries[known].paper.title
            if not title or not other or text_sha(other) == title:
                return known
        return None

    def _learn(self, entry: Entry) -> None:
        paper = entry.paper
        ids = self._by_text.setdefault(entry.text_sha, [])
        if paper.paper_id not in ids:
            ids.append(paper.paper_id)
        for name in (paper.paper_id, *paper.aliases):
            self._by_id.setdefault(name, paper.paper_id)


def _merge(old: Paper, new: Paper, *, newer_wins: bool) -> Paper:
    """One paper of two records. The id stays; empty fields are filled; other ids become aliases.

    ``newer_wins``: the record comes from the same place, so what it says now replaces what it said, abstract included.
    """
    first, second = (new, old) if newer_wins else (old, new)
    title = first.title or second.title
    abstract = new.abstract if newer_wins else ""
    fresh = bool(title != old.title or newer_wins)
    return replace(
        old,
        abstract=abstract,
        title=title,
        authors=first.authors or second.authors,
        year=first.year or second.year,
        venue=first.venue or second.venue,
        url=first.url or second.url,
        keywords=first.keywords or second.keywords,
        note=first.note or second.note,
        aliases=_aliases(old, new),
        label=label(title, new.abstract) if fresh and new.abstract else old.label,
    )


def _same_source(a: Paper, b: Paper) -> bool:
    """Whether two records stand at the same place: the same position, or the same id in the same file."""
    same_file = a.source.rpartition("#")[0] == b.source.rpartition("#")[0]
    return a.source == b.source or (same_file and a.paper_id == b.paper_id)


def _aliases(old: Paper, new: Paper) -> tuple[str, ...]:
    names: Iterable[str] = (*old.aliases, *(n for n in (new.paper_id, *new.aliases) if n.startswith(STRONG)))
    return tuple(n for n in dict.fromkeys(names) if n != old.paper_id)


def _alike(a: str, b: str) -> float:
    """Share of words in common order, 0..1 (Ratcliff and Obershelp's ratio over words)."""
    return difflib.SequenceMatcher(None, a.split(), b.split(), autojunk=False).ratio()
