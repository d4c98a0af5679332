"""When are two records the same paper? Known text is recognised first, then ids; different papers are never merged."""

from __future__ import annotations

import difflib
import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from rag.labels import label
from rag.records import Entry
from rag.types import Paper

Outcome = Literal["added", "updated", "unchanged", "duplicate", "conflict"]
STRONG = ("doi:", "arxiv:", "pmid:", "openreview:", "acl:")
_ALIKE = 0.8
_NO_TEXT = hashlib.sha256(b"").hexdigest()


@lru_cache(maxsize=2048)
def text_sha(text: str) -> str:
    """Digest of a text's letters and digits: case, accents, punctuation and blanks do not count."""
    folded = unicodedata.normalize("NFKD", text).casefold()
    return hashlib.sha256(re.sub(r"[\W_]+", "", folded).encode()).hexdigest()


def content_sha(paper: Paper) -> str:
    """Digest of everything stored of a paper."""
    content = paper.card() | {"abstract": paper.abstract, "keywords": list(paper.keywords)}
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


@dataclass(frozen=True)
class Match:
    """What a record is to the library, and the paper as it should now be stored."""

    outcome: Outcome
    paper: Paper
    changed: bool = True
    """Whether something is to be written."""
    stored_text: bool = False
    """Whether the abstract stays as stored; ``paper.abstract`` is then empty."""


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
        """Compare a record with what is known."""
        known = self._same_paper(paper)
        if known is None:
            if paper.paper_id in self._by_id:
                return Match("conflict", paper, changed=False)
            return self._add(paper)
        entry = self._entries[known]
        again = known in self._met
        self._met.add(known)
        same_source = _same_source(entry.paper, paper) and not again
        merged, stored_text = self._merge(entry, paper, newer_wins=same_source)
        same = merged == entry.paper if stored_text else content_sha(merged) == entry.content_sha
        # A paper that has moved within its file is no duplicate.
        own = not again and (paper.paper_id in (known, *entry.paper.aliases) or _file(paper) == _file(entry.paper))
        if same:
            return Match("unchanged" if own else "duplicate", merged, False, stored_text)
        told_more = replace(merged, aliases=entry.paper.aliases) != entry.paper or not stored_text
        return self._accept(Match("updated" if told_more or own else "duplicate", merged, True, stored_text))

    def settle(self, paper: Paper, old_abstract: str) -> Match:
        """Decide a conflict once the whole source is known: an update of the old text, or a paper of its own."""
        if self._same_paper(paper) is not None:  # a later record of the source has brought the same text
            return self.meet(paper)
        holder = self._by_id[paper.paper_id]
        entry = self._entries[holder]
        same_title = bool(paper.title) and text_sha(paper.title) == text_sha(entry.paper.title)
        same_file = _file(paper) == _file(entry.paper)
        named = same_title and (paper.paper_id.startswith(STRONG) or (same_file and "#" not in paper.paper_id))
        alike = same_file and _alike(paper.abstract, old_abstract) >= _ALIKE
        if holder not in self._met and (named or alike):
            self._met.add(holder)
            merged, stored_text = self._merge(entry, paper, newer_wins=True)
            return self._accept(Match("updated", merged, True, stored_text))
        own = f"{paper.paper_id}~{text_sha(paper.abstract or paper.title)[:6]}"
        if own in self._by_id:
            match = self.meet(replace(paper, paper_id=own))
            if match.outcome != "conflict":
                return match
            own = f"{paper.paper_id}~{text_sha(paper.title + paper.abstract)}"  # the same text under a third title
        return self._add(replace(paper, paper_id=own))

    def holder(self, paper_id: str) -> str:
        """The stored id of the paper that answers to this id."""
        return self._by_id[paper_id]

    def accepted(self, entry: Entry) -> None:
        """Tell the register what was stored."""
        paper_id = entry.paper.paper_id
        old = self._entries.get(paper_id)
        if old is not None and old.text_sha not in (entry.text_sha, _NO_TEXT):
            self._by_text[old.text_sha].remove(paper_id)  # replaced: another paper may have that text
        self._entries[paper_id] = entry
        self._learn(entry)

    def _add(self, paper: Paper) -> Match:
        """A paper of its own; what other papers answer to is no alias of it."""
        aliases = tuple(n for n in dict.fromkeys(paper.aliases) if n not in self._by_id and n != paper.paper_id)
        return self._accept(Match("added", replace(paper, aliases=aliases)))

    def _accept(self, match: Match) -> Match:
        paper = match.paper
        self._met.add(paper.paper_id)
        if match.stored_text:
            self.accepted(replace(self._entries[paper.paper_id], paper=paper))
        else:
            self.accepted(Entry(replace(paper, abstract=""), text_sha(paper.abstract), content_sha(paper), 1))
        return match

    def _same_paper(self, paper: Paper) -> str | None:
        """The known paper with this text and no other title; where a text is lacking, with this id and title."""
        title = text_sha(paper.title) if paper.title else ""
        if paper.abstract:
            for known in self._by_text.get(text_sha(paper.abstract), ()):
                other = self._entries[known].paper.title
                if not title or not other or text_sha(other) == title:
                    return known
        holder = self._by_id.get(paper.paper_id)
        if holder is None:
            return None
        entry = self._entries[holder]
        lacking = not paper.abstract or entry.text_sha == _NO_TEXT
        return holder if lacking and title and text_sha(entry.paper.title) == title else None

    def _learn(self, entry: Entry) -> None:
        paper = entry.paper
        if entry.text_sha != _NO_TEXT:  # titles alone are never merged
            ids = self._by_text.setdefault(entry.text_sha, [])
            if paper.paper_id not in ids:
                ids.append(paper.paper_id)
        for name in (paper.paper_id, *paper.aliases):
            self._by_id.setdefault(name, paper.paper_id)

    def _merge(self, entry: Entry, new: Paper, *, newer_wins: bool) -> tuple[Paper, bool]:
        """One paper of two records, and whether its abstract stays as stored. The id stays; empty fields are filled.

        ``newer_wins``: the record comes from the same place, so what it says now replaces what it said.
        """
        old = entry.paper
        first, second = (new, old) if newer_wins else (old, new)
        title = first.title or second.title
        takes_text = bool(new.abstract) and (newer_wins or entry.text_sha == _NO_TEXT)
        fresh = (takes_text or title != old.title) and bool(new.abstract)
        merged = replace(
            old,
            abstract=new.abstract if takes_text else "",
            title=title,
            authors=first.authors or second.authors,
            year=first.year or second.year,
            venue=first.venue or second.venue,
            url=first.url or second.url,
            keywords=first.keywords or second.keywords,
            note=first.note or second.note,
            aliases=self._aliases(old, new),
            label=label(title, new.abstract) if fresh else old.label,
        )
        return merged, not takes_text

    def _aliases(self, old: Paper, new: Paper) -> tuple[str, ...]:
        """All ids but the stored one; a place in a file is none, nor is what another paper answers to."""
        place = "" if new.source != new.paper_id else new.paper_id
        names = dict.fromkeys((*old.aliases, *(n for n in (new.paper_id, *new.aliases) if n != place)))
        return tuple(n for n in names if self._by_id.get(n, old.paper_id) == old.paper_id and n != old.paper_id)


def _same_source(a: Paper, b: Paper) -> bool:
    """Whether two records stand at the same place: the same position, or the same id in the same file."""
    return a.source == b.source or (_file(a) == _file(b) and a.paper_id == b.paper_id)


def _file(paper: Paper) -> str:
    return paper.source.rpartition("#")[0]


def _alike(a: str, b: str) -> float:
    """Share of words in common order, 0..1 (Ratcliff and Obershelp's ratio over words)."""
    return difflib.SequenceMatcher(None, a.split(), b.split(), autojunk=False).ratio()
