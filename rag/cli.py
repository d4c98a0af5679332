"""The command line: thin, one function a command. Imports what a command needs inside it."""

from __future__ import annotations

import errno
import io
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rag import __version__
from rag.errors import CorpusError, QuothError
from rag.options import common, count, filtered

if TYPE_CHECKING:
    from rag.settings import Settings
    from rag.types import Answer, Filters


class _ReaderLeft(Exception):
    """Who read the output, for instance `head`, has seen enough."""


class _Late(click.Group):
    """Mounts the evaluation commands only when they are called: the package is heavy and seldom needed."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # click would call it a failure
            raise _ReaderLeft from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), "eval"])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name == "eval":
            from eval.cli import eval_group

            group: click.Command = eval_group
            return group
        return super().get_command(ctx, cmd_name)


@click.group(cls=_Late, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="quoth")
def cli() -> None:
    """Ask a list of scientific papers. Every sentence of an answer carries a verbatim, checked quote."""


@cli.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@click.option("--title-only", is_flag=True, help="Keep records without an abstract: found and listed, never quoted.")
@common
def index(paths: tuple[str, ...], title_only: bool, settings: Settings, as_json: bool) -> None:
    """Read files and folders of papers into the library. Safe to repeat and to interrupt."""
    from tqdm import tqdm

    from rag import show
    from rag.build import index_paths

    with tqdm(desc="indexing", unit=" papers", file=sys.stderr, disable=None) as bar:
        report = index_paths(
            settings, [_path(p) for p in paths], lambda done, total: _advance(bar, done, total), title_only=title_only
        )
    if as_json:
        _print_json(report.as_dict())
    else:
        click.echo(show.report(report))


@cli.group()
def papers() -> None:
    """What is in the library."""


@papers.command("list")
@common
def papers_list(settings: Settings, as_json: bool) -> None:
    """All papers, a line each."""
    from rag import show
    from rag.build import open_catalog

    found = open_catalog(settings).papers()
    if as_json:
        _print_json([p.card() for p in found])
    else:
        for paper in found:
            click.echo(show.row(paper))


@papers.command("show")
@click.argument("paper_id", metavar="ID")
@common
def papers_show(paper_id: str, settings: Settings, as_json: bool) -> None:
    """One paper with its abstract. ID: an id, an alias or a unique label."""
    from rag import show
    from rag.build import open_catalog

    paper = open_catalog(settings).paper(paper_id)
    if as_json:
        _print_json(paper.card() | {"abstract": paper.abstract})
    else:
        click.echo(show.card(paper))


@papers.command("remove")
@click.argument("paper_ids", nargs=-1, required=True, metavar="ID…")
@common
def papers_remove(paper_ids: tuple[str, ...], settings: Settings, as_json: bool) -> None:
    """Take papers out of the library."""
    from rag.build import make_indexer, open_catalog

    catalog = open_catalog(settings)
    removed = list(dict.fromkeys(catalog.paper(name).paper_id for name in paper_ids))
    make_indexer(settings).remove(removed)
    if as_json:
        _print_json({"removed": removed})
    else:
        click.echo(f"{len(removed)} removed")


@cli.command()
@click.argument("question")
@filtered
@count
@common
def search(question: str, settings: Settings, as_json: bool, filters: Filters) -> None:
    """Ranked papers with scores and the matching sentence."""
    from rag import show
    from rag.build import open_quoth

    hits = open_quoth(settings).search(question, filters)
    if as_json:
        rows = [
            {
                "rank": e.rank,
                "paper_id": e.paper.paper_id,
                "label": e.paper.label,
                "title": e.paper.title,
                "year": e.paper.year,
                "score": round(e.score, 4),
                "sentence": s.text,
                "start": s.start,
                "end": s.end,
            }
            for e, s in hits
        ]
        _print_json({"question": question, "results": rows})
    else:
        click.echo(
            "\n\n".join(show.hit(e, s) for e, s in hits)
            or "No paper matches. A paper without a year is outside every --year."
        )


@cli.command()
@click.argument("question")
@filtered
@count
@common
def ask(question: str, settings: Settings, as_json: bool, filters: Filters) -> None:
    """Answer a question with citations."""
    from rag.build import open_quoth

    _show_answer(open_quoth(settings).stream(question, (), filters), as_json)


@cli.command()
@click.argument("paper_ids", nargs=-1, required=True, metavar="ID…")
@common
def summarize(paper_ids: tuple[str, ...], settings: Settings, as_json: bool) -> None:
    """A cited summary of papers: problem, method, result."""
    from rag.build import open_quoth

    _show_answer(open_quoth(settings).stream_summary(paper_ids), as_json)


@cli.command()
@filtered
@count
@common
def chat(settings: Settings, as_json: bool, filters: Filters) -> None:
    """A conversation in the terminal. An empty line or Ctrl-D ends it."""
    from rag.build import open_quoth
    from rag.types import Turn

    quoth = open_quoth(settings)
    history: list[Turn] = []
    while True:
        try:
            question = click.prompt("", prompt_suffix="> ", default="", show_default=False, err=True).strip()
        except click.Abort:
            break
        if not question:
            break
        try:
            answer = _show_answer(quoth.stream(question, history, filters), as_json)
        except QuothError as e:  # the conversation goes on
            click.echo(f"Error: {e}", err=True)
            continue
        history += [Turn("user", question), answer.turn()]
        click.echo()


@cli.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=7860, show_default=True, type=click.IntRange(1, 65535))
@click.option("--auth", "auth_file", metavar="FILE", type=click.Path(path_type=Path), help="Lines name:password.")
@click.option("--open", "open_browser", is_flag=True, help="Open the browser.")
@common
def ui(host: str, port: int, auth_file: Path | None, open_browser: bool, settings: Settings, as_json: bool) -> None:
    """Serve the chat in a browser; on this machine only, unless --host says otherwise."""
    from ui.app import serve

    serve(settings, host=host, port=port, auth_file=auth_file, open_browser=open_browser)


@cli.command()
@common
def doctor(settings: Settings, as_json: bool) -> None:
    """What is installed and in use, and what is wrong with the remedy."""
    from rag.doctor import examine

    findings = examine(settings)
    if as_json:
        _print_json([f.as_dict() for f in findings])
    else:
        for finding in findings:
            click.echo(finding.line())
    if any(not f.ok for f in findings):
        raise SystemExit(2)


def main() -> None:
    """Run, and turn errors into exit codes: 2 the user can mend it, 1 a bug (traceback), 130 interrupted."""
    from rag import environment

    environment.prepare(offline=False)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # where a terminal or pipe has not all of Unicode
            stream.reconfigure(errors="replace")
    try:
        code = cli.main(standalone_mode=False)
        _flush()
        raise SystemExit(code if isinstance(code, int) else 0)
    except QuothError as e:
        click.echo(f"Error: {' '.join(str(e).split())}", err=True)
        raise SystemExit(2) from None
    except click.ClickException as e:
        e.show()
        raise SystemExit(e.exit_code) from None
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        raise SystemExit(130) from None
    except (_ReaderLeft, BrokenPipeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left goes there when Python ends
        raise SystemExit(0) from None
    except OSError as e:
        if e.errno not in (errno.ENOSPC, errno.ENAMETOOLONG):
            raise
        place = f"{e.filename[:60]}…" if isinstance(e.filename, str) else "the output"
        click.echo(f"Error: {place} cannot be written or read ({e.strerror}): give another place", err=True)
        if e.errno == errno.ENOSPC:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(2) from None


def _show_answer(parts: Iterator[str | Answer], as_json: bool) -> Answer:
    """Print an answer; its text appears as it comes only where it needs no checking by eye: a terminal."""
    from rag import show
    from rag.types import Answer

    live = sys.stderr.isatty() and not as_json
    answer: Answer | None = None
    for part in parts:
        if isinstance(part, Answer):
            answer = part
        elif live:
            click.secho(show.clean(part), nl=False, err=True, dim=True)  # not yet verified
    if answer is None:
        raise CorpusError("there is no answer")
    if live:
        click.echo("\n", err=True)
    if as_json:
        _print_json(answer.as_dict())
    else:
        click.echo(show.answer(answer))
    return answer


def _print_json(value: Any) -> None:
    unicode = sys.stdout.encoding.lower().replace("-", "") == "utf8"
    click.echo(json.dumps(value, ensure_ascii=not unicode, indent=1))


def _advance(bar: Any, done: int, total: int | None) -> None:
    bar.total = total
    bar.update(done - bar.n)


def _path(text: str) -> Path:
    if not text.strip():
        raise CorpusError("a path is empty: give a file or a folder with lists of papers")
    return Path(text)


def _flush() -> None:
    sys.stdout.flush()
