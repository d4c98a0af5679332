"""The grammar of markers."""

from __future__ import annotations

import pytest

from rag.markers import Marked, escape, marked_sentences, marker, unescape


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("One. [1] Two. [2]", [("One.", 1), ("Two.", 2)]),
        ("One [1]. Two [2].", [("One.", 1), ("Two.", 2)]),
        ("One.[1] Two.[2]", [("One.", 1), ("Two.", 2)]),
        ("[1] One.", [("One.", 1)]),
        ("One [1, 2].", [("One.", 1, 2)]),
        ("One [1-3].", [("One.", 1, 2, 3)]),
        ("One [1]–[3].", [("One.", 1, 2, 3)]),
        ("One [1], [3].", [("One.", 1, 3)]),
        ("One [1 and 3].", [("One.", 1, 3)]),
        ("One [1][1][2].", [("One.", 1, 2)]),
        ("一。【1】二。【2】", [("一。", 1), ("二。", 2)]),
        ("One【2†source】.", [("One.", 2)]),
        ("One [[1]](https://example.org).", [("One.", 1)]),
        ("One (see [1]).", [("One.", 1)]),
        ("As [2] shows, one is few.", [("One is few.", 2)]),
        ("Two. [1] According to [2], one is few.", [("Two.", 1), ("One is few.", 2)]),
        ("On $[0,1]$ and $x_{[2]}$. [3]", [("On $[0,1]$ and $x_{[2]}$.", 3)]),
        ("It costs $25 [1] and $30.", [("It costs $25 and $30.", 1)]),
        ("See `a[1]`. [2]", [("See `a[1]`.", 2)]),
        ("See [two](https://example.org).", [("See [two](https://example.org).",)]),
        (r"One \[3\]. [1]", [(r"One \[3\].", 1)]),
        ("In [2024] one.", [("In [2024] one.",)]),
        ("One [12.5].", [("One [12.5].",)]),
        ("One [9-1].", [("One.", 9, 1)]),
        ("", []),
        ("[1]", []),
    ],
)
def test_reading(line: str, expected: list[tuple[str, int]]) -> None:
    assert marked_sentences(line) == [Marked(text, numbers) for text, *rest in expected for numbers in [tuple(rest)]]


def test_writing() -> None:
    assert marker([1, 3]) == "[1][3]"


@pytest.mark.parametrize(
    ("quote", "escaped"),
    [
        ("as shown [3] and [4, 5]", r"as shown \[3\] and \[4, 5\]"),
        ("in [2024]", r"in \[2024\]"),
        ("$x_{[1]}$ in $[0,1]$", r"$x_{\[1\]}$ in $[0,1]$"),
        ("[a] and [b1]", "[a] and [b1]"),
        (r"\[E = m\]", r"\[E = m\]"),
    ],
)
def test_quotes_are_escaped_and_read_back(quote: str, escaped: str) -> None:
    assert escape(quote) == escaped
    assert unescape(escaped) == quote
    assert [n for s in marked_sentences(f"{escaped}. [7]") for n in s.numbers] == [7]
