"""A run, or two compared, as one HTML file: table, plots, and every item to look at. No script, no network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from eval import plots
from eval.compare import is_significant, signed
from eval.measure import MEASURES, Case, cases
from eval.records import Run, write
from eval.score import judge_line, number

_ITEMS = 2000  # items shown: more would make the file too large to open
_CURVE = (1, 3, 5, 10, 20, 50)
_HEADLINES = ("correct", "nDCG@10", "MRR", "key_fact_recall", "citation_f1", "refused")


def write_report(run: Run, scores: Mapping[str, Any], path: Path) -> None:
    """Write the report of one run; ``scores`` as ``eval.score.score`` gives them."""
    found = cases(run)
    about = run.about
    models = about.get("models") or {}
    made = [about.get("date"), *(f"{k}: {v}" for k, v in models.items() if v), f"{scores['recorded']} items"]
    body = [
        f"<p class=soft>{escape(' · '.join(str(m) for m in made if m))}</p>",
        *(f"<p class=bad>{escape(n)}</p>" for n in scores["notices"]),
        f"<h2>Measures</h2>{_score_table(scores)}",
        f"<p>{escape(judge_line(scores['judge']))}</p>" if "judge" in scores else "",
        f"<h2>Plots</h2><div class=plots>{''.join(_plots(found, scores))}</div>",
        f"<h2>Items</h2>{_items(found)}",
    ]
    write(path, _page(f"Evaluation: {run.folder.resolve().name}", body))


def write_comparison(result: Mapping[str, Any], path: Path) -> None:
    """Write the report of a comparison; ``result`` as ``eval.compare.compare`` gives it."""
    rows = []
    for name, d in result["measures"].items():
        kind = ("good" if d["mean"] > 0 else "bad") if is_significant(d) else ""
        interval = "" if d["low"] is None else f"{signed(d['low'])} – {signed(d['high'])}"
        change = f"<span class='{kind}'>{signed(d['mean'])}{' *' if kind else ''}</span>"
        rows.append([escape(name), number(d["a"]), number(d["b"]), change, interval, f"{d['p']:.4f}", str(d["n"])])
    for name, v in result["latency"].items():
        rows.append([escape(name), number(v["a"]), number(v["b"]), signed(v["b"] - v["a"]), "", "", ""])
    shares = {n: d for n, d in result["measures"].items() if max(abs(d["a"]), abs(d["b"])) <= 1}
    widest = max([0.1, *(abs(v) for d in shares.values() for v in (d["low"], d["high"]) if v is not None)])
    chart = plots.bars({n: (d["mean"], d["low"], d["high"]) for n, d in shares.items()}, -widest, widest)
    body = [
        f"<p>A is <b>{escape(result['a']['folder'])}</b>, B is <b>{escape(result['b']['folder'])}</b>; "
        f"{result['items']} items in both.</p>",
        *(f"<p class=soft>{escape(text)}</p>" for text in (*result["settings"], *result["notices"])),
        *(f"<p class=bad>Condition holds: {escape(text)}</p>" for text in result.get("failed", ())),
        "<h2>Differences</h2>",
        _table(["measure", "A", "B", "B − A", "95 % interval", "p", "n"], rows),
        "<p class=soft>* significant at 0.05, corrected for the number of measures (Holm)</p>",
        f"<h2>B − A with intervals</h2><div class=plots><figure>{chart}</figure></div>",
        "<h2>Changed most</h2>",
        *(_changed(item) for item in result["changed"]),
    ]
    write(path, _page("Comparison", body))


def _score_table(scores: Mapping[str, Any]) -> str:
    types = scores["by_type"] if len(scores["by_type"]) > 1 else {}
    rows = []
    for name, e in scores["overall"].items():
        interval = "" if e["low"] is None else f"{number(e['low'])} – {number(e['high'])}"
        by_type = (number(t[name]["mean"]) if name in t else "–" for t in types.values())
        rows.append([escape(name), number(e["mean"]), interval, str(e["n"]), *by_type])
    return _table(["measure", "mean", "95 % interval", "n", *map(escape, types)], rows)


def _plots(found: Sequence[Case], scores: Mapping[str, Any]) -> Iterable[str]:
    overall, types = scores["overall"], scores["by_type"]
    recall = [(float(k), overall[f"recall@{k}"]["mean"]) for k in _CURVE if f"recall@{k}" in overall]
    if recall:
        yield _figure("Recall of the papers wanted, by depth", plots.lines({"recall": recall}, "k", "recall@k", 50))
    for name in _HEADLINES:
        by_type = {t: (v[name]["mean"], v[name]["low"], v[name]["high"]) for t, v in types.items() if name in v}
        if len(by_type) > 1:
            yield _figure(f"{name} by type", plots.bars(by_type))
    curve = _refusal_curve(found)
    if curve:
        yield _figure("Refusing at every threshold of answerability", plots.lines(curve, "threshold", "share", 1.0))
    spent = sorted(c.record["seconds"] for c in found if c.record.get("seconds") is not None)
    if spent:
        steps = [spent[min(n * len(spent) // 100, len(spent) - 1)] for n in range(101)]
        points = [(seconds, n / 100) for n, seconds in enumerate(steps)]
        yield _figure("Share of items answered within", plots.lines({"items": points}, "seconds", "share", spent[-1]))


def _refusal_curve(found: Sequence[Case]) -> dict[str, list[plots.Point]]:
    """Recall over the unanswerable and loss among the answerable, were every item below a threshold refused."""
    sure = [(c.answer["answerability"], c.item.answerable) for c in found if "answerability" in c.answer]
    wanted = [s for s, answerable in sure if not answerable]
    kept = [s for s, answerable in sure if answerable]
    if not wanted or not kept:
        return {}
    steps = [n / 50 for n in range(51)]
    return {
        "unanswerable refused": [(t, sum(s < t for s in wanted) / len(wanted)) for t in steps],
        "answerable refused": [(t, sum(s < t for s in kept) / len(kept)) for t in steps],
    }


def _items(found: Sequence[Case]) -> str:
    columns = {name: [MEASURES[name](c) for c in found] for name in ("correct", "refused", "MRR")}

    def worst(n: int) -> float:
        return min((v for values in columns.values() if (v := values[n]) is not None), default=1.0)

    order = sorted(range(len(found)), key=worst)  # what went wrong is what one wants to look at
    shown = [_item(found[n], {name: v[n] for name, v in columns.items()}) for n in order[:_ITEMS]]
    more = f"<p class=soft>The worst {_ITEMS} of {len(found)} items.</p>" if len(found) > _ITEMS else ""
    return more + "".join(shown)


def _item(c: Case, values: Mapping[str, float | None]) -> str:
    marks = " ".join(
        f"<span class={'good' if v == 1 else 'bad' if v == 0 else 'soft'}>{name} {number(v)}</span>"
        for name, v in values.items()
        if v is not None
    )
    expected = [c.item.answer, "; ".join(c.item.key_facts), ", ".join(c.papers), *(g.quote for g in c.item.evidence)]
    left = [f"<p class=answer>{escape(c.text)}</p>" if c.text else "", _quotes(c)]
    if c.failed:
        left.insert(0, f"<p class=bad>{escape(c.record['error'])}</p>")
    ranked = ", ".join(f"<mark>{escape(p)}</mark>" if p in c.papers else escape(p) for p in c.ranked[:10])
    return (
        f"<details><summary>{escape(c.item.question)} <small>{escape(c.item.id)}</small> {marks}</summary>"
        f"<div class=two><div><h3>{escape(str(c.answer.get('status') or 'no answer'))}</h3>{''.join(left)}</div>"
        f"<div><h3>Expected</h3>{''.join(f'<p>{escape(e)}</p>' for e in expected if e)}"
        f"<h3>Ranked</h3><p>{ranked}</p></div></div></details>"
    )


def _quotes(c: Case) -> str:
    shown = []
    for citation in c.answer.get("citations", ()):
        title = citation.get("title") or citation.get("label") or ""
        shown.append(f"<h3>[{citation['number']}] {escape(title)} <small>{escape(citation['paper_id'])}</small></h3>")
        shown += [f"<blockquote>{escape(q['text'])}</blockquote>" for q in citation.get("quotes", ())]
    return "".join(shown)


def _changed(item: Mapping[str, Any]) -> str:
    changes = " ".join(
        f"<span class={'good' if v > 0 else 'bad'}>{escape(name)} {signed(v)}</span>"
        for name, v in item["changes"].items()
    )
    sides = []
    for side in ("a", "b"):
        s = item[side]
        text = s["error"] or s["answer"]
        sides.append(
            f"<div><h3>{side.upper()}: {escape(str(s['status'] or 'no answer'))}</h3><p class=answer>{escape(text)}</p>"
            f"<p class=soft>cited {escape(', '.join(s['cited']) or 'nothing')}; "
            f"ranked {escape(', '.join(s['ranked']))}</p></div>"
        )
    return (
        f"<details open><summary>{escape(item['question'])} <small>{escape(item['id'])}</small> {changes}</summary>"
        f"<div class=two>{''.join(sides)}</div></details>"
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    cells = "".join(f"<tr>{''.join(f'<td>{c}</td>' for c in row)}</tr>" for row in rows)
    return f"<div class=scroll><table><tr>{''.join(f'<th>{h}</th>' for h in head)}</tr>{cells}</table></div>"


def _figure(title: str, svg: str) -> str:
    return f"<figure><h3>{escape(title)}</h3>{svg}</figure>"


def _page(title: str, body: Iterable[str]) -> str:
    style = Path(__file__).with_name("report.css").read_text(encoding="utf-8")
    return (
        "<!doctype html><html lang=en><head><meta charset=utf-8>"
        "<meta name=viewport content='width=device-width, initial-scale=1'>"
        "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{escape(title)}</title><style>{style}</style></head>"
        f"<body><h1>{escape(title)}</h1>{''.join(body)}</body></html>\n"
    )
