"""Every measure on numbers that can be checked by hand."""

import pytest

from eval import metrics, stats

R = ["d", "a", "c", "b"]
"""A ranking."""


@pytest.mark.parametrize(
    ("k", "recall", "success"),
    [(1, 0.0, 0.0), (2, 0.5, 1.0), (3, 0.5, 1.0), (4, 1.0, 1.0), (9, 1.0, 1.0)],
)
def test_recall_and_success(k: int, recall: float, success: float) -> None:
    assert metrics.recall(R, ["a", "b"], k) == recall
    assert metrics.success(R, ["a", "b"], k) == success


def test_reciprocal_rank() -> None:
    assert metrics.reciprocal_rank(R, ["b", "a"]) == 1 / 2
    assert metrics.reciprocal_rank(R, ["x"]) == 0


def test_without_relevant_papers_nothing_can_be_said() -> None:
    assert metrics.recall(R, [], 3) is None
    assert metrics.success(R, [], 3) is None
    assert metrics.reciprocal_rank(R, []) is None


def test_graded_measures_by_hand() -> None:
    """q1: gains 0, 2, 0, 1 in order of rank. DCG = 2/log2(3) + 1/log2(5) = 1.6926; ideal 2/1 + 1/log2(3) = 2.6309.
    AP = (1/2 + 2/4) / 2. q2 finds nothing. q3 has no positive gain and is left out."""
    pytest.importorskip("ir_measures")
    found = metrics.graded(
        ["nDCG@10", "AP"],
        {"q1": R, "q2": [], "q3": R},
        {"q1": {"a": 2, "b": 1, "d": 0}, "q2": {"a": 1}, "q3": {"a": 0}},
    )
    assert found["nDCG@10"] == {"q1": pytest.approx(1.6926 / 2.6309, abs=1e-4), "q2": 0.0}
    assert found["AP"] == {"q1": 0.5, "q2": 0.0}


def test_fractional_gains_and_a_cut() -> None:
    """With k = 2: 0.5/log2(3) over 0.5 + 0.25/log2(3)."""
    pytest.importorskip("ir_measures")
    found = metrics.graded(["nDCG@2"], {"q": R}, {"q": {"a": 0.5, "b": 0.25}})
    assert found["nDCG@2"]["q"] == pytest.approx(0.31546 / 0.65773, abs=1e-4)


def test_own_rank_measures_agree_with_the_library() -> None:
    ir_measures = pytest.importorskip("ir_measures")
    gold = ["a", "b", "gone"]
    names = {"R@2": metrics.recall(R, gold, 2), "Success@1": metrics.success(R, gold, 1), "RR": 0.5}
    for name, ours in names.items():
        (theirs,) = ir_measures.iter_calc(
            [ir_measures.parse_measure(name)], {"q": dict.fromkeys(gold, 1)}, {"q": {p: -n for n, p in enumerate(R)}}
        )
        assert theirs.value == pytest.approx(ours)


@pytest.mark.parametrize(
    ("fact", "answer", "met"),
    [
        ("rotat", "They perform rotations.", True),
        ("otat", "They perform rotations.", False),
        ("5%", "up by 85.5\\%", False),
        ("5%", "up by 5\\% only", True),
        ("13", "13.5 states", False),
        ("13", "13. Then", True),
        ("3", "1.3 or 1,3", False),
        ("1T|one trillion", "with **1T** tokens", True),
        ("1T|one trillion", "with One  Trillion tokens", True),
        ("AI ", "AIMS are met", False),
        ("AI ", "by AI.", True),
        ("null-space", "the null–space of", True),
        ("KnowGuard", "propose \\textbf{KnowGuard}", True),
        ("2x", "a 2$\\times$ gain", False),
        ("2×", "a 2$\\times$ gain", True),
        ("信心", "评估自己的信心", True),
        ("snake_case", "a snake_case _name_", True),
        ("name", "a snake_case _name_", True),
        ("|", "anything", False),
    ],
)
def test_key_facts(fact: str, answer: str, met: bool) -> None:
    assert metrics.has_fact(fact, answer) is met


def test_key_fact_recall() -> None:
    assert metrics.key_fact_recall(["a", "b|c", "d"], "a c") == 2 / 3
    assert metrics.key_fact_recall([], "a c") is None


def test_token_f1_and_exact_match() -> None:
    """reference: graph prompts and language prompts; answer: graph and language prompts. Shared 4 of 5 and 4."""
    reference, answer = "Graph prompts and language prompts.", "The *graph* and language prompts"
    assert metrics.token_f1(reference, answer) == pytest.approx(2 * 4 / (5 + 4))
    assert metrics.exact_match(reference, answer) == 0
    assert metrics.exact_match("The null-space.", "null space") == 1
    assert metrics.token_f1("信心与预判", "信心") == pytest.approx(2 * 2 / (5 + 2))
    assert metrics.token_f1("", "x") is None
    assert metrics.token_f1("x", "") == 0


def test_markers_are_no_part_of_the_wording() -> None:
    assert metrics.without_markers("It is so. [1][2] See \\[3\\].") == "It is so. See [3]."
    assert metrics.markers_match("It is so. [1][2] See \\[3\\]. [1]", [2, 1])
    assert not metrics.markers_match("It is so. [1]", [1, 2])
    assert metrics.markers_match("The corpus does not say.", [])


def test_precision_and_f1() -> None:
    assert metrics.precision(["a", "x"], ["a", "b"]) == 0.5
    assert metrics.precision([], ["a"]) is None
    assert metrics.f1(0.5, 1.0) == pytest.approx(2 / 3)
    assert metrics.f1(None, 0.0) == 0
    assert metrics.f1(0.5, None) is None


def test_evidence() -> None:
    gold = [("a", "one two three four"), ("b", "five six")]
    quotes = [("a", "zero one two"), ("a", "seven eight nine"), ("c", "five six")]
    assert metrics.evidence_recall(gold, quotes) == 1 / 2  # half of the first is held; the second in another paper
    assert metrics.evidence_precision(gold, quotes) == 1 / 3  # two of three words of the first quote are gold
    assert metrics.evidence_recall([], quotes) is None
    assert metrics.evidence_precision(gold, []) is None


def test_a_quote_is_verbatim_or_not() -> None:
    abstract = "Apples are red. They fall."
    assert metrics.is_verbatim("They fall.", 16, 26, abstract)
    assert not metrics.is_verbatim("They fall.", 15, 26, abstract)
    assert not metrics.is_verbatim("they fall.", 16, 26, abstract)
    assert not metrics.is_verbatim("", 3, 3, abstract)
    assert not metrics.is_verbatim("They fall.", -10, 26, abstract)
    assert not metrics.is_verbatim("They fall.", 16, 26, None)


@pytest.mark.parametrize(
    ("answer", "share"),
    [
        ("It is so. [1] It is not.", 1 / 2),
        ("These papers say so:\n- One does. [1]\n- Two does. [2]", 1.0),
        ("## Results\n**Method**\nIt works. [1]", 1.0),
        ("It works. [1][2] And \\[3\\] too.", 1 / 2),
        ("", None),
    ],
)
def test_sentence_coverage(answer: str, share: float | None) -> None:
    assert metrics.sentence_coverage(answer) == share


# -- over many items -------------------------------------------------------------------------------------------------


def test_mean_and_its_interval() -> None:
    """Of 100 items 80 are right: the interval of a share is about ± 1.96 · sqrt(0.8 · 0.2 / 100) = ± 0.078."""
    e = stats.mean([1.0] * 80 + [0.0] * 20)
    assert e is not None
    assert (e.mean, e.n) == (0.8, 100)
    assert e.low == pytest.approx(0.722, abs=0.02)
    assert e.high == pytest.approx(0.878, abs=0.02)


def test_interval_of_many_distinct_values() -> None:
    """0..99: mean 49.5, standard error 28.87 / 10."""
    e = stats.mean([float(n) for n in range(100)])
    assert e is not None
    assert e.low == pytest.approx(49.5 - 5.66, abs=0.6)
    assert e.high == pytest.approx(49.5 + 5.66, abs=0.6)


def test_weights_count_each_quote() -> None:
    e = stats.mean([1.0, 0.5], [1, 4])
    assert e is not None
    assert e.mean == pytest.approx(3 / 5)


def test_one_value_has_no_interval_and_none_has_no_mean() -> None:
    assert stats.mean([0.5]) == stats.Estimate(0.5, None, None, 1)
    assert stats.mean([]) is None
    assert stats.quantile([], 0.5) is None


def test_quantiles_are_values_that_occurred() -> None:
    values = [float(n) for n in range(20, 0, -1)]
    median, high = stats.quantile(values, 0.5), stats.quantile(values, 0.95)
    assert median is not None and high is not None
    assert (median.mean, high.mean) == (11.0, 19.0)
    assert median.low is not None and 5 <= median.low <= 9
    assert high.high == 20.0


def test_refusal() -> None:
    """Of four unanswerable items two are refused, of six answerable ones one."""
    found = stats.refusal([True] * 4 + [False] * 6, [True, True, False, False] + [True] + [False] * 5)
    values = {name: e.mean for name, e in found.items() if e}
    assert values == {
        "refusal_precision": pytest.approx(2 / 3),
        "refusal_recall": 0.5,
        "refusal_f1": pytest.approx(4 / 7),
    }


def test_refusal_that_cannot_be_said() -> None:
    assert stats.refusal([True, True], [True, False]) == {}
    found = stats.refusal([True, False], [False, False])
    assert found["refusal_precision"] is None
    assert found["refusal_f1"] is not None and found["refusal_f1"].mean == 0


def test_auroc() -> None:
    """Pairs of (positive, negative): 0.9 and 0.4 against 0.4 and 0.1: win, win, tie, win."""
    e = stats.auroc([True, True, False, False], [0.9, 0.4, 0.4, 0.1])
    assert e is not None
    assert e.mean == 3.5 / 4
    assert stats.auroc([True, True], [0.1, 0.2]) is None


def test_auroc_agrees_with_scikit_learn() -> None:
    sklearn = pytest.importorskip("sklearn.metrics")
    truth = [n % 3 == 0 for n in range(60)]
    scores = [(n * 7 % 11) / 10 + (0.3 if t else 0) for n, t in enumerate(truth)]
    e = stats.auroc(truth, scores)
    assert e is not None
    assert e.mean == pytest.approx(sklearn.roc_auc_score(truth, scores))
    assert e.low is not None and e.high is not None and e.low < e.mean < e.high


def test_the_same_values_give_the_same_interval() -> None:
    assert stats.mean([0.1, 0.7, 0.4]) == stats.mean([0.1, 0.7, 0.4])
