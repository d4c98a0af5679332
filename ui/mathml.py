"""LaTeX formulas as MathML, which browsers draw themselves: nothing to load, nothing to run, the same on every page.

Covers what abstracts use. An unknown command stays readable as its name; only unbalanced input is refused.
"""

from __future__ import annotations

import re
import unicodedata
from html import escape

from rag.show import clean

_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\d+(?:[.,]\d+)*|\s+|.", re.DOTALL)
_LONGEST = 600  # characters; longer ones are mispaired dollars rather than formulas
_DEEPEST = 30  # nested groups


def table(pairs: str) -> dict[str, str]:
    """``"name symbol name symbol …"`` as a dictionary."""
    words = pairs.split()
    return dict(zip(words[::2], words[1::2], strict=True))


_GREEK = table(
    """alpha α beta β gamma γ delta δ epsilon ϵ varepsilon ε zeta ζ eta η theta θ vartheta ϑ iota ι kappa κ lambda λ
    mu μ nu ν xi ξ pi π rho ρ varrho ϱ sigma σ varsigma ς tau τ upsilon υ phi ϕ varphi φ chi χ psi ψ omega ω
    Gamma Γ Delta Δ Theta Θ Lambda Λ Xi Ξ Pi Π Sigma Σ Upsilon Υ Phi Φ Psi Ψ Omega Ω
    ell ℓ infty ∞ hbar ℏ emptyset ∅ aleph ℵ"""
)
_OPERATORS = table(
    r"""times × cdot ⋅ pm ± mp ∓ div ÷ ast ∗ star ⋆ circ ∘ otimes ⊗ oplus ⊕ odot ⊙ bullet • degree °
    leq ≤ le ≤ geq ≥ ge ≥ neq ≠ ne ≠ ll ≪ gg ≫ approx ≈ sim ∼ simeq ≃ equiv ≡ propto ∝ asymp ≍ lesssim ≲ gtrsim ≳
    preceq ⪯ succeq ⪰ in ∈ notin ∉ subset ⊂ subseteq ⊆ supseteq ⊇ cup ∪ cap ∩ setminus ∖
    land ∧ wedge ∧ lor ∨ vee ∨ neg ¬ forall ∀ exists ∃ nabla ∇ partial ∂ sum ∑ prod ∏ int ∫
    to → rightarrow → leftarrow ← leftrightarrow ↔ mapsto ↦ uparrow ↑ downarrow ↓ Rightarrow ⇒ Leftarrow ⇐
    Leftrightarrow ⇔ mid ∣ parallel ∥ perp ⊥ top ⊤ bot ⊥ prime ′ dagger † langle ⟨ rangle ⟩ lceil ⌈ rceil ⌉
    lfloor ⌊ rfloor ⌋ vert | lvert | rvert | Vert ‖ lVert ‖ rVert ‖ | ‖ colon : dots … ldots … cdots ⋯"""
)
_FUNCTIONS = frozenset("arg cos deg det dim exp gcd inf ker lim ln log max min poly Pr sin sup tan tanh".split())
_ACCENTS = table("hat ^ widehat ^ tilde ~ widetilde ~ bar ¯ overline ¯ vec → dot ˙ ddot ¨ check ˇ breve ˘")
_ALPHABETS = table(
    """mathbf BOLD boldsymbol BOLD bm BOLD mathcal SCRIPT mathscr SCRIPT mathbb DOUBLE-STRUCK mathfrak FRAKTUR
    mathsf SANS-SERIF mathtt MONOSPACE"""
)
_UPRIGHT = frozenset("text textrm textnormal textup mathrm operatorname mbox texttt textsf textsc mathit".split())
_TEXT_CLASS = {"textbf": "tex-b", "textit": "tex-i", "emph": "tex-i"}
_BLANK = {",": "0.17em", ":": "0.22em", ";": "0.28em", " ": "0.3em", ">": "0.22em", "quad": "1em", "qquad": "2em"}
# Sizes, styles and stretching say nothing that an inline formula must show.
_SILENT = frozenset(
    """left right middle big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr displaystyle textstyle limits nolimits large
    small tiny rm it bf sf cal mathord mathop mathbin mathrel smash ensuremath !""".split()
)


def mathml(latex: str) -> str:
    """One inline ``<math>`` element for the inside of ``$…$``. Raises ValueError when it is no balanced formula."""
    if len(latex) > _LONGEST:
        raise ValueError("too long for an inline formula")
    reader = _Reader(_TOKEN.findall(clean(latex)))
    row = reader.row(until=None)
    return f"<math>{row}</math>"


class _Reader:
    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    def row(self, until: str | None) -> str:
        """Everything up to ``until`` (consumed) or to the end, scripts attached."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ValueError("nested too deeply")
        items: list[str] = []
        while (token := self._next()) != until:
            if token is None or token == "}":
                raise ValueError("unbalanced braces")
            if token in ("^", "_"):
                base = items.pop() if items else "<mrow></mrow>"
                items.append(self._scripts(base, token))
            elif token == "'":
                items.append(f"<msup>{items.pop() if items else '<mrow></mrow>'}<mo>′</mo></msup>")
            elif item := self._item(token):
                items.append(item)
        self._depth -= 1
        return "".join(items)

    def _next(self) -> str | None:
        while self._at < len(self._tokens):
            self._at += 1
            if not self._tokens[self._at - 1].isspace():
                return self._tokens[self._at - 1]
        return None

    def _peek(self) -> str | None:
        at = self._at
        token = self._next()
        self._at = at
        return token

    def _argument(self) -> str:
        """The next group or symbol, as one element."""
        token = self._next()
        if token is None or token == "}":
            raise ValueError("an argument is missing")
        if len(token) > 1 and token.isdigit():  # x^10 is x¹ followed by 0
            self._at -= 1
            self._tokens[self._at] = token[1:]
            return f"<mn>{token[0]}</mn>"
        return self._item(token) or "<mrow></mrow>"

    def _raw(self) -> str:
        """The next group as text, inner braces and blanks kept."""
        if self._peek() != "{":
            return (self._next() or "").lstrip("\\")
        self._next()
        start, depth = self._at, 1
        while depth:
            if self._at >= len(self._tokens):
                raise ValueError("unbalanced braces")
            depth += {"{": 1, "}": -1}.get(self._tokens[self._at], 0)
            self._at += 1
        return "".join(self._tokens[start : self._at - 1])

    def _scripts(self, base: str, mark: str) -> str:
        first = self._argument()
        if self._peek() == ("_" if mark == "^" else "^"):
            self._next()
            second = self._argument()
            sub, sup = (first, second) if mark == "_" else (second, first)
            return f"<msubsup>{base}{sub}{sup}</msubsup>"
        tag = "msup" if mark == "^" else "msub"
        return f"<{tag}>{base}{first}</{tag}>"

    def _item(self, token: str) -> str:
        if token == "{":
            return f"<mrow>{self.row(until='}')}</mrow>"
        if token.startswith("\\"):
            return self._command(token[1:])
        if token[0].isdigit():
            return f"<mn>{token}</mn>"
        if token.isalpha():
            return f"<mi>{token}</mi>"
        if token == "~":
            return "<mspace width='0.3em'></mspace>"
        return f"<mo>{escape({'-': '−', '*': '∗'}.get(token, token))}</mo>"

    def _command(self, name: str) -> str:
        if name in _SILENT:
            if name in ("left", "right") and self._peek() == ".":
                self._next()
            return ""
        if name in _GREEK:
            return f"<mi>{_GREEK[name]}</mi>"
        if name in _OPERATORS:
            return f"<mo>{escape(_OPERATORS[name])}</mo>"
        if name in _FUNCTIONS:
            return f"<mi>{name}</mi>"
        if name in _BLANK:
            return f"<mspace width='{_BLANK[name]}'></mspace>"
        if name in ("frac", "tfrac", "dfrac", "nicefrac"):
            return f"<mfrac>{self._argument()}{self._argument()}</mfrac>"
        if name == "binom":
            return f"<mo>(</mo><mfrac linethickness='0'>{self._argument()}{self._argument()}</mfrac><mo>)</mo>"
        if name == "sqrt":
            if self._peek() == "[":
                self._next()
                degree = self.row(until="]")
                return f"<mroot>{self._argument()}<mrow>{degree}</mrow></mroot>"
            return f"<msqrt>{self._argument()}</msqrt>"
        if name in _ACCENTS:
            return f"<mover accent='true'>{self._argument()}<mo>{_ACCENTS[name]}</mo></mover>"
        if name == "underline":
            return f"<munder>{self._argument()}<mo>_</mo></munder>"
        if name in ("underset", "overset"):
            tag, script, base = "munder" if name == "underset" else "mover", self._argument(), self._argument()
            return f"<{tag}>{base}{script}</{tag}>"
        if name in _ALPHABETS:
            letters = self._raw()
            if "\\" in letters:  # \boldsymbol{\theta}
                return f"<mrow class='tex-b'>{_Reader(_TOKEN.findall(letters)).row(until=None)}</mrow>"
            return f"<mi>{escape(''.join(_letter(c, _ALPHABETS[name]) for c in letters))}</mi>"
        if name in _UPRIGHT or name in _TEXT_CLASS:
            text = escape(re.sub(r"\\([a-z]+)?|[{}$]", "", self._raw()))
            kind = f" class='{_TEXT_CLASS[name]}'" if name in _TEXT_CLASS else ""
            return f"<mtext{kind}>{text}</mtext>"
        if name == "\\":
            return "<mspace width='1em'></mspace>"
        if name.isalpha():
            return f"<mtext>\\{name}</mtext>"
        return f"<mo>{escape(name)}</mo>"


def _letter(char: str, style: str) -> str:
    """The letter in a mathematical alphabet; the oldest ones stand outside the block and have shorter names."""
    case = "CAPITAL" if char.isupper() else "SMALL"
    names = [f"MATHEMATICAL {style} {case} {char}", f"{style} {case} {char}"]
    if style == "FRAKTUR":
        names.append(f"BLACK-LETTER {case} {char}")
    if char.isdigit():
        names = [f"MATHEMATICAL {style} DIGIT {unicodedata.name(char).rpartition(' ')[2]}"]
    for name in names:
        try:
            return unicodedata.lookup(name)
        except KeyError:
            continue
    return char
