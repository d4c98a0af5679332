"""The command line: what it prints, on which stream, and its exit codes."""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rag.cli import main
from tests.fakes import BEES, PUMP
from tests.llm_server import CUT, Failure, LLMServer, Reply, error

ROOT = Path(__file__).parents[1]
ENERGY = "How much less energy did Heliopump use than fixed schedules?"
EXTRACTED = "In field trials on 12 farms, Heliopump used 18% less energy than fixed schedules. [1]"
KEY = "sk-test-0123456789abcdef"


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Terminal:
    """Runs ``quoth`` in this process, or in one of its own where that is what is tested."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def __call__(self, *words: str, typed: str = "", **environment: str) -> Ran:
        self._capsys.readouterr()
        with self._monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["quoth", *words])
            patch.setattr(sys, "stdin", io.StringIO(typed))
            for name, value in environment.items():
                patch.setenv(name, value)
            with pytest.raises(SystemExit) as end:
                main()
        out, err = self._capsys.readouterr()
        return Ran(int(end.value.code or 0), out, err)


@pytest.fixture
def quoth(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, home: Path) -> Terminal:
    monkeypatch.chdir(tmp_path)  # no .env of the project's
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("QUOTH_RETRIEVER", "lexical")
    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", lambda *_, **__: None)  # 80 ms a client
    return Terminal(monkeypatch, capsys)


def process(*words: str, typed: str = "", **environment: str) -> Ran:
    """A Python of its own with these words."""
    done = subprocess.run(
        [sys.executable, *words],
        input=typed,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        timeout=60,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def refused(ran: Ran, *parts: str) -> None:
    """Exit code 2, nothing on stdout, and one line on stderr with these parts."""
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("Error: ")
    assert ran.err.count("\n") == 1, "one line"
    for part in parts:
        assert part in ran.err


def misused(ran: Ran, part: str) -> None:
    """A usage error as click prints it."""
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("Usage: ")
    assert part in ran.err


# --- shapes of the JSON ---


def test_index_says_what_became_of_the_records(quoth: Terminal, paper_file: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"id": "x", "title": "No text"}\nnonsense\n', encoding="utf-8")
    first = quoth("index", "--json", str(paper_file), str(bad))
    assert first.code == 0
    assert first.json == {
        "added": 3,
        "updated": 0,
        "unchanged": 0,
        "duplicates": 0,
        "skipped": [
            {"source": "bad.jsonl:1", "reason": "no abstract"},
            {"source": "bad.jsonl:2", "reason": first.json["skipped"][1]["reason"]},
        ],
        "notices": [],
    }
    again = quoth("index", str(paper_file))
    assert again.out == "0 added, 0 updated, 3 unchanged, 0 duplicates, 0 skipped\n"


def test_ask(library: Path, quoth: Terminal) -> None:
    ran = quoth("ask", "--json", "--year", "2024", "--author", "imker", "How many bees were tracked with radar?")
    assert (ran.code, ran.err) == (0, "")
    answer = ran.json
    assert list(answer) == [
        "question",
        "standalone_question",
        "status",
        "answer",
        "citations",
        "unsupported",
        "evidence",
        "answerability",
        "missing",
        "nearest",
        "filters",
        "notices",
        "answerer",
        "usage",
        "seconds",
    ]
    assert answer["status"] == "answered"
    assert answer["answer"] == "We tracked 250 bees with radar for two summers. [1]"
    [citation] = answer["citations"]
    assert citation == {
        "number": 1,
        "paper_id": "list.txt#2",
        "aliases": ["bees-2024"],
        "label": citation["label"],
        "title": "How Bees Find Home",
        "authors": ["Ada Imker", "Bo Wabe"],
        "year": 2024,
        "venue": "Apiary Letters",
        "url": "https://example.org/bees",
        "note": "",
        "quotes": [{"text": "We tracked 250 bees with radar for two summers.", "start": 39, "end": 86, "support": 1.0}],
    }
    [evidence] = answer["evidence"]
    assert list(evidence) == ["rank", "paper_id", "passage_id", "score", "text"]
    assert (evidence["rank"], evidence["paper_id"]) == (1, "list.txt#2")
    assert answer["filters"] == {"year_from": 2024, "year_to": 2024, "author": "imker"}
    assert answer["usage"] == {"input_tokens": 0, "output_tokens": 0}
    assert list(answer["seconds"]) == ["retrieve", "generate", "verify", "total"]
    assert answer["answerer"] == "extractive"


def test_a_refusal_is_done_and_names_the_nearest(library: Path, quoth: Terminal) -> None:
    ran = quoth("ask", "--json", "Which enzyme do bees without sleep need?", QUOTH_ABSTAIN_BELOW="1")
    assert (ran.code, ran.json["status"], ran.json["citations"]) == (0, "not_in_corpus", [])
    assert list(ran.json["nearest"][0]) == ["paper_id", "label", "title", "score"]


def test_quotes_are_where_papers_show_has_them(library: Path, quoth: Terminal) -> None:
    for question in (ENERGY, "How do bees find their hive?", "Which smallest sample does every estimator need?"):
        for citation in quoth("ask", "--json", question).json["citations"]:
            abstract = quoth("papers", "show", "--json", citation["paper_id"]).json["abstract"]
            for q in citation["quotes"]:
                assert abstract[q["start"] : q["end"]] == q["text"]


def test_search(library: Path, quoth: Terminal) -> None:
    ran = quoth("search", "--json", "-k", "1", "How do bees find their hive?")
    assert ran.json == {
        "question": "How do bees find their hive?",
        "results": [
            {
                "rank": 1,
                "paper_id": "list.txt#2",
                "label": ran.json["results"][0]["label"],
                "title": "How Bees Find Home",
                "year": 2024,
                "score": 1.0,
                "sentence": "Bees find their hive by landmarks [3].",
                "start": 0,
                "end": 38,
            }
        ],
    }
    assert quoth("search", "--json", "enzyme").json == {"question": "enzyme", "results": []}
    assert quoth("search", "enzyme").out == "No paper matches. A paper without a year is outside every --year.\n"


def test_papers(library: Path, quoth: Terminal) -> None:
    rows = quoth("papers", "list", "--json").json
    assert [row["paper_id"] for row in rows] == ["list.txt#1", "list.txt#2", "list.txt#3"]
    assert rows[0] == {
        "paper_id": "list.txt#1",
        "aliases": [],
        "label": "Heliopump",
        "title": "",
        "authors": [],
        "year": 2019,
        "venue": "",
        "url": "",
        "source": "papers.jsonl#1",
        "note": "",
    }
    assert quoth("papers", "show", "--json", "bees-2024").json == {**rows[1], "abstract": BEES.abstract}
    assert PUMP.abstract.split(". ")[0] in quoth("papers", "show", "heliopump").out


def test_a_removed_paper_is_gone(library: Path, quoth: Terminal) -> None:
    assert quoth("papers", "remove", "--json", "bees-2024", "list.txt#2").json == {"removed": ["list.txt#2"]}
    assert quoth("ask", "--json", "How do bees find their hive?").json["status"] == "not_in_corpus"
    refused(quoth("papers", "remove", "list.txt#2"), "list.txt#2")


def test_summaries(library: Path, quoth: Terminal) -> None:
    answer = quoth("summarize", "--json", "Heliopump", "bees-2024").json
    assert answer["status"] == "answered"
    assert [c["paper_id"] for c in answer["citations"]] == ["list.txt#1", "list.txt#2"]


def test_a_paper_without_abstract_cannot_be_summarized(quoth: Terminal, tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    file.write_text('{"id": "t", "title": "Only a title"}\n{"id": "u", "abstract": "Wasps sting runners."}\n')
    assert quoth("index", "--title-only", str(file)).code == 0
    refused(quoth("summarize", "t"), "no abstract")
    assert "Without an abstract: Only a title" in quoth("summarize", "t", "u").out


# --- text for people ---


def test_an_answer_for_people(library: Path, quoth: Terminal) -> None:
    ran = quoth("ask", ENERGY)
    assert ran.err == ""
    assert ran.out.startswith(EXTRACTED + "\n\n[1] Heliopump\n")
    assert "characters 126:207" in ran.out


def test_a_conversation(library: Path) -> None:
    typed = "How do bees find their hive?\nHow many of them were tracked?\n"
    ran = process("-m", "rag", "chat", typed=typed, QUOTH_RETRIEVER="lexical")
    assert ran.code == 0
    assert "Bees find their hive by landmarks [3]. [1]" in ran.out
    assert "We tracked 250 bees with radar for two summers. [1]" in ran.out
    assert "Traceback" not in ran.err


def test_a_conversation_goes_on_after_an_error(library: Path, quoth: Terminal) -> None:
    with LLMServer(error(401), Reply("NOT_IN_CORPUS"), Reply("x")) as server:
        ran = quoth("chat", typed=f"{ENERGY}\n{ENERGY}\n\n", **endpoint(server.base_url))
    assert ran.code == 0
    assert "Error: " in ran.err
    assert "The papers in this library do not answer this question." in ran.out


# --- errors ---


def test_files_that_cannot_be_read(quoth: Terminal, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty.txt").touch()
    (tmp_path / "image.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00")
    refused(quoth("index", "missing.txt"), "missing.txt", "does not exist")
    refused(quoth("index", "empty"), "no list of papers")
    refused(quoth("index", "empty.txt"), "empty")
    refused(quoth("index", "image.png"), "image.png")
    misused(quoth("index"), "Missing argument")


@pytest.mark.parametrize(
    "command",
    ["ask x", "search x", "summarize x", "chat", "papers list", "papers show x", "papers remove x"],
)
def test_an_empty_library(quoth: Terminal, command: str) -> None:
    refused(quoth(*command.split()), "is empty", "quoth index PATH")


def test_names_of_papers(quoth: Terminal, tmp_path: Path) -> None:
    file = tmp_path / "twins.jsonl"
    text = '{{"id": "m{0}", "abstract": "We introduce Mistral, a model of wind number {0}."}}\n'
    file.write_text(text.format(1) + text.format(2) + text.format(3))
    assert quoth("index", str(file)).code == 0
    refused(quoth("papers", "show", "mistral"), "3 papers have the label 'mistral'", "m1, m2, m3")
    refused(quoth("summarize", "m1", "Sirocco"), "'Sirocco'", "quoth papers list")


def test_bad_options(library: Path, quoth: Terminal) -> None:
    misused(quoth("ask", "--year", "20x", ENERGY), "write 2024, 2024..2026, 2024.. or ..2024")
    misused(quoth("ask", "--year", "2026..2024", ENERGY), "ends before it starts")
    misused(quoth("ask", "-k", "0", ENERGY), "1<=x<=50")
    misused(quoth("ask", "--answerer", "oracle", ENERGY), "oracle")
    misused(quoth("ask"), "Missing argument")
    misused(quoth("oracle"), "No such command")
    refused(quoth("ask", "--library", "../x", ENERGY), "QUOTH_LIBRARY")
    refused(quoth("ask", " "), "question is empty")
    refused(quoth("ask", "--answerer", "llm", ENERGY), "QUOTH_LLM_MODEL")


@pytest.mark.parametrize(
    ("name", "value", "part"),
    [
        ("QUOTH_RETREIVER", "dense", "QUOTH_RETRIEVER"),
        ("QUOTH_K", "many", "QUOTH_K"),
        ("QUOTH_RETRIEVER", "psychic", "QUOTH_RETRIEVER"),
        ("QUOTH_RETRIEVER", "hybrid", "QUOTH_RETRIEVER=lexical"),  # the library has no vectors
        ("OPENAI_BASE_URL", "localhost:80", "OPENAI_BASE_URL"),
    ],
)
def test_bad_settings(library: Path, quoth: Terminal, name: str, value: str, part: str) -> None:
    refused(quoth("ask", ENERGY, **{name: value}), part)


def test_a_home_that_cannot_be_written(quoth: Terminal, paper_file: Path, tmp_path: Path) -> None:
    refused(quoth("index", str(paper_file), QUOTH_HOME=str(paper_file / "x")), "QUOTH_HOME")


def test_a_damaged_database(library: Path, quoth: Terminal) -> None:
    (library / "libraries/default/chroma/chroma.sqlite3").write_bytes(b"garbage" * 1000)
    refused(quoth("ask", ENERGY), "database", "QUOTH_HOME")


def test_a_damaged_word_index_is_made_anew(library: Path, quoth: Terminal) -> None:
    (library / "libraries/default/lexical/meta.json").write_text("garbage")
    assert quoth("ask", ENERGY).out.startswith(EXTRACTED)


def test_a_bug_keeps_its_traceback(quoth: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    def bug(_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("rag.build.open_quoth", bug)
    monkeypatch.setattr(sys, "argv", ["quoth", "ask", "x"])
    with pytest.raises(ZeroDivisionError):  # Python prints it and ends with 1
        main()


# --- the LLM's failures ---


def endpoint(url: str) -> dict[str, str]:
    return {
        "OPENAI_BASE_URL": url,
        "OPENAI_API_KEY": KEY,
        "QUOTH_LLM_MODEL": "test-model",
        "QUOTH_LLM_RETRIES": "0",
        "QUOTH_LLM_TIMEOUT": "0.3",
    }


@pytest.mark.parametrize(
    ("failure", "part"),
    [
        (error(401, f"Incorrect API key provided: {KEY}"), "OPENAI_API_KEY"),
        (error(429, "slow down"), "wait and ask again"),
        (error(500, "oops"), "(500"),
        (Failure(502, "<html>bad gateway</html>"), "(502)"),
        (Reply(3.0, "late"), "sent nothing for 0.3 s"),
        (Reply("Helio", CUT), "broke off"),
        (Reply(b"data: {nonsense\n\n"), "OpenAI's format"),
        (Reply(), "empty reply"),
    ],
)
def test_failures_of_the_llm_that_was_asked_for(
    library: Path, quoth: Terminal, failure: Failure | Reply, part: str
) -> None:
    with LLMServer(failure) as server:
        ran = quoth("ask", "--answerer", "llm", "--json", ENERGY, **endpoint(server.base_url))
    refused(ran, part)
    assert KEY not in ran.err


def test_nobody_listens(library: Path, quoth: Terminal) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        refused(quoth("ask", "--answerer", "llm", ENERGY, **endpoint(url)), "nothing listens at " + url)
        ran = quoth("ask", ENERGY, **endpoint(url))  # else quotes do
    assert ran.out.startswith(EXTRACTED)
    assert "Note: Answered without the LLM: nothing listens" in ran.out


def test_a_verified_answer_of_the_llm(library: Path, quoth: Terminal) -> None:
    with LLMServer(Reply("Heliopump used 18% less energy than fixed schedules [1]. It won on the Moon [1].")) as server:
        ran = quoth("ask", ENERGY, **endpoint(server.base_url))
    assert ran.out.startswith("Heliopump used 18% less energy than fixed schedules. [1]\n")
    assert "Left out, because no abstract supports it:\n  - It won on the Moon." in ran.out
    assert ran.err == "", "unverified text is not shown"


# --- processes ---

HEAVY = ("torch", "sentence_transformers", "transformers", "langchain", "langchain_core", "langchain_openai", "gradio")


@pytest.mark.parametrize("command", ["--help", "ask --help", "papers list", "papers list --json"])
def test_light_commands_import_nothing_heavy(library: Path, command: str) -> None:
    program = (
        "import sys\nfrom rag.cli import main\ntry: main()\n"
        f"finally: print('HEAVY', [m for m in {HEAVY} if m in sys.modules], file=sys.stderr)"
    )
    ran = process("-c", program, *command.split())
    assert (ran.code, ran.err) == (0, "HEAVY []\n")
    assert ran.out


def test_python_dash_m(library: Path) -> None:
    ran = process("-m", "rag", "papers", "list")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[0] == "list.txt#1  Heliopump  (2019)"
    ran = process("-m", "rag", "papers", "show", "nobody")
    refused(ran, "nobody")


def test_an_output_without_all_of_unicode(quoth: Terminal, tmp_path: Path) -> None:
    file = tmp_path / "u.jsonl"
    file.write_text(json.dumps({"id": "u", "abstract": "Naïve 🐝 sting."}), encoding="utf-8")
    assert quoth("index", str(file)).code == 0
    words = [sys.executable, "-m", "rag", "papers", "show", "u"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "latin-1"}
    text, data = (subprocess.run([*words, *more], env=environment, capture_output=True) for more in ([], ["--json"]))
    assert (text.returncode, data.returncode) == (0, 0), text.stderr + data.stderr
    assert "Naïve ? sting." in text.stdout.decode("latin-1")
    assert json.loads(data.stdout)["abstract"] == "Naïve 🐝 sting."


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_reader_that_leaves_is_no_error(quoth: Terminal, tmp_path: Path, form: list[str]) -> None:
    file = tmp_path / "many.jsonl"
    record = '{{"id": "{0:0500}", "abstract": "Paper {0} speaks of wind {0}."}}\n'
    file.write_text("".join(record.format(n) for n in range(200)))
    assert quoth("index", str(file)).code == 0
    words = [sys.executable, "-m", "rag", "papers", "list", *form]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)}
    ) as running:
        assert running.stdout
        assert running.stderr
        running.stdout.readline()
        running.stdout.close()
        err = running.stderr.read()
    assert (running.returncode, err) == (0, b"")


def test_an_interrupted_command(library: Path) -> None:
    with LLMServer(Reply(30.0, "late")) as server:
        environment = {**os.environ, **endpoint(server.base_url), "QUOTH_LLM_TIMEOUT": "60", "NO_PROXY": "127.0.0.1"}
        words = [sys.executable, "-m", "rag", "ask", ENERGY]
        with subprocess.Popen(
            words,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            env={**environment, "PYTHONPATH": str(ROOT), "QUOTH_RETRIEVER": "lexical"},
        ) as running:
            deadline = time.monotonic() + 30
            while not server.requests and time.monotonic() < deadline:
                time.sleep(0.02)
            running.send_signal(signal.SIGINT)
            out, err = running.communicate(timeout=10)
    assert (running.returncode, out, err.strip()) == (130, "", "interrupted")


def test_an_empty_path_is_no_folder(quoth: Terminal) -> None:
    ran = quoth("index", "")
    assert (ran.code, ran.err.strip()) == (
        2,
        "Error: a path is empty: give a file or a folder with lists of papers",
    )


@pytest.mark.parametrize("words", [("index", "a" * 5000), ("papers", "list", "--home", "x" * 300)])
def test_a_name_that_is_too_long_is_one_line(quoth: Terminal, words: tuple[str, ...]) -> None:
    ran = quoth(*words)
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "too long" in ran.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "rag", "--help"], stdout=full, stderr=subprocess.PIPE, encoding="utf-8", cwd=ROOT
        )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "the output cannot be written" in done.stderr


@pytest.mark.parametrize("words", [("papers", "list"), ("ask", "Why?")])
def test_a_home_that_is_a_file_is_told(quoth: Terminal, tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "file").touch()
    ran = quoth(*words, QUOTH_HOME=str(tmp_path / "file"))
    assert (ran.code, "file is no folder: set QUOTH_HOME" in ran.err) == (2, True)
