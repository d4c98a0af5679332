"""The Makefile, run for real with stand-ins for Python, pip and quoth that note how they are called."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAKE = shutil.which("make")
pytestmark = pytest.mark.skipif(MAKE is None, reason="make is not installed")

# A Python that notes each call with its words between bars. `-m venv` copies itself to where the commands go.
# A file named `break` in the project makes pip fail once.
STAND_IN = r"""#!/bin/sh
name=${0##*/}
case "$name $1 $2" in
*" -c "*) exit "${PYTHON_TOO_OLD:-0}" ;;
esac
{ printf '%s' "$name"; printf '|%s' "$@"; echo; } >> calls
case "$*" in
"-m venv"*)
  rm -rf .venv
  mkdir -p .venv/bin
  for command in python quoth ruff mypy; do cp "$0" ".venv/bin/$command"; done ;;
"-m pip"*) if [ -e break ]; then rm break; exit 1; fi ;;
"index "*missing*) echo "missing: no such file" >&2; exit 2 ;;
"index "*) echo "38 unchanged" ;;
"ask "*) echo "An answer. [1]" ;;
esac
"""


class Project:
    """A folder with the Makefile, its inputs and the stand-in as its only Python."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("Makefile", "pyproject.toml", "constraints.txt"):
            shutil.copy(ROOT / name, folder)
        self.python("python3")

    def python(self, name: str, text: str = STAND_IN) -> None:
        path = self.folder / "programs" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)

    def make(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run make with these words, outside any other make that runs this test."""
        outer = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
        path = f"{self.folder / 'programs'}{os.pathsep}/usr/bin{os.pathsep}/bin"
        return subprocess.run(
            [str(MAKE), *words],
            cwd=self.folder,
            env={
                **outer,
                "Q": "",
                "PAPERS": "",
                "TORCH_INDEX": "",
                "ARGS": "",
                "RECORD": "",
                "PATH": path,
                **environment,
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )

    def calls(self) -> list[str]:
        """The calls noted since the last time."""
        noted = self.folder / "calls"
        lines = noted.read_text(encoding="utf-8").splitlines() if noted.exists() else []
        noted.unlink(missing_ok=True)
        return lines


@pytest.fixture
def project(tmp_path: Path) -> Project:
    folder = tmp_path / "a project"
    folder.mkdir()
    return Project(folder)


PIP = "python|-m|pip|--disable-pip-version-check|install|-c|constraints.txt"
INSTALL = [
    "python3|-m|venv|--clear|.venv",
    f"{PIP}|--quiet|hatchling",
    f"{PIP}|--no-build-isolation|-e|.",
]
INSTALL_TOOLS = f"{PIP}|--quiet|--no-build-isolation|-e|.[dev]"
INDEX = "quoth|index|--library|sample|--home|.quoth|--|samples/papers.jsonl"
ASK = "quoth|ask|--library|sample|--home|.quoth|--|why?"


# Installing


def test_ask_installs_indexes_and_asks_then_installs_nothing(project: Project) -> None:
    first = project.make("ask", "Q=why?")
    assert (first.returncode, first.stdout) == (0, "An answer. [1]\n")
    assert project.calls() == [*INSTALL, INDEX, ASK]
    second = project.make("ask", "Q=why?")
    assert (second.stdout, second.stderr) == ("An answer. [1]\n", "38 unchanged\n")
    assert project.calls() == [INDEX, ASK]


def test_eval_starts_afresh_and_holds_or_records_the_scores(project: Project) -> None:
    left = project.folder / ".quoth" / "eval" / "run" / "records.jsonl"
    left.parent.mkdir(parents=True)
    left.touch()
    run = "quoth|eval|run|--library|sample|--home|.quoth/eval|--answerer|extractive|--out|.quoth/eval/run"
    asked = [
        "quoth|index|--library|sample|--home|.quoth/eval|--|samples/papers.jsonl",
        f"{run}|samples/items.jsonl",
    ]
    assert project.make("eval").returncode == 0
    assert not left.exists()
    assert project.calls() == [*INSTALL, *asked, "quoth|eval|score|--floor|samples/recorded.json|.quoth/eval/run"]
    assert project.make("eval", "RECORD=1").returncode == 0
    assert project.calls() == [*asked, "quoth|eval|score|--record|samples/recorded.json|.quoth/eval/run"]


def test_test_adds_the_tools_and_hands_on_its_arguments(project: Project) -> None:
    assert project.make("test", "ARGS=-k 'a b'").returncode == 0
    assert project.calls() == [*INSTALL, INSTALL_TOOLS, "python|-m|pytest|-k|a b"]
    assert project.make("test").returncode == 0
    assert project.calls() == ["python|-m|pytest"]


def test_tools_added_later_leave_nothing_to_install_for_ask(project: Project) -> None:
    project.make("ask", "Q=why?")
    project.make("lint")
    project.calls()
    project.make("ask", "Q=why?")
    assert project.calls() == [INDEX, ASK]


@pytest.mark.parametrize("changed", ["pyproject.toml", "constraints.txt"])
def test_a_changed_requirement_is_installed_into_the_same_venv(project: Project, changed: str) -> None:
    project.make("ask", "Q=why?")
    project.calls()
    ready = (project.folder / ".venv" / ".ready").stat().st_mtime
    os.utime(project.folder / changed, (ready + 1, ready + 1))
    project.make("ask", "Q=why?")
    assert project.calls() == [*INSTALL[1:], INDEX, ASK]


@pytest.mark.parametrize("goal", ["ask", "test"])
def test_an_interrupted_installation_is_made_anew(project: Project, goal: str) -> None:
    project.make("ask", "Q=why?")
    if goal == "ask":
        os.utime(project.folder / "constraints.txt", (4e9, 4e9))
    (project.folder / "break").touch()
    assert project.make(goal, "Q=why?").returncode == 2
    project.calls()
    os.utime(project.folder / "constraints.txt", (1e9, 1e9))
    assert project.make("ask", "Q=why?").returncode == 0
    assert project.calls() == [*INSTALL, INDEX, ASK]


def test_goals_at_the_same_time_install_once(project: Project) -> None:
    assert project.make("-j4", "lint", "test", "ask", "Q=why?").returncode == 0
    calls = project.calls()
    assert calls[:4] == [*INSTALL, INSTALL_TOOLS]
    assert not [call for call in calls[4:] if "pip" in call]


def test_torch_from_another_index(project: Project) -> None:
    project.make("ask", "Q=why?", "TORCH_INDEX=http://localhost/cpu")
    assert project.calls()[2] == f"{PIP}|--no-deps|--index-url|http://localhost/cpu|torch"


def test_an_old_python3_gives_way_to_a_newer_one(project: Project) -> None:
    project.python("python3", "#!/bin/sh\nexit 1\n")
    project.python("python3.12")
    for name in ("python3.13", "python3.11"):  # whatever this machine has must not be taken
        project.python(name, "#!/bin/sh\nexit 1\n")
    project.make("ask", "Q=why?")
    assert project.calls()[0] == "python3.12|-m|venv|--clear|.venv"


def test_no_python_that_fits(project: Project) -> None:
    result = project.make("ask", "Q=why?", "PYTHON=python3 absent", PYTHON_TOO_OLD="1")
    assert result.returncode == 2
    assert "quoth needs Python 3.11 or newer" in result.stderr
    assert "none of these is one: python3 absent" in result.stderr
    assert project.calls() == []


# What the user says


@pytest.mark.parametrize(
    "question",
    [
        "What does $HOME cost, $$5 or $(PYTHON)?",
        "an open $( and ${ and $",
        "$(shell touch made) `touch made` $$(touch made)",
        """the "best" and the 'worst', it's; \\ \\n \\" | & < > * ? ~ !""",
        "# 100% of C# #1 \\# %d",
        "a, b) (c",
        "哪些论文讨论了拒答？ é ∑ 🙂",
        "-5 degrees --help",
        "x=1 ask := y",
        "$\\mathcal{L}_{2}$ loss",
    ],
)
@pytest.mark.parametrize("given", ["as a word", "in the environment"])
def test_a_question_arrives_unchanged(project: Project, question: str, given: str) -> None:
    words, environment = (["ask", f"Q={question}"], {}) if given == "as a word" else (["ask"], {"Q": question})
    result = project.make(*words, **environment)
    assert result.returncode == 0, result.stderr
    assert project.calls()[-1] == f"quoth|ask|--library|sample|--home|.quoth|--|{question}"
    assert not (project.folder / "made").exists()


@pytest.mark.parametrize("papers", ["../my papers/list 1.txt", "it's $HOME (new)", "-list.txt"])
def test_own_papers_go_to_the_default_library(project: Project, papers: str) -> None:
    where = "--library|default|--home|.quoth"
    project.make("ask", f"PAPERS={papers}", "Q=why?")
    assert project.calls()[-2:] == [f"quoth|index|{where}|--|{papers}", f"quoth|ask|{where}|--|why?"]
    project.make("chat", f"PAPERS={papers}")
    assert project.calls() == [f"quoth|index|{where}|--|{papers}", f"quoth|ui|{where}"]


def test_chat_on_the_samples(project: Project) -> None:
    assert project.make("chat").returncode == 0
    assert project.calls()[-2:] == [INDEX, "quoth|ui|--library|sample|--home|.quoth"]


@pytest.mark.parametrize("words", [["ask"], ["ask", "Q="], ["ask", "Q=  "], ["test", "ask"]])
def test_ask_without_a_question_tells_how_to_ask(project: Project, words: list[str]) -> None:
    result = project.make(*words)
    assert result.returncode == 2
    assert 'Usage: make ask Q="a question"' in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert project.calls() == []


def test_what_quoth_says_of_an_error_is_seen_and_nothing_is_asked(project: Project) -> None:
    result = project.make("ask", "PAPERS=missing", "Q=why?")
    assert result.returncode == 2
    assert result.stdout == ""
    assert "missing: no such file\n" in result.stderr
    assert "quoth|ask" not in "".join(project.calls())


def test_make_alone_tells_what_there_is(project: Project) -> None:
    shown = project.make().stdout
    goals = [line.split()[1] for line in shown.splitlines()]
    assert goals == ["ask", "ask", "chat", "eval", "test", "lint", "bench", "pins"]
    assert project.calls() == []
