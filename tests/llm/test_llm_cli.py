"""`infini generate`, `chat` and `bench`: their output, and one-line error messages."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from infinicore.cli import main
from infinicore.llm import LLM
from tests.llm import small_llama
from tests.llm.tiny import expected, write

pytestmark = pytest.mark.requires("host")

RANKS = {"INFINI_CPU_DEVICES": "2", "INFINI_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_llama.make_folder(tmp_path_factory.mktemp("cli") / "model")


@pytest.fixture(scope="module")
def mixture(tmp_path_factory: pytest.TempPathFactory, folder: Path) -> Path:
    made = write(tmp_path_factory.mktemp("moe") / "m", "mixtral", expected()["mixtral"]["shapes"])
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(folder / name, made / name)
    return made


Capture = pytest.CaptureFixture[str]


def run(*words: Any) -> int:
    try:
        return int(main([str(word) for word in words]))
    except SystemExit as ended:  # of argparse
        return int(ended.code or 0)


SMALL = ("--cache-tokens", 512, "--no-graphs")


def test_generate(folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    (wanted,) = LLM(folder, cache_tokens=512).generate("hello", max_tokens=12)
    assert run("generate", folder, "hello", "--tokens", 12, *SMALL) == 0
    assert capsys.readouterr().out == wanted.text + "\n"
    monkeypatch.setattr(sys, "stdin", io.StringIO("hello"))
    assert run("generate", folder, "--tokens", 12, *SMALL) == 0
    assert capsys.readouterr().out == wanted.text + "\n"
    stop = wanted.text[4]
    assert run("generate", folder, "hello", "--tokens", 12, "--stop", stop, *SMALL) == 0
    assert capsys.readouterr().out == wanted.text.split(stop)[0] + "\n"


def test_generate_with_a_seed(folder: Path, capsys: Capture) -> None:
    words = ("generate", folder, "hello", "--tokens", 9, "--temperature", 2, *SMALL)
    texts = []
    for number in (1, 1, 2):
        assert run(*words, "--seed", number) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1] != texts[2]


def test_chat(folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    message = [{"role": "user", "content": "hi"}]
    wanted = LLM(folder, cache_tokens=512).chat(message, max_tokens=9).text
    assert run("chat", folder, "--message", "hi", "--tokens", 9, *SMALL) == 0
    assert capsys.readouterr().out == wanted + "\n"
    monkeypatch.setattr(sys, "stdin", io.StringIO("hi\n/new\nhi\n"))
    assert run("chat", folder, "--tokens", 9, *SMALL) == 0
    assert capsys.readouterr().out == 2 * (wanted + "\n")


def test_bench(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "out.json"
    words = ("bench", folder, "--prompt", 9, "--tokens", 3, "--batch", "1,2", "--repeat", 1)
    assert run(*words, "--json", file) == 0
    made = json.loads(file.read_text())
    assert [row["batch"] for row in made["batches"]] == [1, 2]
    for row in (made, *made["batches"]):
        assert row["prompt"]["tokens_per_second"] > 0 and row["first_token_seconds"] > 0
        assert row["generate"]["tokens_per_second"] > 0
    assert made["memory_bytes"] > 1 << 20 and made["dtype"] == "float32"
    assert capsys.readouterr().out == ""
    assert run(*words[:-2], "--repeat", 1, "--json", "-") == 0
    assert json.loads(capsys.readouterr().out)["prompt_tokens"] == 9


BAD: list[tuple[tuple[Any, ...], str]] = [
    (("generate", "/nowhere", "x"), "/nowhere: no such file or folder"),
    (("generate", "MODEL", ""), "prompt is empty"),
    (("generate", "MODEL", "x" * 600), "prompt has 600 tokens"),
    (("generate", "MODEL", "x", "--tokens", "0"), "max_tokens is 0"),
    (("generate", "MODEL", "x", "--tokens", "a"), "--tokens: invalid int"),
    (("generate", "MODEL", "x", "--temperature", "nan"), "temperature is nan"),
    (("generate", "MODEL", "x", "--top-p", "0"), "top_p is 0"),
    (("generate", "MODEL", "x", "--stop", ""), "stop is"),
    (("generate", "MODEL", "x", "--device", "nosuch"), "nosuch"),
    (("generate", "MODEL", "x", "--dtype", "int3"), "--dtype: invalid choice"),
    (("generate", "MODEL", "x", "--threads", "0"), "--threads is 0"),
    (("generate", "MODEL", "x", "--tp", "0"), "--tp is 0"),
    (("generate", "MODEL", "x", "--max-batch", "0"), "max_batch is 0"),
    (("generate", "MODEL", "x", "--cache-tokens", "-1"), "cache_tokens is -1"),
    (("generate", "MODEL", "x", "--max-length", "0"), "max_length is 0"),
    (("generate",), "arguments are required"),
    (("chat", "MODEL", "--tp", "2"), "--tp and --pp need --message"),
    (("bench", "MODEL", "--batch", "a"), "--batch is a"),
    (("bench", "MODEL", "--batch", "0"), "--batch is 0"),
    (("bench", "MODEL", "--batch", ""), "--batch is"),
    (("bench", "MODEL", "--prompt", "0"), "--prompt is 0"),
    (("bench", "MODEL", "--tokens", "-1"), "--tokens is -1"),
    (("bench", "MODEL", "--repeat", "0"), "--repeat is 0"),
    (("bench", "MODEL", "--against", "x"), "--against: invalid choice"),
]


@pytest.mark.parametrize(("words", "problem"), BAD, ids=lambda each: str(each)[:40])
def test_bad_arguments(words: tuple[Any, ...], problem: str, folder: Path, capsys: Capture) -> None:
    status = run(*(folder if word == "MODEL" else word for word in words))
    told = capsys.readouterr()
    assert problem in told.err and "Traceback" not in told.err and told.out == ""
    from_parser = "invalid" in problem or "required" in problem
    assert status == (2 if from_parser else 1)
    if not from_parser:
        assert told.err.startswith(f"infini {words[0]}: ") and told.err.count("\n") == 1


def test_a_damaged_model(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(b"GGUF" + bytes(40))
    assert run("generate", file, "x") == 1
    assert capsys.readouterr().err == f"infini generate: {file}: GGUF version 0: expected 2 or 3\n"


# ---- several ranks --------------------------------------------------------------------------


def command(*words: Any) -> list[str]:
    return [sys.executable, "-m", "infinicore", *(str(word) for word in words)]


def on_ranks(*words: Any, **settings: Any) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **RANKS}
    return subprocess.run(
        command(*words, "--tp", 2),
        env=environment,
        capture_output=True,
        text=True,
        timeout=180,
        **settings,
    )


@pytest.mark.parametrize("which", ["folder", "mixture"])
def test_two_ranks_give_the_same_text(
    which: str, request: pytest.FixtureRequest, capsys: Capture
) -> None:
    model = request.getfixturevalue(which)
    prompt = "hello" if which == "folder" else "-hello"
    assert run("generate", "--tokens", 12, *SMALL, "--", model, prompt) == 0
    wanted = capsys.readouterr().out
    if which == "folder":
        made = on_ranks("generate", model, "hello", "--tokens", 12)
    else:  # ranks have no standard input: the prompt is read before
        made = on_ranks("generate", model, "--tokens", 12, input="-hello")
    assert (made.returncode, made.stdout) == (0, wanted), made.stderr


def test_embeddings_on_two_ranks(folder: Path) -> None:
    words = command("launch", "-n", 2, "--no-prefix", Path(__file__).parent / "ranks_embed.py")
    made = subprocess.run(
        [*words, str(folder)],
        env={**os.environ, **RANKS},
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert made.returncode == 0, made.stderr
    told = json.loads(made.stdout)
    alone = LLM(folder, cache_tokens=256, block_size=8)
    assert told["tokens"][0] == alone.generate([[5, 6, 7]], max_tokens=4)[0].tokens
    rows = alone.embed([[1, 2, 3], [9, 8]]).numpy()
    np.testing.assert_allclose(told["rows"][:2], rows, atol=1e-4)
    assert told["rows"][2:] == [[], []]  # the errors
    drawn = alone.generate([[5, 6, 7]], max_tokens=4, temperature=1.0, seed=3)[0].tokens
    assert told["tokens"][2] == drawn


def test_a_killed_rank_ends_the_others(folder: Path) -> None:
    words = ("bench", folder, "--tp", 2, "--prompt", 9, "--tokens", 200, "--repeat", 100000)
    environment = {**os.environ, **RANKS}
    launcher = subprocess.Popen(
        command(*words), env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        ranks: list[int] = []
        children = Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children")
        while len(ranks) < 2:
            assert launcher.poll() is None
            ranks = [int(word) for word in children.read_text().split()]
            time.sleep(0.05)
        time.sleep(1)
        os.kill(ranks[1], signal.SIGKILL)
        _, problem = launcher.communicate(timeout=120)
        assert launcher.returncode != 0 and b"rank 1" in problem and b"Traceback" not in problem
        assert not any(Path(f"/proc/{each}").exists() for each in ranks)
    finally:
        launcher.kill()
        launcher.wait()
