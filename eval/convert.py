"""Public question sets → papers for ``quoth index`` and items for ``quoth eval run``.

Nothing is scored as zero because a set is faulty: judgements of papers that are not there, and questions without a
judgement, are left out and counted.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from eval.items import Gold, Item
from eval.records import writable, write_lines
from eval.sources import Row, chosen, inside, json_file, json_lines, qrels, text_of
from rag.errors import CorpusError
from rag.text import sentences

PAPERS, ITEMS = "papers.jsonl", "items.jsonl"


@dataclass
class _Set:
    """A question set while it is read."""

    papers: dict[str, Row] = field(default_factory=dict)
    items: list[Item] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)

    def tell(self, count: int, what: str) -> None:
        if count:
            self.notices.append(f"{count} {what}")


@dataclass(frozen=True)
class Converted:
    """What came of a set."""

    papers: int
    items: int
    notices: tuple[str, ...]

    def as_dict(self) -> Row:
        return {"papers": self.papers, "items": self.items, "notices": list(self.notices)}


def convert(form: str, source: Path, out: Path, split: str | None = None) -> Converted:
    """Write ``papers.jsonl`` and ``items.jsonl`` into ``out``. ``split`` chooses among judgements or claim files.

    Raises CorpusError when the source is not of that form, or ``split`` is needed and missing.
    """
    if not source.exists():
        raise CorpusError(f"{source} does not exist: give the folder or file of the set")
    try:
        found = _READERS[form](source, split)
    except (KeyError, TypeError, AttributeError) as e:
        raise CorpusError(f"{source} is not in the form {form!r} ({type(e).__name__}: {e}): check --from") from e
    if not found.items:
        raise CorpusError(
            f"{source} gave no items ({'; '.join(found.notices) or 'it is empty'}): check --from and --split"
        )
    with writable(out):
        out.mkdir(parents=True, exist_ok=True)
        write_lines(out / PAPERS, found.papers.values())
        write_lines(out / ITEMS, (item.as_dict() for item in found.items))
    return Converted(len(found.papers), len(found.items), tuple(found.notices))


def _beir(source: Path, split: str | None) -> _Set:
    """corpus.jsonl, queries.jsonl, qrels/NAME.tsv: query, paper, gain."""
    found = _Set()
    for row in json_lines(inside(source, "corpus.jsonl", "corpus.jsonl.gz")):
        found.papers[str(row["_id"])] = {
            "id": str(row["_id"]),
            "title": row.get("title") or "",
            "abstract": row.get("text") or "",
        }
    gains: dict[str, dict[str, float]] = {}
    unknown = 0
    for query, paper, gain in qrels(chosen(source / "qrels", "*.tsv", split)):
        if paper in found.papers:
            gains.setdefault(query, {})[paper] = gain
        else:
            unknown += 1
    skipped = 0
    for row in json_lines(inside(source, "queries.jsonl", "queries.jsonl.gz")):
        judged = gains.get(str(row["_id"]), {})
        relevant = [paper for paper, gain in judged.items() if gain > 0]
        if not relevant:
            skipped += 1
            continue
        answer = row.get("long_answer") or row.get("answer") or ""
        grades = judged if set(judged.values()) != {1.0} else {}
        found.items.append(Item(str(row["_id"]), row["text"], True, tuple(relevant), answer=answer, grades=grades))
    found.tell(unknown, "judgements name papers that are not in the corpus and are left out")
    found.tell(skipped, "questions have no paper judged relevant in this split and are left out")
    found.tell(sum(not p["abstract"].strip() for p in found.papers.values()), "papers have no abstract")
    return found


def _pubmedqa(source: Path, split: str | None) -> _Set:
    """The authors' JSON: PMID → question, contexts with labels, decision, long answer. The type is the decision."""
    found = _Set()
    short = 0
    for pmid, row in json_file(chosen(source, "*.json", split)).items():
        labels = row.get("LABELS") or [""] * len(row["CONTEXTS"])
        parts = [f"{name}: {text}" if name else text for name, text in zip(labels, row["CONTEXTS"], strict=False)]
        if not parts:
            short += 1
            continue
        found.papers[pmid] = {
            "pmid": pmid,
            "abstract": "\n".join(parts),
            "year": row.get("YEAR") or "",
            "keywords": row.get("MESHES") or [],
        }
        found.items.append(
            Item(
                f"pubmedqa-{pmid}",
                row["QUESTION"],
                True,
                (f"pmid:{pmid}",),
                type=row.get("final_decision") or "",
                answer=row.get("LONG_ANSWER") or "",
            )
        )
    found.tell(short, "questions have no abstract and are left out")
    return found


def _scifact(source: Path, split: str | None) -> _Set:
    """claims_NAME.jsonl and corpus.jsonl: claims with rationale sentences.

    Claims without evidence in the papers they cite are unanswerable; the cited papers stay judged, for nDCG.
    """
    found = _Set()
    abstracts: dict[str, list[str]] = {}
    for row in json_lines(inside(source, "corpus.jsonl", "corpus.jsonl.gz")):
        paper = str(row["doc_id"])
        abstracts[paper] = [s.strip() for s in row["abstract"]]
        found.papers[paper] = {"id": paper, "title": row["title"], "abstract": " ".join(abstracts[paper])}
    unknown = skipped = 0
    for row in json_lines(chosen(source, "claims_*.jsonl", split)):
        evidence = {p: sets for p, sets in (row.get("evidence") or {}).items() if p in abstracts}
        cited = [str(p) for p in row.get("cited_doc_ids") or ()]
        unknown += sum(p not in abstracts for p in {*cited, *(row.get("evidence") or {})})
        judged = [p for p in dict.fromkeys((*evidence, *cited)) if p in abstracts]
        if not judged:
            skipped += 1
            continue
        labels = {s["label"] for sets in evidence.values() for s in sets}
        gold = dict.fromkeys(
            Gold(p, abstracts[p][n]) for p, sets in evidence.items() for s in sets for n in s["sentences"]
        )
        found.items.append(
            Item(
                f"scifact-{row['id']}",
                row["claim"],
                bool(evidence),
                tuple(evidence),
                type="unsettled" if not labels else "contradicted" if labels == {"CONTRADICT"} else "supported",
                evidence=tuple(gold),
                grades=dict.fromkeys(judged, 1.0),
            )
        )
    found.tell(unknown, "cited papers are not in the corpus and are left out")
    found.tell(skipped, "claims cite no paper of the corpus and are left out")
    return found


def _squad(source: Path, split: str | None) -> _Set:
    """Articles of paragraphs with questions, answer spans, and questions marked impossible."""
    found = _Set()
    seen: dict[str, str] = {}
    misplaced = 0
    for article in json_file(chosen(source, "*.json", split))["data"]:
        title = article.get("title") or "untitled"
        for n, paragraph in enumerate(article["paragraphs"], 1):
            text = paragraph["context"].strip()
            moved = len(paragraph["context"]) - len(paragraph["context"].lstrip())
            paper = seen.setdefault(text, f"{title}#{n}")
            found.papers[paper] = {"id": paper, "title": title.replace("_", " "), "abstract": text}
            for question in paragraph["qas"]:
                answers = [] if question.get("is_impossible") else question.get("answers") or []
                texts = list(dict.fromkeys(a["text"] for a in answers))
                gold = {
                    Gold(paper, s.text): None
                    for a in answers
                    for s in sentences(text)
                    if s.start <= a.get("answer_start", -1) - moved < s.end
                }
                misplaced += bool(answers) and not gold
                fact = "|".join(t.replace("|", " ") for t in texts)
                found.items.append(
                    Item(
                        str(question["id"]),
                        question["question"].strip(),
                        bool(answers),
                        (paper,) if answers else (),
                        evidence=tuple(gold),
                        answer=texts[0] if texts else "",
                        key_facts=(fact,) if fact else (),
                    )
                )
    found.tell(misplaced, "answers do not stand where they say, so their items have no evidence sentence")
    return found


_COLUMNS = {
    "question": "question query q",
    "answer": "answer reference",
    "paper": "paper papers paper_id paper_ids doc_id",
}


def _csv(source: Path, split: str | None) -> _Set:
    """Columns question, answer, paper (ids, several by ``;``); optional id, type, abstract, title, key_facts."""
    found = _Set()
    path = chosen(source, "*.csv", split)
    reader = csv.DictReader(io.StringIO(text_of(path)), delimiter="\t" if path.suffix == ".tsv" else ",")
    names = {(name or "").strip().lower().replace(" ", "_"): name for name in reader.fieldnames or ()}
    column = {
        wanted: next((names[s] for s in spellings.split() if s in names), "") for wanted, spellings in _COLUMNS.items()
    } | {n: names.get(n, "") for n in ("id", "type", "abstract", "title", "key_facts")}
    if not column["question"]:
        raise CorpusError(f"{path} has no column `question` (it has {', '.join(names)}): rename the column")
    empty = 0
    for n, row in enumerate(reader, 1):
        cell = {wanted: (row.get(name) or "").strip() if name else "" for wanted, name in column.items()}
        if not cell["question"]:
            empty += 1
            continue
        papers = tuple(p.strip() for p in cell["paper"].split(";") if p.strip())
        if cell["abstract"]:
            papers = papers or (cell["title"] or f"{path.name}#{n}",)
            found.papers.setdefault(papers[0], {"id": papers[0], "title": cell["title"], "abstract": cell["abstract"]})
        found.items.append(
            Item(
                cell["id"] or f"{path.stem}-{n}",
                cell["question"],
                bool(papers),
                papers,
                type=cell["type"],
                answer=cell["answer"],
                key_facts=tuple(f.strip() for f in cell["key_facts"].split(";") if f.strip()),
            )
        )
    found.tell(empty, "rows have no question and are left out")
    found.tell(sum(not i.answerable for i in found.items), "items name no paper and count as unanswerable")
    if not found.papers:
        found.notices.append(
            "the table has no abstracts, so papers.jsonl is empty: index the papers from their own file"
        )
    return found


_READERS: dict[str, Callable[[Path, str | None], _Set]] = {
    "beir": _beir,
    "pubmedqa": _pubmedqa,
    "scifact": _scifact,
    "squad": _squad,
    "csv": _csv,
}
