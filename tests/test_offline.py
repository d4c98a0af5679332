"""Nothing leaves this machine: every command with the real encoder, while a hook sees each look-up and connection."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.llm_server import LLMServer, Reply

ROOT = Path(__file__).parents[1]

PROGRAM = r"""
import json, socket, sys, time, urllib.request

HERE = (None, "", "127.0.0.1", "::1", "localhost", "0.0.0.0", b"127.0.0.1", b"localhost")
attempts = []

def hook(event, arguments):
    if event in ("socket.connect", "socket.sendto"):
        address = arguments[1]
        place = address[0] if isinstance(address, tuple) else None  # else a socket of this machine
    elif event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"):
        place = arguments[0]
    else:
        return
    if place not in HERE:
        attempts.append(f"{event} {place}")
        raise OSError(f"no network: {place}")

sys.addaudithook(hook)

def quoth(*words):
    from rag.cli import main
    sys.argv = ["quoth", *words]
    try:
        main()
    except SystemExit as end:
        codes.append([words[0], end.code])

codes = []
question = "How do bees find their hive?"
papers = sys.argv[1]
quoth("index", papers)
quoth("search", question)
quoth("ask", question)
quoth("ask", "Which enzyme folds proteins?")
quoth("ask", "--answerer", "llm", question)
quoth("summarize", "bees-2024")
quoth("papers", "list")
quoth("papers", "show", "bees-2024")
quoth("doctor")

from rag.settings import load_settings
from ui.app import start_server
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
app = start_server(load_settings(None), "127.0.0.1", port)
page = urllib.request.urlopen(app.local_url, timeout=20).read()
time.sleep(0.5)  # what a thread of the server might try
app.close()
codes.append(["ui", 0 if b"<html" in page else 1])

seen = {"codes": codes, "attempts": attempts}
try:
    urllib.request.urlopen("http://192.0.2.1/", timeout=1)  # of a network that is nowhere (RFC 5737)
except OSError:
    seen["hook works"] = attempts[-1:] == ["socket.getaddrinfo 192.0.2.1"]
    attempts.pop()
print("SEEN" + json.dumps(seen))
"""


@pytest.mark.encoder
def test_no_command_leaves_the_machine(paper_file: Path, home: Path, tmp_path: Path) -> None:
    outer = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy") and not k.startswith("HF_")}
    with LLMServer(Reply("Bees find their hive by landmarks. [1]")) as server:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(paper_file)],
            cwd=tmp_path,
            capture_output=True,
            encoding="utf-8",
            timeout=120,
            env={
                **outer,
                "PYTHONPATH": str(ROOT),
                "OPENAI_BASE_URL": server.base_url,
                "OPENAI_API_KEY": "sk-test",
                "QUOTH_LLM_MODEL": "test-model",
                "QUOTH_ANSWERER": "extractive",
                # Wishes of other programs, which must not count here.
                "ANONYMIZED_TELEMETRY": "True",
                "GRADIO_ANALYTICS_ENABLED": "True",
                "LANGSMITH_TRACING": "true",
                "LANGSMITH_API_KEY": "lsv2-test",
            },
        )
    assert "SEEN" in done.stdout, done.stderr[-2000:]
    seen = json.loads(done.stdout.partition("SEEN")[2])
    assert seen["hook works"]
    assert seen["attempts"] == []
    assert [code for _, code in seen["codes"]] == [0] * 10, (seen["codes"], done.stderr[-2000:])
    assert len(server.requests) == 1, "only the LLM was asked, once"
    assert "Bees find their hive by landmarks [3]. [1]" in done.stdout
