"""Which column or key means what, in the spellings that exports use, and how a record becomes a Paper.

The only place that knows names of columns and forms of ids. A record is a sequence of (key, value) pairs; values are
text, numbers, lists or objects, as JSON has them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from rag.formats import clean
from rag.formats.source import Source
from rag.labels import label
from rag.types import BadRecord, Paper

NO_ABSTRACT = "no abstract"

# Spellings as `_lookup` leaves them: letters and digits only, lower case. Within a field the first that is filled wins.
SPELLINGS = {
    "abstract": """
        abstract abstracts abstracttext abstractnote paperabstract originalabstract ab n2
        摘要 中文摘要 英文摘要 论文摘要 文摘 摘要abstract abstract摘要""",
    # Names that mean the abstract only where nothing is called one.
    "text": "text summary description body content 内容 简介",
    "title": """
        title papertitle titleprimary primarytitle articletitle documenttitle itemtitle ti t1 displayname papername
        标题 题名 题目 篇名 论文标题 论文题目 文献标题 名称""",
    "authors": """
        authors author authornames authorsprimary authorfullnames authorlist au firstauthors creator creators
        作者 作者姓名 全部作者 论文作者 责任者""",
    "year": """
        year publicationyear pubyear publishedyear yearpublished py 年份 年 出版年 发表年份
        date publicationdate publisheddate datepublished published pubdate publishdate issued
        发表时间 发表日期 出版时间 日期 时间""",
    "venue": """
        venue conference conferencename journal journalbook journaltitle journalname booktitle sourcetitle
        publicationtitle publicationname containertitle periodicalfull journalref jo
        会议 期刊 刊名 来源 文献来源 会议名称 期刊名称 发表会议 发表期刊""",
    "keywords": "keywords keyword authorkeywords kw de tags 关键词 关键字",
    "url": """
        url link paperurl paperlink openreviewurl openreviewlink openreview arxivurl arxivlink weburl site href
        articleurl sourceurl externalurl plink ur 链接 网址 论文链接 pdf pdfurl pdflink""",
    "doi": "doi doiurl doilink itemdoi articledoi digitalobjectidentifier do",
    "arxiv": "arxivid arxiv arxivnumber",
    "pmid": "pmid pubmedid pubmed pmids",
    "openreview": "openreviewid forum forumid",
    "acl": "aclid anthologyid aclanthologyid",
    "id": "id paperid recordid articleid docid documentid uid 编号",
    "aliases": "aliases",
    "note": "note",
}
_FIELDS = {name: (field, rank) for field, names in SPELLINGS.items() for rank, name in enumerate(names.split())}

_DOI = re.compile(r"10\.\d{4,9}/[^\s\"<>]+")
_ARXIV = r"(\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7})(?:v\d+)?"
_OPENREVIEW = r"([A-Za-z0-9_-]{5,})"
_ACL = r"([A-Z]\d{2}-\d{4,5}|\d{4}\.[a-z0-9_-]+(?:-[a-z0-9]+)*\.\d+)"
_OLD_ACL = re.compile(r"[a-z]\d{2}-\d{4,5}")
_BARE = {  # what a field of that name may hold
    "arxiv": re.compile(rf"(?:arxiv:)?\s*{_ARXIV}", re.I),
    "pmid": re.compile(r"(?:pmid:)?\s*(\d{1,9})(?:\.0)?", re.I),
    "openreview": re.compile(rf"(?:openreview:)?{_OPENREVIEW}"),
    "acl": re.compile(rf"(?:acl:)?{_ACL}"),
}
_PREFIXED = {  # what any id or link may hold
    "arxiv": re.compile(rf"arxiv:\s*{_ARXIV}", re.I),
    "pmid": re.compile(r"pmid:\s*(\d{1,9})", re.I),
    "openreview": re.compile(rf"openreview:{_OPENREVIEW}", re.I),
    "acl": re.compile(rf"acl:{_ACL}"),
}
_IN_LINK = {
    "arxiv": re.compile(rf"arxiv\.org/(?:abs|pdf|html)/{_ARXIV}"),
    "pmid": re.compile(r"(?:pubmed\.ncbi\.nlm\.nih\.gov|ncbi\.nlm\.nih\.gov/pubmed)/(\d{1,9})"),
    "openreview": re.compile(rf"openreview\.net/(?:forum|pdf|attachment)\?(?:\S*&)?id={_OPENREVIEW}"),
    "acl": re.compile(rf"(?:aclanthology\.org|aclweb\.org/anthology)/{_ACL}"),
}
_IN_DOI = {
    "arxiv": re.compile(rf"10\.48550/arxiv\.{_ARXIV}", re.I),
    "acl": re.compile(rf"10\.(?:18653/v1|3115/v1)/{_ACL}", re.I),
}
_PAGE = {
    "doi": "https://doi.org/",
    "arxiv": "https://arxiv.org/abs/",
    "pmid": "https://pubmed.ncbi.nlm.nih.gov/",
    "openreview": "https://openreview.net/forum?id=",
    "acl": "https://aclanthology.org/",
}
_STRONG = tuple(_PAGE)  # in the order in which they name a paper

_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")
_LINK = re.compile(r"https?://[^\s;|<>\"]+", re.I)


def known(key: str) -> str:
    """The field that a column or key means, or ""."""
    return _lookup(key)[0]


def build(record: Iterable[tuple[str, Any]], source: Source, n: int) -> Paper | None:
    """The paper of the n-th record (from 1) of a file; None when it has no abstract, nor a title where that will do."""
    found, links = _collect(record)
    folded = clean.abstract(_text(found.get("abstract", found.get("text"))), markup=True)
    title = _line(found.get("title"))
    if not folded.text and not (title and source.title_only):
        return None
    source.tally.update(folded.changes)
    venue = _line(found.get("venue"))
    ids = _strong_ids(found, links)
    if (own := _own_id(found.get("id"))) and not _strong_ids({"id": own}, []):
        ids["own"] = own
    names = [f"{kind}:{value}" if kind in _STRONG else value for kind, value in ids.items()]
    names += [line for alias in _items(found.get("aliases")) if (line := _line(alias))]
    paper_id, *others = dict.fromkeys([*names] or [source.place(n)])
    return Paper(
        paper_id=paper_id,
        abstract=folded.text,
        title=title,
        authors=tuple(_people(found.get("authors"))),
        year=_year(found.get("year")) or _year(venue),
        venue=venue,
        url=_url(found.get("url"), links, ids),
        keywords=tuple(_keywords(found.get("keywords"))),
        source=source.place(n),
        aliases=tuple(others),
        label=label(title, folded.text),
        note=_line(found.get("note")),
    )


def no_abstract(where: str) -> BadRecord:
    """The record that ``build`` gave None for."""
    return BadRecord(where, NO_ABSTRACT)


@lru_cache(maxsize=4096)
def _lookup(key: str) -> tuple[str, int]:
    normal = "".join(c for c in unicodedata.normalize("NFKC", key).casefold() if c.isalnum())
    return _FIELDS.get(normal, ("", 0))


def _collect(record: Iterable[tuple[str, Any]]) -> tuple[dict[str, Any], list[str]]:
    """The filled fields, best spelling first, and every link of the record."""
    found: dict[str, Any] = {}
    ranks: dict[str, int] = {}
    links: list[str] = []
    names_abstract = False
    for key, value in record:
        field, rank = _lookup(key)
        names_abstract |= field == "abstract"
        if not field or value is None or value in ("", [], {}) or (isinstance(value, str) and value.isspace()):
            continue
        if field == "url":
            links += _LINK.findall(_text(value))
        if field not in ranks or rank < ranks[field]:
            found[field], ranks[field] = value, rank
    if names_abstract:
        found.pop("text", None)
    return found, links


def _strong_ids(found: dict[str, Any], links: list[str]) -> dict[str, str]:
    """The ids that other files know too, by kind, strongest kind first."""
    places = [_text(found.get(field)) for field in ("id", "doi", "arxiv", "pmid", "openreview", "acl")] + links
    ids: dict[str, str] = {}
    if doi := next((doi for place in places if (doi := _doi(place))), ""):
        ids["doi"] = doi
    for kind in _STRONG[1:]:
        bare = _BARE[kind].fullmatch(_text(found.get(kind)).strip())
        others = (_PREFIXED[kind].fullmatch(place.strip()) or _IN_LINK[kind].search(place) for place in places)
        in_doi = _IN_DOI[kind].fullmatch(doi) if kind in _IN_DOI else None
        if match := bare or next(filter(None, others), None) or in_doi:
            ids[kind] = match[1].upper() if _OLD_ACL.fullmatch(match[1]) else match[1]
    return ids


def _doi(text: str) -> str:
    """The DOI of a DOI field, an id or a DOI link, lower case; "" for any other text."""
    text = unquote(text.strip())
    bare = re.sub(r"(?:https?://)?(?:dx\.)?doi\.org/|doi:\s*", "", text, count=1, flags=re.I)
    found = _DOI.match(bare)
    return found[0].rstrip(".,;)").lower() if found else ""


def _own_id(value: Any) -> str:
    return _line(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def _url(value: Any, links: list[str], ids: dict[str, str]) -> str:
    own = _LINK.search(_text(value)) if value is not None else None
    if own or links:
        return _line(own[0] if own else links[0])
    return next((_PAGE[kind] + ids[kind] for kind in _STRONG if kind in ids), "")


def _year(value: Any) -> int | None:
    found = _YEAR.search(_text(value))
    return int(found[0]) if found else None


def _people(value: Any) -> list[str]:
    if isinstance(value, str):
        return list(filter(None, map(_line, _split_names(value))))
    return list(filter(None, map(_person, _items(value))))


def _person(value: Any) -> str:
    if not isinstance(value, dict):
        return _line(value)
    parts = {key.lower().replace("_", ""): part for key, part in value.items()}
    if whole := _line(parts.get("name") or parts.get("fullname") or parts.get("literal")):
        return whole
    first = _line(parts.get("given") or parts.get("first") or parts.get("firstname"))
    return f"{first} {_line(parts.get('family') or parts.get('last') or parts.get('lastname'))}".strip()


def _split_names(text: str) -> list[str]:
    """Names out of one cell. A comma parts names only where it cannot stand inside one ("Smith, John")."""
    if separator := next((mark for mark in ("；", ";", "、", "，", "\n", "|") if mark in text), ""):
        return text.split(separator)
    pieces = re.split(r",?\s+(?:and|&)\s+", text)
    if len(pieces) > 1 and all(piece.count(",") == 1 for piece in pieces):
        return pieces  # BibTeX: Family, Given and Family, Given
    return [name for piece in pieces for name in _split_commas(piece)]


def _split_commas(text: str) -> list[str]:
    parts = text.split(",")
    whole = sum(len(part.split()) > 1 or not part.isascii() for part in parts)
    return parts if whole == len(parts) or (len(parts) > 2 and whole > len(parts) / 2) else [text]


def _keywords(value: Any) -> list[str]:
    if isinstance(value, str):
        value = re.split(r"[;；|]" if re.search(r"[;；|]", value) else r"[,，、\n]", value)
    return list(dict.fromkeys(filter(None, map(_line, _items(value)))))


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _line(value: Any) -> str:
    return clean.line(_text(value), markup=True)


def _text(value: Any) -> str:
    """A JSON value as text; a list of texts (sentences, lines) is joined."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return " ".join(filter(None, map(_text, value)))
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) and value == value else ""
