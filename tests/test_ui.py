"""The Gradio app, its libraries and its server, without a browser."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from rag.errors import SettingsError, StoreError
from rag.settings import Settings
from rag.types import Answer
from tests.fake_quoth import FakeQuoth, put_into_ui
from ui.app import create_app, read_auth, start_server
from ui.shelf import Shelf

LIST = """Two abstracts

We introduce Nightjar, a small owl detector. It finds owls in 9 of 10 nights.

We measure how fast snails climb glass. Snails climb one metre in four minutes.
"""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A home in a temporary folder; words only, so that no encoder is loaded."""
    return Settings(home=tmp_path, library="birds", retriever="lexical", answerer="extractive")


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


@pytest.fixture
def address(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    put_into_ui(monkeypatch, FakeQuoth())
    app = start_server(settings, port=free_port())
    yield app.local_url
    app.close()


def test_no_event_is_open_to_other_programs(settings: Settings) -> None:
    app = create_app(settings)
    assert app.get_api_info()["named_endpoints"] == {}
    assert {f.api_visibility for f in app.fns.values()} == {"private"}


def test_the_page_loads_nothing_from_elsewhere(address: str) -> None:
    html = urlopen(address).read().decode()
    for elsewhere in ("fonts.googleapis", "fonts.gstatic", "cdnjs", "jsdelivr", "unpkg", "googletagmanager"):
        assert elsewhere not in html
    assert "system-ui" in urlopen(address + "theme.css").read().decode()


def test_the_server_listens_on_loopback_only(address: str) -> None:
    assert address.startswith("http://127.0.0.1:")


def test_a_taken_port_is_an_error_that_says_so(settings: Settings) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(SettingsError) as e:
            start_server(settings, port=port)
    assert str(e.value) == f"cannot listen on 127.0.0.1:{port}: choose another --port or --host"


@pytest.mark.parametrize("host", ["192.0.2.1", "no.such.host.invalid", "a..b"])
def test_a_bad_host_is_an_error_that_says_so(settings: Settings, host: str) -> None:
    with pytest.raises(SettingsError) as e:
        start_server(settings, host, 7860)
    assert str(e.value) == f"cannot listen on {host}:7860: choose another --port or --host"


def test_passwords(tmp_path: Path) -> None:
    file = tmp_path / "people"
    file.write_text("# who may ask\nada:p:w\n\nemmy: spaced\n", encoding="utf-8")
    assert read_auth(file) == [("ada", "p:w"), ("emmy", " spaced")]


def test_passwords_with_a_byte_order_mark(tmp_path: Path) -> None:
    file = tmp_path / "people"
    file.write_text("ada:pw\n", encoding="utf-8-sig")
    assert read_auth(file) == [("ada", "pw")]


@pytest.mark.parametrize("text", ["ada", "ada:", ":secret", "", "# nobody\n"])
def test_malformed_passwords(tmp_path: Path, text: str) -> None:
    file = tmp_path / "people"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError) as e:
        read_auth(file)
    assert "secret" not in str(e.value)


def test_a_missing_password_file(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot read"):
        read_auth(tmp_path / "none")


def test_a_library_is_filled_and_asked(settings: Settings, tmp_path: Path) -> None:
    shelf = Shelf(settings)
    assert shelf.names() == ["birds"]
    assert shelf.count("birds") == 0
    with pytest.raises(StoreError):
        shelf.quoth("birds")
    file = tmp_path / "list.txt"
    file.write_text(LIST, encoding="utf-8")
    told: list[int] = []
    report = shelf.add("birds", [file], lambda done, total: told.append(done))
    assert (report.added, shelf.count("birds"), told[-1]) == (2, 2, 2)
    *_, answer = shelf.quoth("birds").stream("How fast do snails climb glass?")
    assert isinstance(answer, Answer)
    assert [c.paper.paper_id for c in answer.citations] == ["list.txt#2"]
    assert shelf.quoth("birds") is shelf.quoth("birds")


def test_only_libraries_that_exist_are_opened(settings: Settings) -> None:
    (settings.home / "libraries" / "beetles").mkdir(parents=True)
    shelf = Shelf(settings)
    assert shelf.names() == ["beetles", "birds"]
    with pytest.raises(SettingsError, match="no library"):
        shelf.quoth("../../etc")


@pytest.mark.parametrize("name", [".hidden", "two words", "<b>", "a" * 49, "line\n", "größe"])
def test_names_that_settings_refuse_are_neither_listed_nor_made(settings: Settings, tmp_path: Path, name: str) -> None:
    file = tmp_path / "list.txt"
    file.write_text(LIST, encoding="utf-8")
    for shelf in (Shelf(settings), Shelf(settings.model_copy(update={"library": name}))):
        with pytest.raises(SettingsError, match="no library"):
            shelf.add(name, [file], lambda done, total: None)
    assert not (settings.home / "libraries" / name).exists()
    (settings.home / "libraries" / name).mkdir(parents=True)
    assert Shelf(settings).names() == ["birds"]
