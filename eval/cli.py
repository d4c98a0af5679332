"""The commands of ``quoth eval``: thin, heavy imports inside."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rag.options import common, count

if TYPE_CHECKING:
    from rag.settings import Settings

_folder = click.Path(file_okay=False, path_type=Path)
_file = click.Path(dir_okay=False, path_type=Path)
_as_json = click.option("--json", "as_json", is_flag=True, help="Machine-readable output on stdout.")


@click.group("eval")
def eval_group() -> None:
    """Ask questions with known answers, score what comes back, compare two runs."""


@eval_group.command("run")
@click.argument("items", type=_file)
@click.option("--out", type=_folder, required=True, metavar="DIR", help="Folder of the run; repeat to resume.")
@click.option("--search-only", is_flag=True, help="Measure retrieval alone; write no answers.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Only the first N items.")
@click.option(
    "--workers", type=click.IntRange(1, 64), default=1, metavar="N", help="Questions asked at once (for LLMs)."
)
@count
@common
def run_command(
    items: Path,
    out: Path,
    search_only: bool,
    limit: int | None,
    workers: int,
    settings: Settings,
    as_json: bool,
) -> None:
    """Ask every question of ITEMS and record what comes back. An interrupted run goes on where it stopped."""
    from tqdm import tqdm

    from eval.items import load_items
    from eval.records import RECORDS, read_lines
    from eval.run import run
    from rag.build import open_quoth
    from rag.errors import ModelError

    wanted = load_items(items)
    quoth = open_quoth(settings)
    with tqdm(desc="asking", unit=" items", file=sys.stderr, disable=None) as bar:

        def progress(done: int, total: int) -> None:
            if bar.total is None:
                bar.total, bar.initial = total, done  # so that the time left is not reckoned from resumed items
            bar.update(done - bar.n)

        run(quoth, wanted, out, search_only, limit, workers, progress, source=items.name)
    records = read_lines(out / RECORDS)
    errors = [r["error"] for r in records if r["error"]]
    if errors and len(errors) == len(records):
        raise ModelError(f"every item failed, the first with: {errors[0]}")
    if as_json:
        click.echo(json.dumps({"out": str(out), "items": len(records), "failed": len(errors)}))
    else:
        told = (
            f", {len(errors)} failed (the first: {errors[0]}); repeat the command to ask them again" if errors else ""
        )
        click.echo(f"{len(records)} items in {out}{told}. Score them with `quoth eval score {out}`.")


@eval_group.command("score")
@click.argument("folder", type=_folder, metavar="DIR")
@click.option("--items", type=_file, metavar="FILE", help="Other items than those of the run, with the same ids.")
@click.option("--price", type=(float, float), metavar="IN OUT", help="Cost of a million input and output tokens.")
@click.option("--judge", is_flag=True, help="First have the model of QUOTH_LLM_MODEL judge every answer.")
@click.option("--floor", type=_file, metavar="FILE", help="Recorded scores; exit code 3 if one is below its interval.")
@click.option("--record", "recorded", type=_file, metavar="FILE", help="Write the scores down for --floor.")
@click.option("--report", type=_file, metavar="FILE", help="HTML report (default: DIR/report.html).")
@_as_json
@click.pass_context
def score_command(
    ctx: click.Context,
    folder: Path,
    items: Path | None,
    price: tuple[float, float] | None,
    judge: bool,
    floor: Path | None,
    recorded: Path | None,
    report: Path | None,
    as_json: bool,
) -> None:
    """Score a run: means with 95 % intervals, overall and by type. Asks no model unless --judge."""
    from eval.floor import fallen, record
    from eval.records import read_run
    from eval.report import write_report
    from eval.score import as_markdown, score

    if judge:
        _judge(folder, items)
    run = read_run(folder, items)
    scores = score(run, price)
    failed = fallen(scores, floor) if floor else []
    _show(scores, as_markdown(scores), as_json)
    _report(report or folder / "report.html", lambda path: write_report(run, scores, path))
    if failed:
        click.echo("\n".join(f"--floor: {text}" for text in failed), err=True)
        ctx.exit(3)
    if recorded:
        record(scores, recorded)


@eval_group.command("compare")
@click.argument("a", type=_folder)
@click.argument("b", type=_folder)
@click.option(
    "--fail-if", "conditions", multiple=True, metavar="COND", help="As 'recall@5 < -0.02'; exit code 3 if so."
)
@click.option("--report", type=_file, metavar="FILE", help="HTML report (default: B/compare.html).")
@_as_json
@click.pass_context
def compare_command(
    ctx: click.Context, a: Path, b: Path, conditions: tuple[str, ...], report: Path | None, as_json: bool
) -> None:
    """Compare two runs of the same items: differences B − A with intervals and p-values."""
    from eval.compare import as_markdown, compare_runs, parse_condition
    from eval.report import write_comparison

    wanted = [parse_condition(text) for text in conditions]
    result = compare_runs(a, b)
    failed = [str(c) for c in wanted if c.holds(result["measures"])]
    result["failed"] = failed
    _show(result, as_markdown(result), as_json)
    _report(report or b / "compare.html", lambda path: write_comparison(result, path))
    if failed:
        click.echo(f"--fail-if: {'; '.join(failed)}", err=True)
        ctx.exit(3)


@eval_group.command("convert")
@click.argument("source", type=click.Path(path_type=Path), metavar="SRC")
@click.option("--from", "form", type=click.Choice(["beir", "pubmedqa", "scifact", "squad", "csv"]), required=True)
@click.option("--out", type=_folder, required=True, metavar="DIR", help="Gets papers.jsonl and items.jsonl.")
@click.option("--split", metavar="NAME", help="Which questions or judgements, where the set has several.")
@_as_json
def convert_command(source: Path, form: str, out: Path, split: str | None, as_json: bool) -> None:
    """Turn a public question set into papers for `quoth index` and items for `quoth eval run`."""
    from eval.convert import convert

    done = convert(form, source, out, split)
    if as_json:
        click.echo(json.dumps(done.as_dict(), ensure_ascii=False))
    else:
        for notice in done.notices:
            click.echo(notice, err=True)
        click.echo(f"{done.papers} papers and {done.items} items in {out}")


@eval_group.command("draft")
@click.option("--out", type=_file, required=True, metavar="FILE", help="Gets the items; review them before use.")
@click.option("-n", "number", type=click.IntRange(1), default=20, show_default=True, help="How many, one a paper.")
@click.option("--seed", type=int, default=0, show_default=True, help="Which papers.")
@common
def draft_command(out: Path, number: int, seed: int, settings: Settings, as_json: bool) -> None:
    """Propose items from the library: written by the LLM, or without one as gaps in sentences with figures."""
    from eval.ask import asker
    from eval.draft import FIELDS, draft
    from eval.records import writable, write_lines
    from rag.build import open_catalog
    from rag.errors import CorpusError

    if out.exists():
        raise CorpusError(f"{out} exists: give another name, so that reviewed items are not lost")
    library = open_catalog(settings)
    ask = asker(settings, FIELDS) if settings.llm_model and settings.answerer != "extractive" else None
    drafted = draft([p.paper_id for p in library.papers()], library.paper, number, ask, seed)
    if not drafted.items:
        raise CorpusError(
            "nothing could be drafted: no abstract holds a sentence with a figure, or no reply was usable"
        )
    with writable(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        write_lines(out, (item.as_dict() for item in drafted.items))
    if as_json:
        click.echo(json.dumps({"out": str(out), "items": len(drafted.items), "rejected": drafted.rejected}))
    else:
        told = f" ({drafted.rejected} replies of the model were not usable)" if drafted.rejected else ""
        click.echo(f"{len(drafted.items)} unreviewed items in {out}{told}")


def _judge(folder: Path, items: Path | None) -> None:
    from tqdm import tqdm

    from eval.ask import asker
    from eval.judge import FIELDS, judge
    from eval.measure import cases
    from eval.records import read_run
    from rag.settings import load_settings

    settings = load_settings()
    ask = asker(settings, FIELDS)
    with tqdm(desc="judging", unit=" answers", file=sys.stderr, disable=None) as bar:

        def progress(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        judge(cases(read_run(folder, items)), folder, ask, settings.llm_model, progress)


def _show(result: dict[str, Any], text: str, as_json: bool) -> None:
    click.echo(json.dumps(result, ensure_ascii=False, indent=1) if as_json else text)


def _report(path: Path, write: Callable[[Path], None]) -> None:
    """Write a report; scores that have been printed are worth having without it."""
    try:
        write(path)
    except OSError as e:
        click.echo(f"no report: {path} cannot be written ({e.strerror}); give another file with --report", err=True)
    else:
        click.echo(f"report: {path}", err=True)
