"""Lines of abstracts and answers as HTML."""

from __future__ import annotations

import re
import time

import pytest

from ui.markup import inline, readable


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("13\\% of R\\&D", "13% of R&amp;D"),
        ("\\textsc{Gnn}s", "<span class='sc'>Gnn</span>s"),
        ("\\emph{a \\textbf{b} c}", "<em>a <b>b</b> c</em>"),
        ("{\\em now} {\\bf bold}", "<em>now</em> <b>bold</b>"),
        ("**SCRI**pt-**B**ased", "<strong>SCRI</strong>pt-<strong>B</strong>ased"),
        ("**66.18%** win", "<strong>66.18%</strong> win"),
        ("*so* _low_ `x<y`", "<em>so</em> <em>low</em> <code>x&lt;y</code>"),
        ("A* and B* of 5*3*2 in a_b_c", "A* and B* of 5*3*2 in a_b_c"),
        ('G\\"odel and Erd\\H{o}s', "Gödel and Erd\\H{o}s"),
        ("\\[3\\] and [3]", "[3] and [3]"),
        ("10~MHz, ~5", "10\u00a0MHz, ~5"),
        ("\\textbf{never closed", "never closed"),
        ("\\method{} wins", "\\method{} wins"),
        ("see [here](javascript:alert(1))", "see [here](javascript:alert(1))"),
        ("$\\textbf{Plain phrase}$", "<b>Plain phrase</b>"),
        ("${x$", "<code>{x</code>"),
    ],
)
def test_shown_as_meant(text: str, html: str) -> None:
    assert inline(text) == html


@pytest.mark.parametrize(
    "prices",
    [
        "costs $25 and $30",
        "from $25-$30 to $40",
        "fell from $5, or US$ 6, to $4",
        "between \\$5 and \\$6",
        "a $5 fee and US$",
    ],
)
def test_prices_are_no_formulas(prices: str) -> None:
    assert inline(prices) == prices.replace("\\", "")


@pytest.mark.parametrize("formula", ["$L_2$", "$9.7$%", "pass@$1$", "$$x$$", "\\(x\\)", "$2 \\times 2$", "$\\$5$"])
def test_formulas(formula: str) -> None:
    assert inline(formula).count("<math>") == 1


def test_html_is_inert() -> None:
    assert inline("<script>alert('1')</script> & <img src=x onerror=\"x\">") == (
        "&lt;script&gt;alert(&#x27;1&#x27;)&lt;/script&gt; &amp; &lt;img src=x onerror=&quot;x&quot;&gt;"
    )


def lit(text: str, *spans: tuple[int, int]) -> str:
    """Only what is lit, tags taken off."""
    return re.sub(r"<[^>]*>", "", "".join(re.findall(r"<mark>(.*?)</mark>", inline(text, spans))))


def test_marks_characters() -> None:
    assert inline("one two three", [(4, 7)]) == "one <mark>two</mark> three"


def test_overlapping_and_adjacent_marks_become_one() -> None:
    assert inline("one two three", [(0, 5), (4, 7), (7, 9)]) == "<mark>one two t</mark>hree"


def test_offsets_are_code_points() -> None:
    assert inline("𝒪𝒪 🧪 result", [(3, 4)]) == "𝒪𝒪 <mark>🧪</mark> result"


def test_marks_do_not_cross_elements() -> None:
    text = "We show **fast** models."
    assert inline(text, [(3, 23)]) == ("We <mark>show </mark><strong><mark>fast</mark></strong><mark> models</mark>.")


def test_a_formula_is_lit_whole() -> None:
    text = "norm $L_2$ here"
    assert inline(text, [(0, 7)]) == ("<mark>norm <math><msub><mi>L</mi><mn>2</mn></msub></math></mark> here")


def test_escapes_are_lit_with_their_sentence() -> None:
    text = "Up. It is 13\\% better [3]. Down."
    assert lit(text, (4, 26)) == "It is 13% better [3]."


def test_markers() -> None:
    def marker(number: int) -> str | None:
        return f"<a>{number}</a>" if number == 1 else None

    assert inline("Yes. [1][2] \\[1\\]", marker=marker) == "Yes. <a>1</a>[2] [1]"


def test_readable_is_plain_text() -> None:
    assert readable("\\textsc{Gnn} & **x** <b> $L_2$ 'q'") == "Gnn & x <b> L2 'q'"


@pytest.mark.parametrize(
    "text", ["\\textbf{" * 3000, "**a" * 5000, "$" * 5000, "{\\em " * 2000, "`a" * 5000, "$a " * 5000, "\\(" * 5000]
)
def test_hostile_text_is_quick(text: str) -> None:
    started = time.process_time()
    assert inline(text + " end").endswith("end")
    assert time.process_time() - started < 5


@pytest.mark.parametrize("around", ["#", "**#**", "`#`", "\\textbf{#}", "$x#$", "$\\mathbf{#}$", "\\#", "$a {#$"])
def test_control_characters_are_dropped(around: str) -> None:
    for char in "\x00\x08\x0b\r\x1b\x1f\x7f\x85\x9f\u202a\u202e\u2066\u2069":
        text = around.replace("#", char + "b")
        assert char not in inline(text, [(0, len(text))])
        assert char not in readable(text)


def test_marks_count_the_characters_that_are_dropped() -> None:
    assert inline("on\u202ee \x1btwo\x00 three", [(6, 9)]) == "one <mark>two</mark> three"
