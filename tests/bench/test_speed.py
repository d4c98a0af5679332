"""Speed and memory as ratios to the floor, measured in the same run: `make bench`.

The floor of a cold command is the import of sentence-transformers, the load of the encoder and one query; of a warm
question one encoded query and one search in Chroma; of indexing the raw encoding of the same texts.
Abstracts are synthetic; set BENCH_PAPERS to a JSONL file of papers to use real ones.
"""

from __future__ import annotations

import json
import os
import random
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest

COUNT = int(os.environ.get("BENCH_COUNT", "400"))
PAPERS = os.environ.get("BENCH_PAPERS", "")
REPEATS = 5

COLD_FLOOR = """
from rag import environment
environment.prepare()
from rag.embed import SentenceTransformerEmbedder
SentenceTransformerEmbedder().query("What is it about?")
"""
RAW_ENCODE = """
import json, resource, sys, time
from pathlib import Path
from rag import environment
environment.prepare()
from rag.embed import SentenceTransformerEmbedder
from rag.passages import embedded_text
encoder = SentenceTransformerEmbedder()
papers = [json.loads(line) for line in Path(sys.argv[1]).read_text().splitlines()]
texts = [embedded_text(p["title"], p["abstract"]) for p in papers]
started = time.perf_counter()
for i in range(0, len(texts), 256):
    encoder.documents(texts[i : i + 256])
print(json.dumps([time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss]))
"""
INDEX = """
import json, resource, sys, time
from pathlib import Path
from rag import build
from rag.settings import load_settings
settings = load_settings(None, home=Path(sys.argv[2]))
build._load_embedder("bundled", "auto", 0, "", "").query("warm")
started = time.perf_counter()
report = build.index_paths(settings, [Path(sys.argv[1])])
print(json.dumps([time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, report.added]))
"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A JSONL file of papers with title and abstract."""
    file = tmp_path_factory.mktemp("bench") / "papers.jsonl"
    if PAPERS:
        rows = [json.loads(line) for line in Path(PAPERS).read_text(encoding="utf-8").splitlines()]
        texts = [(r.get("title", ""), r.get("abstract") or r["text"]) for r in rows]
        papers = [{"id": str(n), "title": t, "abstract": a} for n, (t, a) in enumerate(texts) if a.strip()]
        papers = papers[: int(os.environ.get("BENCH_COUNT", len(rows)))]
    else:
        papers = [synthetic(n) for n in range(COUNT)]
    file.write_text("\n".join(json.dumps(p) for p in papers), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def library(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    run("-m", "rag", "index", str(corpus), "--home", str(home))
    return home


def test_cold_search(library: Path) -> None:
    floor, search = [], []
    for _ in range(REPEATS):
        floor.append(seconds("-c", COLD_FLOOR))
        search.append(seconds("-m", "rag", "search", "robust planning for robots", "--home", str(library)))
    report("cold search / (import + load + one query)", ratio(search, floor), 1.5)


def test_warm_question(library: Path) -> None:
    from rag.build import open_quoth
    from rag.settings import load_settings

    quoth = open_quoth(load_settings(None, home=library, abstain_below=0.0, answerer="extractive"))
    embedder, store = quoth._embedder, quoth.library._store
    assert embedder is not None
    questions = [f"How does method {n} improve {a} of {b}?" for n in range(20) for a, b in [random_topic(n)]]
    quoth.ask(questions[0])
    floor, ask, parts = [], [], []
    for q in questions:
        started = time.perf_counter()
        store.nearest(embedder.query(q), 10)
        floor.append(time.perf_counter() - started)
        started = time.perf_counter()
        answer = quoth.ask(q)
        ask.append(time.perf_counter() - started)
        parts.append(answer.seconds)
    print({k: round(statistics.median(p[k] for p in parts) * 1000, 1) for k in parts[0]}, "ms, median by stage")
    report("warm ask / (encode + one search)", statistics.median(ask) / statistics.median(floor), 25)


def test_indexing(corpus: Path, tmp_path: Path) -> None:
    raw_seconds, raw_rss = json.loads(run("-c", RAW_ENCODE, str(corpus)))
    own_seconds, own_rss, added = json.loads(run("-c", INDEX, str(corpus), str(tmp_path)))
    print(f"{added} papers: encode {raw_seconds:.1f} s, index {own_seconds:.1f} s; peak {raw_rss} and {own_rss} KiB")
    report("indexing throughput / raw encode", raw_seconds / own_seconds, 0.8, at_least=True)
    report("peak memory while indexing / raw encode", own_rss / raw_rss, 1.3)


def synthetic(n: int) -> dict[str, str]:
    words = random.Random(n)
    lengths = [words.randint(12, 30) for _ in range(words.randint(5, 9))]
    lines = [" ".join(words.choices(WORDS, k=length)).capitalize() + "." for length in lengths]
    return {"id": f"p{n}", "title": " ".join(words.choices(WORDS, k=7)), "abstract": " ".join(lines)}


def random_topic(n: int) -> list[str]:
    return random.Random(n).choices(WORDS, k=2)


def run(*arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ""


def seconds(*arguments: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    run(*arguments)
    assert resource.getrusage(resource.RUSAGE_CHILDREN) != before
    return time.perf_counter() - started


def ratio(own: list[float], floor: list[float]) -> float:
    """Median of the pairwise ratios: a drifting machine slows both."""
    return statistics.median(a / b for a, b in zip(own, floor, strict=True))


def report(what: str, value: float, bar: float, *, at_least: bool = False) -> None:
    print(f"{what}: {value:.2f} (bar: {'at least' if at_least else 'at most'} {bar})")
    assert value >= bar if at_least else value <= bar


WORDS = """method model data learning network training robust planning robot graph protein cell reward policy agent
language vision speech causal inference sampling gradient kernel sparse attention memory retrieval question answer
benchmark accuracy latency energy signal noise quantum material climate ocean river forest market price user privacy
safety alignment feedback preference search index evidence quote claim citation review trial patient dose risk gene
expression image video motion depth scene object camera token layer weight bias error bound proof convergence rate
improves reduces shows proposes studies finds across under with without between the of and for in on a new large small
""".split()
