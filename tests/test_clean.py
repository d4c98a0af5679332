"""The stored form of an abstract."""

import pytest

from rag.formats import clean


@pytest.mark.parametrize(
    ("raw", "stored"),
    [
        ("  one  two \n three\t\n", "one  two three"),
        ("one\r\ntwo\rthree", "one two three"),
        ("first\n \t\n\n  second", "first\n\nsecond"),
        ("BACKGROUND: why. \n METHODS: how\nRESULTS: what", "BACKGROUND: why.\nMETHODS: how\nRESULTS: what"),
        ("It ends.\nDATA AT HAND: none.", "It ends.\nDATA AT HAND: none."),
        ("a line that names\nBERT: one model", "a line that names BERT: one model"),
        ("Cafe\u0301", "Café"),
        (r"$x^2$ and **bold** \emph{kept}", r"$x^2$ and **bold** \emph{kept}"),
        ("x < y & z > 1", "x < y & z > 1"),
        ("Abstract: We see.", "We see."),
        ("ABSTRACT\nWe see.", "We see."),
        ("Abstract We see.", "We see."),
        ("摘要：我们看见。", "我们看见。"),
        ("Abstract reasoning is hard.", "Abstract reasoning is hard."),
        ("Abstract-level views help.", "Abstract-level views help."),
        ("We see. © 2031 Example Press. All rights reserved.", "We see."),
        ("We see. Copyright 2031 by the authors.", "We see."),
        ("Two cases: (a) one, (b) two. (c) is left open.", "Two cases: (a) one, (b) two. (c) is left open."),
        ("[No abstract available]", ""),
        ("bell\x07 and doesn\x92t\ud800", "bell and doesn’t\ufffd"),
        ("\ufeffmark", "mark"),
    ],
)
def test_folding(raw: str, stored: str) -> None:
    assert clean.abstract(raw).text == stored
    assert clean.abstract(stored).text == stored


WRAPPED = """Hard-wrapped text breaks words wherever a line is full, which hap-
pens often, and it breaks compounds such as self-
supervised at the hyphen that they own; names like the VQ-
vae keep theirs too, and so does everything that is state-of-the-
art in any year."""


def test_hyphens_at_the_ends_of_wrapped_lines() -> None:
    folded = clean.abstract(WRAPPED.replace("self-\nsupervised", "self-supervised, or rather self-\nsupervised"))
    assert "which happens often" in folded.text
    assert "rather self-supervised at" in folded.text
    assert "VQ-vae keep" in folded.text
    assert "state-of-the-art in" in folded.text
    assert folded.changes == (clean.HYPHENS,)


def test_a_hyphen_before_a_single_break_stays_in_text_that_is_not_wrapped() -> None:
    assert clean.abstract("pre-\nand post-war").text == "pre- and post-war"


@pytest.mark.parametrize(
    ("raw", "decoded"),
    [
        ("a &lt; b &amp; c &#233; &nosuch; R&D;", "a < b & c é &nosuch; R&D;"),
        ("<jats:p>One.</jats:p><jats:p>Two.</jats:p>", "One.\n\nTwo."),
        ("CO<sub>2</sub> and <i>in vivo</i><br/>more", "CO2 and in vivo more"),
        ("if x <b and b> y, <MASK> stays, <i> too", "if x <b and b> y, <MASK> stays, <i> too"),
        ("&lt;p&gt; is a tag in the text", "<p> is a tag in the text"),
    ],
)
def test_markup(raw: str, decoded: str) -> None:
    assert clean.abstract(raw, markup=True).text == decoded


def test_line() -> None:
    assert clean.line(" A\n title  with <i>x</i> &amp; y\x00 ", markup=True) == "A title with x & y"
