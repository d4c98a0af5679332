"""Short names of papers."""

import pytest

from rag.labels import label


@pytest.mark.parametrize(
    ("abstract", "expected"),
    [
        ("We propose Tidal Gate Routing (TGR), a method. TGR is fast.", "TGR"),
        ("Routing is hard. To address this, we introduce Ebbly, a novel router for tides.", "Ebbly"),
        ("We present **LanternBench**, a benchmark for night vision.", "LanternBench"),
        (r"Doctors wait. We build \textbf{WaitWell}, a framework that \emph{waits}.", "WaitWell"),
        ("Ice melts (IM). We describe a new model of ice, called ColdFlow-2, that does not.", "ColdFlow-2"),
        ("They propose Slow Tide Tuning, or ST-Tuning, which waits.", "Slow Tide Tuning"),
        ("In this work we analyse tides, and propose Coupled Wave Search (CWS), which couples waves.", "CWS"),
        ("**SALT** (Scripted Learning of Tides) is old. We introduce **SALT+**, the new form.", "SALT+"),
        (
            "Large language models (LLMs) are large. We study how LLMs forget what they read.",
            "Large language models (LLMs) are large …",
        ),
        ("BACKGROUND: Tides rise twice a day on most coasts.", "Tides rise twice a day on …"),
        ("Short text.", "Short text."),
    ],
)
def test_name_from_the_abstract(abstract: str, expected: str) -> None:
    assert label("", abstract) == expected


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("TideNet: Reading the Sea", "TideNet"),
        ("What do tides want? A study", "What do tides want? A study"),
        ("On the long and slow memory of tides", "On the long and slow memory …"),
        ("Tides: a survey", "Tides"),
        (r"Learning $O(n^2)$ tides", "Learning O(n²) tides"),
    ],
)
def test_title_where_the_abstract_names_nothing(title: str, expected: str) -> None:
    assert label(title, "Water moves and nobody knows why.") == expected


def test_a_label_is_never_empty_for_a_text() -> None:
    assert label("", "a") == "a"
    assert label("", "我们提出一种新方法。") == "我们提出一种新方法。"
