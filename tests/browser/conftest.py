"""A real browser and a real server on loopback, with a record of everything that should not happen."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from rag.settings import Settings
from tests.fake_quoth import FakeQuoth, put_into_ui

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The machine's own Chromium."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip(f"none of {', '.join(NAMES)} is installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def quoth() -> FakeQuoth:
    return FakeQuoth()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[[], str]]:
    """Start the app over an empty home and give its address."""
    from ui.app import start_server

    apps = []

    def start() -> str:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = int(s.getsockname()[1])
        settings = Settings(home=tmp_path / "home", retriever="lexical", answerer="extractive")
        apps.append(start_server(settings, port=port))
        return str(apps[0].local_url)

    yield start
    for app in apps:
        app.close()


@pytest.fixture
def address(serve: Callable[[], str], quoth: FakeQuoth, monkeypatch: pytest.MonkeyPatch) -> str:
    """The app with answers written by hand."""
    put_into_ui(monkeypatch, quoth)
    return serve()


@pytest.fixture
def visit(chromium: Any) -> Iterator[Callable[..., Any]]:
    """Open an address in a session of its own.

    Fails the test when the page spoke to another host, logged an error, or opened a dialog.
    """
    contexts, wrong = [], []

    def guard(route: Any) -> None:
        if urlsplit(route.request.url).hostname in ("127.0.0.1", None):
            route.continue_()
        else:
            wrong.append(f"request to {route.request.url}")
            route.abort()

    def open_page(address: str, width: int = 1280, height: int = 800) -> Any:
        context = chromium.new_context(viewport={"width": width, "height": height})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.route("**/*", guard)
        page.on("console", lambda m: wrong.append(f"console: {m.text}") if m.type == "error" else None)
        page.on("pageerror", lambda e: wrong.append(f"script: {e}"))
        page.on("dialog", lambda d: (wrong.append(f"dialog: {d.message}"), d.dismiss()))
        page.goto(address)
        page.locator("#status .library").wait_for()
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not wrong
