"""The browser front end: layout, events and the server. What is shown is made in ``ui.render``."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from rag import environment
from rag.errors import QuothError, SettingsError
from rag.settings import Settings
from rag.show import clean
from rag.types import Answer
from ui import render
from ui.conversation import View, converse, years
from ui.shelf import Shelf

if TYPE_CHECKING:
    import gradio as gr

P = ParamSpec("P")
T = TypeVar("T")

EXAMPLES = (
    "Which papers introduce a new dataset or benchmark?",
    "Which methods are faster or cheaper than earlier ones?",
    "What limitations of existing approaches are named?",
)
_HERE = Path(__file__).parent
_SANS = ("ui-sans-serif", "system-ui", "-apple-system", "Segoe UI", "Roboto", "Noto Sans", "sans-serif")
_MONO = ("ui-monospace", "SFMono-Regular", "Menlo", "Consolas", "monospace")
_LARGEST_UPLOAD = "200mb"
_KEEP_UPLOADS = 3600  # seconds that an uploaded file stays on disk
_AT_ONCE = 8  # questions answered at the same time


def create_app(settings: Settings) -> gr.Blocks:
    """The page over the libraries in ``settings.home``; no model is loaded until someone asks."""
    environment.prepare()
    import gradio as gr

    shelf = Shelf(settings)
    names = shelf.names()
    quiet: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}

    app: gr.Blocks = gr.Blocks(
        title="quoth", fill_width=True, analytics_enabled=False, delete_cache=(_KEEP_UPLOADS, _KEEP_UPLOADS)
    )
    with app:
        answers = gr.State(())
        with gr.Row(elem_id="top"):
            gr.HTML("<h1>quoth</h1>", elem_id="brand")
            status = gr.HTML(elem_id="status")
            clear = gr.Button("New conversation", size="sm", scale=0, min_width=150)
        with gr.Row(elem_id="main"):
            with gr.Column(scale=3, min_width=320, elem_id="chat"):
                with gr.Column(elem_id="log"):
                    past = gr.HTML(elem_id="past")
                    live = gr.HTML(elem_id="live")
                    with gr.Column(visible=False, elem_id="examples") as examples:
                        picks = [gr.Button(text, size="sm") for text in EXAMPLES]
                box = gr.Textbox(
                    placeholder="Ask a question about these papers",
                    label="Question",
                    show_label=False,
                    max_lines=6,
                    max_length=2000,
                    submit_btn=True,
                    elem_id="question",
                )
            with gr.Column(scale=2, min_width=320, elem_id="side"):
                with gr.Accordion("Library", open=False, elem_id="library") as drawer:
                    library = gr.Dropdown(names, value=settings.library, label="Ask in", visible=len(names) > 1)
                    with gr.Row():
                        since = gr.Textbox("", label="From year", placeholder="any", max_length=4, min_width=100)
                        until = gr.Textbox("", label="To year", placeholder="any", max_length=4, min_width=100)
                    upload = gr.UploadButton("Add lists of papers", file_count="multiple", size="md")
                    added = gr.HTML(elem_id="added")
                panel = gr.HTML(elem_id="sources")

        def counted(library: str) -> dict[Any, Any]:
            """How much there is to ask, for the top line and the question box."""
            papers = _explained(shelf.count, library)
            return {status: render.library(library, papers), box: gr.Textbox(interactive=papers > 0)}

        def start(library: str) -> dict[Any, Any]:
            """An empty conversation. What is typed already stays: the page may still be loading."""
            papers = _explained(shelf.count, library)
            return {
                status: render.library(library, papers),
                answers: (),
                past: render.welcome(papers),
                live: "",
                panel: render.sources_hint(),
                box: gr.Textbox(interactive=papers > 0, submit_btn=True, stop_btn=False),
                examples: gr.Column(visible=papers > 0),
                drawer: gr.skip() if papers else gr.Accordion(open=True),
            }

        def ask(question: str, before: tuple[Answer, ...], library: str, *span: str) -> Iterator[dict[Any, Any]]:
            for view in converse(lambda: shelf.quoth(library), question, before, lambda: years(*span)):
                yield shown(view, before)

        def shown(view: View, before: tuple[Answer, ...]) -> dict[Any, Any]:
            """The parts of the page that differ; finished exchanges are sent once, not with every draft."""
            page: dict[Any, Any] = {live: view.live}
            page[box] = gr.Textbox(value=view.question, submit_btn=not view.busy, stop_btn=view.busy)
            if view.live:
                page[examples] = gr.Column(visible=False)
            if view.live and not before:
                page[past] = ""
            if len(view.answers) > len(before):
                page |= {answers: view.answers, past: render.conversation(view.answers)}
                page[panel] = render.panel(view.answers)
            return page

        def stop() -> dict[Any, Any]:
            return {live: render.stopped(), box: gr.Textbox(submit_btn=True, stop_btn=False)}

        def add(files: list[str], library: str, progress: Any = gr.Progress()) -> dict[Any, Any]:  # noqa: B008
            """Index what was uploaded and say what became of it."""

            def tell(done: int, total: int | None) -> None:
                progress((done, total) if total else None, desc=f"{done:,} papers read", unit="papers")

            progress(None, desc="Reading")
            report = _explained(shelf.add, library, [Path(f) for f in files], tell)
            return {added: render.report(report), upload: None}

        def refresh(library: str, before: tuple[Answer, ...]) -> dict[Any, Any]:
            """After an upload a conversation goes on; without one the first screen is shown anew."""
            return counted(library) if before else start(library)

        page = [answers, past, live, panel, box, examples, status, drawer]
        app.load(start, library, page, **quiet)
        clear.click(start, library, page, **quiet)
        library.change(start, library, page, **quiet)
        asking = box.submit(ask, [box, answers, library, since, until], page, concurrency_limit=_AT_ONCE, **quiet)
        box.stop(stop, None, [live, box], cancels=[asking], **quiet)
        for pick in picks:
            pick.click(str, pick, box, **quiet).then(
                ask, [box, answers, library, since, until], page, concurrency_limit=_AT_ONCE, **quiet
            )
        upload.upload(
            add,
            [upload, library],
            [added, upload],
            concurrency_limit=1,
            show_progress_on=added,
            api_visibility="private",
        ).success(refresh, [library, answers], page, **quiet)
    return app


def start_server(
    settings: Settings,
    host: str = "127.0.0.1",
    port: int = 7860,
    auth_file: Path | None = None,
    open_browser: bool = False,
) -> gr.Blocks:
    """Serve the page and return at once; ``close()`` ends it. Raises SettingsError as ``serve`` does."""
    people = read_auth(auth_file) if auth_file else None
    _try_address(host, port)
    app = create_app(settings)
    import gradio as gr

    theme = gr.themes.Base(primary_hue="indigo", neutral_hue="slate", font=list(_SANS), font_mono=list(_MONO))
    try:
        app.launch(
            server_name=host,
            server_port=port,
            auth=people,
            inbrowser=open_browser,
            prevent_thread_lock=True,
            quiet=True,
            share=False,
            ssr_mode=False,
            pwa=False,
            mcp_server=False,
            enable_monitoring=False,
            footer_links=[],
            max_file_size=_LARGEST_UPLOAD,
            theme=theme,
            css_paths=_HERE / "style.css",
            js=(_HERE / "app.js").read_text(encoding="utf-8"),
        )
    except OSError:  # taken since it was tried
        raise _no_address(host, port) from None
    return app


def serve(
    settings: Settings,
    host: str = "127.0.0.1",
    port: int = 7860,
    auth_file: Path | None = None,
    open_browser: bool = False,
) -> None:
    """Serve the page until interrupted. ``auth_file`` holds a ``name:password`` a line.

    Raises SettingsError for a malformed ``auth_file`` and for an address that cannot be listened on.
    """
    app = start_server(settings, host, port, auth_file, open_browser)
    print(f"quoth is at {app.local_url} (stop with Ctrl-C)", file=sys.stderr)
    app.block_thread()


def read_auth(path: Path) -> list[tuple[str, str]]:
    """Names and passwords, one ``name:password`` a line; blank lines and lines with ``#`` first are left out.

    Raises SettingsError for a file that is missing, empty or malformed. No message holds a password.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError):
        raise SettingsError(f"cannot read {path}: --auth takes a UTF-8 text file with name:password lines") from None
    people: list[tuple[str, str]] = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, colon, password = line.strip().partition(":")
        if not (name and colon and password):
            raise SettingsError(f"{path}, line {number}: write name:password")
        people.append((name, password))
    if not people:
        raise SettingsError(f"{path} names nobody: write name:password, one a line")
    return people


def _try_address(host: str, port: int) -> None:
    """Raises SettingsError for a taken port or a bad host at once; the server would take seconds to notice."""
    try:
        found = socket.getaddrinfo(host.removeprefix("[").removesuffix("]"), port, type=socket.SOCK_STREAM)
        family, _, _, _, address = found[0]
        socket.create_server(address, family=family).close()
    except (OSError, OverflowError, UnicodeError):
        raise _no_address(host, port) from None


def _no_address(host: str, port: int) -> SettingsError:
    return SettingsError(f"cannot listen on {host}:{port}: choose another --port or --host")


def _explained(action: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run it; an error that the user can mend becomes a message on the page instead of a traceback."""
    import gradio as gr

    try:
        return action(*args, **kwargs)
    except QuothError as e:
        raise gr.Error(clean(str(e)), duration=None, print_exception=False) from None
