"""Files to papers."""

import json
import os
from pathlib import Path

import pytest

from rag.errors import CorpusError
from rag.formats import read, sniff
from rag.types import BadRecord, Paper

DATA = Path(__file__).parent / "data"
SHARED = Path(__file__).parents[2] / "shared"


def split(*paths: Path) -> tuple[list[Paper], list[BadRecord], list[str]]:
    notices: list[str] = []
    records = list(read(paths, notices.append))
    papers = [record for record in records if isinstance(record, Paper)]
    return papers, [record for record in records if isinstance(record, BadRecord)], notices


def written(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_list(tmp_path: Path, end: str, encoding: str) -> None:
    text = (DATA / "list.txt").read_text(encoding="utf-8").replace("\n", end)
    papers, bad, notices = split(written(tmp_path / "list.txt", text.encode(encoding)))
    assert [paper.paper_id for paper in papers] == ["list.txt#1", "list.txt#2", "list.txt#3"]
    assert [paper.label for paper in papers] == ["TGR", "Glaciers store memory of past winters …", "LanternBench"]
    assert papers[2].abstract == "This work presents **LanternBench**, a benchmark of 12 tasks for night vision."
    assert papers[0].title == "" and papers[0].source == "list.txt#1"
    assert (bad, notices) == ([], [])


def test_hard_wrapped_list_without_a_heading() -> None:
    papers, _, notices = split(DATA / "wrapped.txt")
    assert len(papers) == 2
    assert papers[0].abstract.startswith(
        "Salt marshes take up carbon faster than most forests do, but how long they keep it"
    )
    assert "on three continents and found that the self-organised creek" in papers[0].abstract
    assert notices == ["wrapped.txt: abstracts with end-of-line hyphens joined (1)"]


def test_a_short_line_between_abstracts_is_no_paper(tmp_path: Path) -> None:
    papers, bad, _ = split(written(tmp_path / "l.txt", "Heading\n\nOne abstract.\n\n-----\n\nPosters\n\nTwo."))
    assert [paper.paper_id for paper in papers] == ["l.txt#1", "l.txt#3"]
    assert bad == [BadRecord("l.txt#2", "no abstract, only a short line")]


def test_json_lines() -> None:
    papers, bad, notices = split(DATA / "papers.jsonl")
    salt, lone = papers
    assert (salt.paper_id, salt.title, salt.source) == ("7", "Salt & Light", "papers.jsonl#1")
    assert salt.abstract == "If x < y < z then\n\nH2O\n\nboils."
    assert (lone.paper_id, lone.aliases) == ("doi:10.9999/xyz", ("arxiv:2401.01234",))
    assert (lone.abstract, lone.authors, lone.year) == ("A lone \ufffd half.", ("Ada B.", "C. D."), 2024)
    assert lone.url == "https://doi.org/10.9999/xyz"
    assert [record.source for record in bad] == ["papers.jsonl:4", "papers.jsonl:5", "papers.jsonl:6"]
    assert bad[0].reason.startswith("not valid JSON: ")
    assert [record.reason for record in bad[1:]] == ["not a JSON object", "no abstract"]
    assert len(notices) == 2


@pytest.mark.parametrize(
    "text",
    [
        '[{"title": "T", "abstract": "A."}]',
        '{"papers": [{"title": "T", "abstract": "A."}]}',
        '{\n  "title": "T",\n  "abstract": ["A."]\n}',
    ],
)
def test_json_shapes(tmp_path: Path, text: str) -> None:
    [paper], bad, _ = split(written(tmp_path / "x.json", text))
    assert (paper.paper_id, paper.title, paper.abstract, bad) == ("x.json#1", "T", "A.", [])


def test_json_object_of_objects(tmp_path: Path) -> None:
    papers, _, _ = split(
        written(tmp_path / "x.json", '{"p1": {"abstract": "A."}, "p2": {"id": "q", "abstract": "B."}}')
    )
    assert [paper.paper_id for paper in papers] == ["p1", "q"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "gb18030", "utf-16"])
def test_chinese_semicolon_table(tmp_path: Path, encoding: str) -> None:
    text = (DATA / "papers.csv").read_text(encoding="utf-8")
    papers, bad, notices = split(written(tmp_path / "papers.csv", text.encode(encoding)))
    first, fourth = papers
    assert (first.paper_id, first.title, first.year) == ("doi:10.9999/abc.1", "潮汐门控; 第一版", 2031)
    assert first.authors == ("张三", "李四")
    assert first.abstract == "我们提出一种 路由方法。"
    assert fourth.paper_id == "papers.csv#4"
    assert bad == [
        BadRecord("papers.csv:4", "no abstract"),
        BadRecord("papers.csv:5", "row 3 has 2 fields, the header has 5"),
    ]
    assert notices == (["papers.csv: lines that are not UTF-8, read as GBK (6)"] if encoding == "gb18030" else [])


def test_quotes_in_an_unquoted_tsv_are_ordinary() -> None:
    papers, bad, _ = split(DATA / "unquoted.tsv")
    assert papers[0].title == '"Snow" and rain'
    assert papers[0].abstract == '"Snow" is a word that opens with a quote. It has no end.'
    assert (papers[0].paper_id, papers[0].aliases) == ("openreview:aB3_-xYz12", ("aB3_-xYz12",))
    assert (papers[1].paper_id, papers[1].aliases) == ("arxiv:2401.01234", ("q2",))
    assert bad == []


def test_a_broken_quote_is_no_paper_and_no_end(tmp_path: Path) -> None:
    rows = 'title,abstract\na,"one "two" three"\nb,Good.\nc,"never closed\nd,lost\n'
    papers, bad, _ = split(written(tmp_path / "t.csv", rows))
    assert [paper.title for paper in papers] == ["b"]
    assert bad == [
        BadRecord("t.csv:2", "row 1: text after a closing quote"),
        BadRecord("t.csv:4", "row 3: a quote is opened and never closed (lines 4 to 5 are left out)"),
    ]


def test_windows_1252_is_read_and_told(tmp_path: Path) -> None:
    text = "title,abstract\nCafé,A naïve “Müller–Lyer” effect.\nplain,Plain.\n"
    papers, _, notices = split(written(tmp_path / "t.csv", text.encode("cp1252")))
    assert papers[0].abstract == "A naïve “Müller–Lyer” effect."
    assert notices == ["t.csv: lines that are not UTF-8, read as windows-1252 (1)"]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.txt", "We see a title, an abstract and more.", "list"),
        ("a.txt", "title\tabstract\nx\ty", "table"),
        ("a.txt", '{"abstract": "A."}\n{"abstract": "B."}', "jsonl"),
        ("a.jsonl", "{broken", "jsonl"),
        ("a.json", '{"abstract": "A."}\n{"abstract": "B."}\n', "jsonl"),
        ("a.csv", "one column\nx", "table"),
        ("a.txt", '[\n {"abstract": "A."}]', "json"),
        ("a.txt", "[1] We begin with a number.", "list"),
    ],
)
def test_sniff(tmp_path: Path, name: str, text: str, expected: str) -> None:
    assert sniff(written(tmp_path / name, text)) == expected


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("p.pdf", b"%PDF-1.7 ...", "not a text file"),
        ("p.txt", bytes(range(32)) * 9, "not a text file"),
        ("p.txt", b" \n ", "the file is empty"),
        ("p.bib", b"@article{x, title={T}}", "BibTeX is not read"),
        ("p.csv", b"name,size\na,1\n", "no column named abstract; the columns are: name, size"),
        ("p.json", b"{broken", "not valid JSON"),
        ("p.txt", b"Only a heading\n", "no abstracts found"),
    ],
)
def test_an_unusable_file(tmp_path: Path, name: str, content: bytes, says: str) -> None:
    path = written(tmp_path / name, content)
    with pytest.raises(CorpusError, match=says) as error:
        split(path)
    assert str(path) in str(error.value) and "\n" not in str(error.value)
    papers, bad, _ = split(path, DATA / "list.txt")
    assert len(papers) == 3
    assert [record.source for record in bad] == [name]
    assert says in bad[0].reason


def test_paths_that_are_nothing(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"none\.txt: does not exist"):
        read([DATA, tmp_path / "none.txt"])
    with pytest.raises(CorpusError, match="the folder holds no list of papers"):
        read([tmp_path])
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CorpusError, match="is not a regular file"):
        read([tmp_path / "pipe"])


def test_a_folder(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", ".hidden.txt", "README.txt", "notes.py", "picture.png"):
        written(tmp_path / name, f"The abstract in {name}.")
    (tmp_path / "sub").mkdir()
    written(tmp_path / "sub" / "c.txt", "The abstract in c.txt.")
    (tmp_path / "sub" / "round").symlink_to(tmp_path)
    (tmp_path / "gone.txt").symlink_to(tmp_path / "nowhere")
    papers, bad, _ = split(tmp_path, tmp_path / "a.txt")
    assert [paper.paper_id for paper in papers] == ["a.txt#1", "b.txt#1", "c.txt#1"]
    assert [record.source for record in bad] == ["gone.txt"]
    assert "cannot be read" in bad[0].reason


@pytest.mark.parametrize(
    ("record", "paper_id", "aliases"),
    [
        ({"doi": "DOI:10.48550/arXiv.2401.01234"}, "doi:10.48550/arxiv.2401.01234", ("arxiv:2401.01234",)),
        ({"id": "doi:10.9999/A"}, "doi:10.9999/a", ()),
        ({"url": "https://arxiv.org/pdf/math.GT/0309136v2"}, "arxiv:math.GT/0309136", ()),
        ({"pmid": 123, "id": "x"}, "pmid:123", ("x",)),
        ({"link": "https://pubmed.ncbi.nlm.nih.gov/123/"}, "pmid:123", ()),
        ({"site": "https://aclanthology.org/2031.acl-long.7/"}, "acl:2031.acl-long.7", ()),
        ({"doi": "10.18653/v1/P19-1001"}, "doi:10.18653/v1/p19-1001", ("acl:P19-1001",)),
        ({"paper_id": "openreview:abcDEF123", "aliases": ["old#1"]}, "openreview:abcDEF123", ("old#1",)),
        ({"id": 17}, "17", ()),
        ({"doi": "10.1"}, "x.json#1", ()),
    ],
)
def test_identity(tmp_path: Path, record: dict[str, object], paper_id: str, aliases: tuple[str, ...]) -> None:
    path = written(tmp_path / "x.json", json.dumps([{**record, "abstract": "A."}]))
    [paper], _, _ = split(path)
    assert (paper.paper_id, paper.aliases) == (paper_id, aliases)


@pytest.mark.parametrize(
    ("cell", "names"),
    [
        ("Jake S; Kevin T;", ("Jake S", "Kevin T")),
        ("Jake S, Kevin T and Ann U", ("Jake S", "Kevin T", "Ann U")),
        ("Smith, John", ("Smith, John",)),
        ("Smith, John and Wu, Ann", ("Smith, John", "Wu, Ann")),
        ("Liu R., Adler D.G.", ("Liu R.", "Adler D.G.")),
        ([{"given": "Ann", "family": "Wu"}, {"name": "B C"}], ("Ann Wu", "B C")),
    ],
)
def test_authors(tmp_path: Path, cell: object, names: tuple[str, ...]) -> None:
    [paper], _, _ = split(written(tmp_path / "x.json", json.dumps([{"authors": cell, "abstract": "A."}])))
    assert paper.authors == names


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared")
def test_real_lists_and_exports() -> None:
    papers, bad, _ = split(SHARED / "seeds")
    assert len(papers) == 38 and not bad
    assert papers[0].paper_id == "000_e95d3043c4b9efe9.txt#1" and papers[0].label == "GPI"
    assert papers[37].paper_id == "001_42b6355d4020b0f2.txt#19"
    data = SHARED / "data"
    assert len(split(data / "iclr2021" / "paperlist.tsv")[0]) == 2966
    papers, bad, _ = split(data / "neurips2023" / "spotlight.csv")
    assert (len(papers), len(bad)) == (337, 41)
    assert all(paper.url.endswith(paper.paper_id.removeprefix("openreview:")) for paper in papers)


@pytest.mark.parametrize(("name", "text"), [("a.json", "[]"), ("a.csv", "title,abstract\n")])
def test_a_file_without_records_is_told(tmp_path: Path, name: str, text: str) -> None:
    papers, bad, _ = split(written(tmp_path / name, text))
    assert (papers, bad) == ([], [BadRecord(name, "no records: the file holds no paper")])
