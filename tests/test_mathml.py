"""Formulas of abstracts as MathML."""

from __future__ import annotations

import pytest

from ui.mathml import mathml


@pytest.mark.parametrize(
    ("latex", "inside"),
    [
        ("L_2", "<msub><mi>L</mi><mn>2</mn></msub>"),
        ("x_i^2", "<msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup>"),
        ("x^2_i", "<msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup>"),
        (r"20\times", "<mn>20</mn><mo>×</mo>"),
        ("a<b", "<mi>a</mi><mo>&lt;</mo><mi>b</mi>"),
        (r"\mathcal{O}(n \log n)", "<mi>𝒪</mi><mo>(</mo><mi>n</mi><mi>log</mi><mi>n</mi><mo>)</mo>"),
        (r"\mathbb{R}", "<mi>ℝ</mi>"),
        (r"\frac12", "<mfrac><mn>1</mn><mn>2</mn></mfrac>"),
        (r"\sqrt[3]{x}", "<mroot><mrow><mi>x</mi></mrow><mrow><mn>3</mn></mrow></mroot>"),
        (r"\text{mAP}@50", "<mtext>mAP</mtext><mo>@</mo><mn>50</mn>"),
        (r"13.5\%", "<mn>13.5</mn><mo>%</mo>"),
        (r"\left(x\right.", "<mo>(</mo><mi>x</mi>"),
        ("f'", "<msup><mi>f</mi><mo>′</mo></msup>"),
        (r"\ourmethod", r"<mtext>\ourmethod</mtext>"),
    ],
)
def test_what_abstracts_use(latex: str, inside: str) -> None:
    assert mathml(latex) == f"<math>{inside}</math>"


@pytest.mark.parametrize("latex", ["{x", "x}", "x^", r"\frac{1}", "{" * 200 + "}" * 200, "x" * 601])
def test_no_formula(latex: str) -> None:
    with pytest.raises(ValueError):
        mathml(latex)


def test_text_inside_is_escaped() -> None:
    assert mathml(r"\text{<b>}\mathbf{<}") == "<math><mtext>&lt;b&gt;</mtext><mi>&lt;</mi></math>"
