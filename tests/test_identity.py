"""When are two records the same paper?"""

from __future__ import annotations

from dataclasses import replace

import pytest

from rag.identity import Match, Register, text_sha
from rag.types import Paper
from tests.tiny import entry, listed, record

FLY = "We measured how bees fly over many fields in two summers with a radar on a hill."
DIG = "Ants dig tunnels in sand."
SLEEP = "Moths sleep by day under the bark of old trees."


def register(*papers: Paper) -> Register:
    return Register({p.paper_id: entry(p) for p in papers})


def settled(known: Register, paper: Paper, old: str) -> Match:
    assert known.meet(paper).outcome == "conflict"
    return known.settle(paper, old)


def conflict_id(paper: Paper) -> str:
    return f"{paper.paper_id}~{text_sha(paper.abstract)[:6]}"


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("Café-bees  FLY!", "cafe bees fly"),
        ("ﬁre–ﬂies, x² and H₂O", "fireflies x2 and h2o"),
        ("Straße", "STRASSE"),
        ("e\u0301", "\u00e9"),
    ],
)
def test_case_accents_and_punctuation_do_not_count(text: str, same: str) -> None:
    assert text_sha(text) == text_sha(same)


@pytest.mark.parametrize(("text", "other"), [("5% of bees", "6% of bees"), ("蜜蜂", "蚂蚁"), ("", "a"), ("ab", "ba")])
def test_letters_and_digits_count(text: str, other: str) -> None:
    assert text_sha(text) != text_sha(other)


def test_known_text_is_recognised_at_any_place() -> None:
    known = register(*listed(FLY, DIG))
    match = known.meet(listed(SLEEP, FLY, DIG)[2])
    assert (match.outcome, match.paper.paper_id, match.changed) == ("unchanged", "list.txt#2", False)
    assert match.paper.aliases == (), "a place in a file is no name"
    assert known.meet(listed(SLEEP, FLY, DIG, DIG)[3]).outcome == "duplicate", "it stands in this file twice"
    assert known.meet(listed(FLY, file="b.txt")[0]).outcome == "duplicate", "it stands in another file too"


def test_the_same_record_again() -> None:
    match = register(record("doi:10.1/a", FLY)).meet(record("doi:10.1/a", FLY))
    assert (match.outcome, match.changed) == ("unchanged", False)


def test_an_own_id_of_known_text_becomes_an_alias() -> None:
    match = register(record("w1", FLY)).meet(record("doi:10.1/a", FLY, "other.bib#4", aliases=("arxiv:1", "w1")))
    assert match.outcome == "duplicate"
    assert match.paper.paper_id == "w1"
    assert match.paper.aliases == ("doi:10.1/a", "arxiv:1")


def test_an_alias_that_another_paper_answers_to_is_not_taken() -> None:
    known = register(record("w1", FLY), record("doi:10.1/a", DIG, "export.jsonl#2"))
    assert known.meet(record("doi:10.1/a", FLY, "other.bib#1")).paper.aliases == ()


def test_a_new_paper_does_not_take_the_names_of_others() -> None:
    known = register(record("w1", FLY, aliases=("doi:10.1/a",)))
    paper = known.meet(record("w2", DIG, "b.bib#1", aliases=("doi:10.1/a", "w1", "w2", "arxiv:2", "arxiv:2"))).paper
    assert (paper.paper_id, paper.aliases) == ("w2", ("arxiv:2",))


def test_what_is_learned_later_fills_the_paper_and_overwrites_nothing() -> None:
    known = register(replace(listed(FLY)[0], year=2019))
    match = known.meet(record("doi:10.1/a", FLY, "x.bib#1", title="Bees", year=2020, url="https://example.org/a"))
    assert match.outcome == "updated"
    paper = match.paper
    assert (paper.paper_id, paper.title, paper.year, paper.url) == ("list.txt#1", "Bees", 2019, "https://example.org/a")
    assert paper.aliases == ("doi:10.1/a",)


def test_the_same_place_corrects_what_it_said() -> None:
    match = register(record("w1", FLY, year=2019, venue="A")).meet(record("w1", FLY, year=2020))
    assert (match.outcome, match.paper.year, match.paper.venue) == ("updated", 2020, "A")


def test_a_title_or_a_doi_that_repeats_merges_nothing() -> None:
    known = register(record("doi:10.1/proc", FLY, title="Bees"))
    other_title = record("doi:10.1/proc", DIG, "b.bib#1", title="Ants")
    match = settled(known, other_title, FLY)
    assert (match.outcome, match.paper.paper_id) == ("added", conflict_id(other_title))
    same_title = known.meet(record("w9", SLEEP, "b.bib#2", title="Bees"))
    assert (same_title.outcome, same_title.paper.paper_id) == ("added", "w9")


def test_the_same_text_under_two_titles_is_two_papers() -> None:
    known = register(record("w1", FLY, title="Bees, part one"))
    match = known.meet(record("w2", FLY, "b.bib#1", title="Bees, part two"))
    assert (match.outcome, match.paper.paper_id) == ("added", "w2")


def test_a_strong_id_with_the_same_title_is_the_same_paper_in_a_new_version() -> None:
    known = register(record("arxiv:2401.1", FLY, title="Bees"))
    match = settled(known, record("arxiv:2401.1", SLEEP, "b.bib#1", title="bees."), FLY)
    assert (match.outcome, match.paper.paper_id, match.paper.abstract) == ("updated", "arxiv:2401.1", SLEEP)


def test_an_own_id_in_two_files_is_two_papers() -> None:
    known = register(record("1", FLY, title="Bees"))
    other = record("1", SLEEP, "b.jsonl#1", title="Bees")
    assert settled(known, other, FLY).paper.paper_id == conflict_id(other)
    assert known.meet(replace(other, year=2020)).paper.paper_id == conflict_id(other), "and stays that one"


@pytest.mark.parametrize(
    ("text", "outcome"),
    [(FLY.replace("two", "three"), "updated"), (DIG, "added")],
)
def test_a_place_is_kept_by_text_that_is_alike(text: str, outcome: str) -> None:
    assert settled(register(*listed(FLY)), listed(text)[0], FLY).outcome == outcome


def test_a_place_whose_text_stands_elsewhere_in_the_source_is_not_taken() -> None:
    edited = FLY.replace("two", "three")
    known = register(*listed(FLY))
    new, old = listed(edited, FLY)
    assert known.meet(new).outcome == "conflict"
    assert known.meet(old).outcome == "unchanged"
    assert known.settle(new, FLY).paper.paper_id == conflict_id(new)


def test_text_that_was_replaced_is_no_longer_known() -> None:
    edited = FLY.replace("two", "three")
    known = register(*listed(FLY))
    assert settled(known, listed(edited)[0], FLY).outcome == "updated"
    assert known.meet(listed(edited, file="b.txt")[0]).outcome == "duplicate"
    match = known.meet(listed(FLY, file="c.txt")[0])
    assert (match.outcome, match.paper.paper_id) == ("added", "c.txt#1")


def test_without_an_abstract_a_title_alone_merges_nothing() -> None:
    known = register(record("w1", "", title="Bees"))
    assert known.meet(record("w2", "", "b.bib#1", title="Bees")).outcome == "added"
    assert known.meet(record("w3", FLY, "b.bib#2", title="Bees")).outcome == "added"


def test_an_abstract_that_arrives_later_fills_the_paper_of_that_id_and_title() -> None:
    known = register(record("w1", "", title="Bees"))
    match = known.meet(record("w1", FLY, "b.bib#1", title="Bees"))
    assert (match.outcome, match.paper.abstract) == ("updated", FLY)
    again = register(match.paper).meet(record("w1", "", title="Bees"))
    assert (again.outcome, again.stored_text) == ("unchanged", True), "and is not lost again"


def test_a_conflict_id_is_the_same_in_every_run() -> None:
    other = listed(DIG)[0]
    first = settled(register(*listed(FLY)), other, FLY).paper.paper_id
    assert first == settled(register(*listed(FLY)), other, FLY).paper.paper_id == conflict_id(other)
    again = register(*listed(FLY), replace(other, paper_id=first))
    assert again.meet(other).paper.paper_id == first


def test_a_text_that_comes_twice_while_its_id_is_in_doubt_is_stored_once() -> None:
    known = register(record("w1", FLY))
    first, second = record("w1", DIG, "b.bib#1", year=2020), record("w2", DIG, "b.bib#2")
    assert known.meet(first).outcome == "conflict"
    assert known.meet(second).outcome == "added"
    match = known.settle(first, FLY)
    assert (match.outcome, match.paper.paper_id, match.paper.year) == ("updated", "w2", 2020)


def test_one_id_and_text_under_three_titles_is_three_papers() -> None:
    known = register(record("1", FLY, title="Bees"))
    found = [
        settled(known, record("1", DIG, f"{file}#1", title=title), FLY).paper.paper_id
        for file, title in (("b.csv", "Ants"), ("c.csv", "More ants"))
    ]
    assert found == [f"1~{text_sha(DIG)[:6]}", f"1~{text_sha('More ants' + DIG)}"]
    assert known.meet(record("1", DIG, "c.csv#1", title="More ants")).paper.paper_id == found[1]
