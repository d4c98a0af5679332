"""A short readable name for a paper: what its abstract calls its method, data set or model, else its first words.

Nothing is invented: every label is a stretch of the title or the abstract, freed of LaTeX and Markdown.
"""

from __future__ import annotations

import re
import unicodedata

MAX_WORDS = 6
MAX_NAME = 40  # characters of a name
WEAK = 2.0  # score of a name that only stands near; it must be used again to count

_WRAPPED = re.compile(
    r"\\(?:text|math)?(?:bf|it|sc|tt|rm|sf|up|sl|md|cal|bb|normal|emph|underline|operatorname)\s*\{([^{}]*)\}"
)
_OTHER_LATEX = re.compile(r"\\[a-zA-Z]+\*?|[{}$]|\\(?=[%&#_,;! ])")
_POWER = re.compile(r"\^\{?(\d)\}?")
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_LINK = re.compile(r"\[([^\][]*)\]\([^)\s]*\)")
_MARKS = re.compile(r"\*+|`+|(?<!\w)_+(?=\w)|(?<=\w)_+(?!\w)")

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z\d“\"'(])|\n+")
_MAKES = re.compile(
    r"\b(?:(propos|introduc|present|develop|releas)|design|built|build|construct|creat|describ|devis|contribut|unveil|"
    r"formaliz|formulat|establish|suggest|offer|instantiat|implement|open-sourc|provid|curat|call|term|name|dub)\w*",
    re.I,
)
_BY_AUTHORS = re.compile(
    r"\b(?:we|they|(?:the )?authors|(?:this|our|the(?: present)?) (?:paper|work|study|article|report))\b", re.I
)
_PASSIVE = re.compile(r"(?:is|are|was|were) (?:\w+ )?(?:proposed|introduced|presented|developed)\b", re.I)
_NAMED = re.compile(
    r"\b(?:called|named|termed|dubbed|coined|entitled|titled|namely|denoted(?: as| by)?|abbreviated(?: as| to)?|"
    r"(?:which|that) we (?:call|name|term|dub|refer to as|denote)|we (?:call|name|term|dub)(?: (?:it|this)(?: \w+)?)?|"
    r"referred to as|known as)[\s:,]+(?:the |an? )?"
)
_OURS = re.compile(r"\bour (?:proposed |new |novel |own )?", re.I)
# A word that is no common word: two capitals, or a capital and a digit, or a capital after a small letter.
_WORD = r"[A-Za-zΑ-ωÀ-ÿ0-9][\w+²³⁴′'’.-]*[\w+*²³⁴]|[A-Z]"
_TOKEN = re.compile(rf"(?:{_WORD})")
_PARENTHESIS = re.compile(rf"\(\s*(?:i\.e\.,? |the |or |short for )*({_WORD})\s*(?:\)|[,;:])")
_SMALL = "of|in|for|the|and|with|to|on|by|from|via"
_CAPITALISED = re.compile(rf"(?:[A-Z][\w'’-]*)(?: (?:(?:{_SMALL}) )?[A-Z\d][\w'’-]*){{0,5}}")
_GOES_ON = re.compile(r" (?:(?:of|in|for) )?[A-Z\d]")
_ARTICLE = re.compile(r"(?:an?|the|our|two|three|both|to the best of our knowledge,?)\s+", re.I)
_APPOSITION = re.compile(r"\s*(?:[,:—–(]|-{2,3}|\s-\s|$|(?:an?|the|which|that|to|for|as|by|with|is|and) )")
_NOUN = re.compile(
    r"\s*(?:\w[\w-]* ){0,3}?(?:framework|method|approach|model|algorithm|benchmark|data ?set|system|architecture|"
    r"technique|suite|pipeline|strategy|paradigm|family|network|agent|module|protocol|toolkit|library|corpus|scheme|"
    r"mechanism)s?\b",
    re.I,
)
_SECTION_LABEL = re.compile(r"\A[A-Z][A-Z /&,-]{3,}:\s*")
_ASIDE = re.compile(r"\s*(?:[,:—–]|-{2,3}|\s-\s|\((?:short )?for |\([A-Z])")
_CLAUSE_END = re.compile(r"[,;:—]|\b(?:that|which|for|to|by|using|with|from|based on|in|on|of|against)\b")
# What every field abbreviates: never the name of one paper's contribution.
_FIELD_TERMS = frozenset(
    """2D 3D 4D AI AGI ANN API BERT BO CI CLIP CNN COVID-19 CPU CV CoT DL DM DNA DNN DPO DiT EU FL GAN GNN GPT GPT-3
    GPT-4 GPT-4o GPU GRPO GUI HIV HR I ICL II III IL IoT KD KG KV LLM LM LSTM LVLM LoRA MDP ML MLLM MLP MRI NLP NN
    ODE OR PDE PEFT POMDP PPO QA RAG RKHS RL RLHF RLVR RNA RNN SDE SFT SGD SLM SNN SOTA SSL SVD SVM TTS UK US USA
    VAE VLA VLM VQA ViT mRNA""".split()
)


def label(title: str, abstract: str) -> str:
    """The name the abstract gives its contribution, else the title's name or first words, else the abstract's."""
    title, abstract = _readable(title), _readable(abstract)
    head = _title_name(title)
    if head and (_is_name(head) or _count(head, abstract)):
        return head
    return _best_name(abstract, title) or head or _first_words(title or abstract)


def _title_name(title: str) -> str:
    """What stands before the colon of "Name: what it does", if it is a name and no half of a sentence."""
    head, colon, rest = title.partition(":")
    words = head.split()
    if not colon or not rest.strip() or not 0 < len(words) <= 4 or len(head) > MAX_NAME or head.endswith("?"):
        return ""
    if len(words) == 1:
        return head if head[0].isupper() or _is_name(head) else ""
    return head if any(map(_is_name, words)) else ""


def _best_name(abstract: str, title: str) -> str:
    """The candidate that is best placed, most often used and named in the title too."""
    scores: dict[str, float] = {}
    for name, score in _candidates(abstract):
        name = _trim(name)
        if name and len(name) <= MAX_NAME and (score > WEAK or _count(name, abstract) > 1):
            scores[name] = max(scores.get(name, 0), score)
    if not scores:
        return ""

    def value(name: str) -> float:
        in_title = (0.5 if " " in name else 2) if _count(name, title) else 0
        return scores[name] + 0.3 * min(_count(name, abstract), 6) + in_title

    return max(scores, key=value)


def _candidates(abstract: str) -> list[tuple[str, float]]:
    """Names with a score for how clearly the authors give them; earlier sentences count a little more."""
    found: list[tuple[str, float]] = []
    for position, sentence in enumerate(_SENTENCE_END.split(abstract)):
        late = min(position, 10) * 0.1
        authors = _BY_AUTHORS.search(sentence)
        verbs = list(_MAKES.finditer(sentence, authors.end())) if authors else []
        for verb in verbs:
            found += [(name, score - late + 0.7 * bool(verb[1])) for name, score in _made(sentence[verb.end() :])]
        if not verbs and _PASSIVE.search(sentence):
            found += [(name, score - 1 - late) for name, score in _made(sentence)]
        for match in _NAMED.finditer(sentence):
            name = _name_at(sentence, match.end())
            if name and (verbs or _is_name(name)):
                found.append((name, 4 - late))
        for match in _OURS.finditer(sentence):
            if (token := _TOKEN.match(sentence, match.end())) and _is_name(token[0]):
                found.append((token[0], WEAK))
    return found


def _made(tail: str) -> list[tuple[str, float]]:
    """Names of the thing that a sentence says was made; ``tail`` follows the verb."""
    start = len(tail) - len(tail.lstrip(" ,:"))
    while article := _ARTICLE.match(tail, start):
        start = article.end()
    found: list[tuple[str, float]] = []
    if name := _name_at(tail, start):
        after = tail[start + len(name) :]
        if _is_name(name) and (_APPOSITION.match(after) or _NOUN.match(after)):
            found.append((name, 4))
        elif _ASIDE.match(after):
            found.append((name, 3.5))
    clause = _CLAUSE_END.split(tail, maxsplit=1)[0]
    reach = len(clause) if found else 160
    found += [
        (short[1], 4.5 if short.start() <= len(clause) else 2.5)
        for short in _PARENTHESIS.finditer(tail)
        if short.start() <= reach and _is_name(short[1]) and _spells(short[1], tail[: short.start()])
    ]
    found += [(m[0], WEAK) for m in _TOKEN.finditer(clause) if _is_name(m[0]) and _ends_phrase(clause, m.end())]
    return found


def _ends_phrase(clause: str, end: int) -> bool:
    return len(clause[end:].split()) < 2 or bool(_NOUN.fullmatch(clause[end:].rstrip()))


def _name_at(text: str, start: int) -> str:
    """The name that begins here: one odd word, or a run of capitalised ones."""
    run = _CAPITALISED.match(text, start)
    token = _TOKEN.match(text, start)
    if token and _is_name(token[0]) and not _GOES_ON.match(text, token.end()):
        return token[0]
    return run[0] if run else ""


def _spells(name: str, before: str) -> bool:
    """Whether a short form may stand for the words before it: its first letter begins one of them or stands in it."""
    words = re.findall(r"[A-Za-z0-9]+", before)[-12:]
    return not words or any(word[0].lower() == name[0].lower() for word in words) or not name.isupper()


def _is_name(word: str) -> bool:
    """Whether a word looks like a given name: capitals or digits where common words have none."""
    word = word.rstrip(".,'’")
    if word in _FIELD_TERMS or word.removesuffix("s") in _FIELD_TERMS or len(word) < 2:
        return False
    capitals = sum(c.isupper() for c in word)
    if re.search(r"[-–][a-z]{3,}$", word) or (word.endswith("s") and word[:-1].isupper()):
        return False
    parts = re.split(r"[-–.]", word)
    if len(parts) > 1 and max(map(len, parts)) > 4 and all(part.istitle() or part.isdigit() for part in parts):
        # "Uni-Walker" is a name, "Low-Rank-Adapted" and "Self-Training" are words with capitals
        return len(parts) == 2 and len(parts[1]) > 2 and not word.endswith(("ing", "ed", "ive", "al"))
    return capitals >= 2 or (capitals == 1 and (not word[0].isupper() or any(c.isdigit() for c in word)))


def _trim(name: str) -> str:
    return name.strip(" .,:;'’").removesuffix("'s").removesuffix("’s")


def _count(name: str, text: str) -> int:
    """How often the name stands in the text as a word of its own."""
    count, at = 0, text.find(name)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(name) : at + len(name) + 1]
        count += not (before.isalnum() or before == "-" or after.isalnum())
        at = text.find(name, at + 1)
    return count


def _first_words(text: str) -> str:
    words = _SECTION_LABEL.sub("", text).split()
    if len(words) <= MAX_WORDS:
        return " ".join(words)
    return " ".join(words[:MAX_WORDS]).rstrip(",.;:—–-(") + " …"


def _readable(text: str) -> str:
    """Without LaTeX commands and Markdown marks."""
    text = unicodedata.normalize("NFC", text)
    while "{" in text and (plain := _WRAPPED.sub(r"\1", text)) != text:
        text = plain
    if "](" in text:
        text = _LINK.sub(r"\1", text)
    if "^" in text:
        text = _POWER.sub(lambda found: found[1].translate(_SUPERSCRIPTS), text)
    if any(mark in text for mark in "\\{}$*`_"):
        text = _MARKS.sub("", _OTHER_LATEX.sub("", text))
    return "\n".join(" ".join(line.split()) for line in text.split("\n")).strip()
