"""Markdown blocks of answers."""

from __future__ import annotations

from ui.blocks import blocks


def test_paragraphs_and_line_breaks() -> None:
    assert blocks("One.\ntwo\n\nThree.") == "<p>One.<br>two</p><p>Three.</p>"


def test_lists() -> None:
    assert blocks("Two:\n- a\n- b\n  more\n\n2. c\n3. d") == (
        "<p>Two:</p><ul><li>a</li><li>b more</li></ul><ol start='2'><li>c</li><li>d</li></ol>"
    )


def test_headings_and_code() -> None:
    assert (
        blocks("## Results\n```\n<x> [1]\n```\nend")
        == "<h4>Results</h4><pre><code>&lt;x&gt; [1]</code></pre><p>end</p>"
    )


def test_tables() -> None:
    assert blocks("| a | b |\n|---|---|\n| 1 | <i> |") == (
        "<div class='wide'><table><thead><tr><th>a</th><th>b</th></tr></thead>"
        "<tbody><tr><td>1</td><td>&lt;i&gt;</td></tr></tbody></table></div>"
    )


def test_an_open_fence_ends_with_the_text() -> None:
    assert blocks("```\nx") == "<pre><code>x</code></pre>"


def test_nothing() -> None:
    assert blocks("") == blocks(" \n\n") == ""
