"""Reports: complete, inert, and without anything from outside."""

import re
from pathlib import Path

import pytest

from eval import plots
from eval.compare import compare_runs
from eval.items import Gold, Item
from eval.records import read_run, write_lines
from eval.report import write_comparison, write_report
from eval.score import score

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"
ITEMS = [
    Item(
        "one", f"Red? {HOSTILE}", True, ("a",), "single", evidence=(Gold("a", "Apples are red."),), key_facts=("red",)
    ),
    Item("two", "Loud?", False, (), "unanswerable"),
    Item("three", "Blue?", True, ("b",), "multi"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    quote = {"text": f"Apples are red. {HOSTILE}", "start": 0, "end": 9, "support": 1.0}
    citation = {"number": 1, "paper_id": "a", "title": HOSTILE, "quotes": [quote]}
    answers = [
        {"status": "answered", "answer": f"Red. [1] {HOSTILE}", "citations": [citation], "answerability": 0.9},
        {"status": "not_in_corpus", "answer": "It does not say.", "citations": [], "answerability": 0.1},
        None,
    ]
    write_lines(tmp_path / "items.jsonl", [i.as_dict() for i in ITEMS])
    write_lines(
        tmp_path / "records.jsonl",
        [
            {
                "id": i.id,
                "papers": list(i.papers),
                "answer": a,
                "ranked": ["a", "b"] if a else [],
                "seconds": 0.5 if a else None,
                "error": None if a else HOSTILE,
            }
            for i, a in zip(ITEMS, answers, strict=True)
        ],
    )
    return tmp_path


def check(page: str) -> None:
    assert HOSTILE not in page
    assert "&lt;script&gt;alert(1)" in page
    assert not re.search(r"<(script|link|img|iframe)\b", page)
    assert not re.search(r"(src|href)=|url\(|@import|https?://", page.replace("&lt;img src=x", ""))
    assert "default-src 'none'" in page
    assert page.count("<svg") == page.count("</svg>")


def test_the_report_of_a_run(folder: Path) -> None:
    run = read_run(folder)
    write_report(run, score(run), folder / "report.html")
    page = (folder / "report.html").read_text(encoding="utf-8")
    check(page)
    assert "<td>MRR</td>" in page
    assert page.count("<details>") == 3
    for plot in ("by depth", "MRR by type", "threshold of answerability", "answered within"):
        assert plot in page
    assert page.index("Blue?") < page.index("Loud?")  # what failed comes first


def test_the_report_of_a_comparison(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    for name in ("items.jsonl", "records.jsonl"):
        text = (folder / name).read_text(encoding="utf-8")
        (other / name).write_text(text.replace('["a", "b"]', '["b", "a"]'), encoding="utf-8")
    write_comparison(compare_runs(folder, other) | {"failed": ["MRR < 0"]}, other / "compare.html")
    page = (other / "compare.html").read_text(encoding="utf-8")
    check(page)
    assert "Condition holds: MRR &lt; 0" in page
    assert "<h3>A: answered</h3>" in page
    assert "<h3>B: answered</h3>" in page


def test_a_curve_ends_where_its_last_point_is() -> None:
    """The axes take 48 of 420 points at the left, 12 at the right, 12 at the top and 40 of 240 at the bottom."""
    svg = plots.lines({"x": [(0, 0), (1, 0.5), (2, 1)]}, "k", "recall", 2)
    assert 'points="48.0,200.0 228.0,106.0 408.0,12.0"' in svg


def test_bars_to_both_sides() -> None:
    svg = plots.bars({"up": (0.5, 0.25, 0.75), "down": (-0.5, None, None)}, -1, 1)
    assert svg.count('class="f0"') == 2
    assert svg.count('class="whisker"') == 1
