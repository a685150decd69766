"""`infini build-kernels`: kernels for devices whose toolkit has no run-time compiler.

The sources of the kernels that a program needs are written to a folder, with the command of the
vendor's compiler for each; processes load the results from INFINI_KERNEL_IMAGES=<folder>.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

# The operators of language models, in their usual types.
TYPICAL = """
import sys
import infinicore
import infinicore.nn.functional as F

device = sys.argv[1]


def attempt(function, *shapes, dtype):
    try:
        tensors = [infinicore.zeros(shape, dtype=dtype, device=device) for shape in shapes]
        function(*tensors)
    except Exception as error:  # a kernel that is still missing: its source was written
        print(f"{function.__name__}: {error}", file=sys.stderr)


for dtype in (infinicore.float16, infinicore.bfloat16, infinicore.float32):
    attempt(infinicore.add, (4, 64), (4, 64), dtype=dtype)
    attempt(infinicore.mul, (4, 64), (4, 64), dtype=dtype)
    attempt(F.silu, (4, 64), dtype=dtype)
    attempt(F.gelu, (4, 64), dtype=dtype)
    attempt(lambda x: F.softmax(x, dim=-1), (4, 64), dtype=dtype)
    attempt(lambda x, w: F.rms_norm(x, [64], w), (4, 64), (64,), dtype=dtype)
    attempt(lambda x, w: F.layer_norm(x, [64], w), (4, 64), (64,), dtype=dtype)
    attempt(infinicore.matmul, (4, 64), (64, 64), dtype=dtype)
    attempt(F.scaled_dot_product_attention, *[(1, 2, 8, 64)] * 3, dtype=dtype)
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", required=True, metavar="TYPE", help="iluvatar, ali, qy, ...")
    parser.add_argument(
        "--out", type=Path, default=Path("kernels"), metavar="FOLDER", help="default: %(default)s"
    )
    parser.add_argument(
        "--compiler", metavar="PROGRAM", help="replaces the first word of the vendor's command"
    )
    parser.add_argument(
        "--run",
        action="store_true",
        help="also run the commands, repeating until the program lacks no kernel",
    )
    parser.add_argument(
        "program",
        nargs="*",
        help="a Python program and its arguments, whose kernels to write (default: operators"
        " of a language model)",
    )


def run(options: argparse.Namespace) -> int:
    from infinicore import rt  # the command's arguments need no runtime

    kind = options.device.partition(":")[0]
    if kind not in rt.kinds():
        reason = rt.absent_kinds().get(kind, "it is not a device type")
        print(f"infini build-kernels: --device {kind}: {reason}", file=sys.stderr)
        return 2
    options.out.mkdir(parents=True, exist_ok=True)
    out = options.out.resolve()
    command = [sys.executable, *(options.program or ["-c", TYPICAL, kind])]
    changes = {"INFINI_CUDA_DUMP": str(out), "INFINI_KERNEL_IMAGES": str(out)}
    environment = {**os.environ, **changes, "INFINI_DEVICE": kind}
    commands: dict[str, list[str]] = {}
    # A program stops at the first missing kernel; with that one compiled, it reaches the next.
    while True:
        done = subprocess.run(command, check=False, env=environment)
        now = _commands(out, options.compiler)
        new = {source: words for source, words in now.items() if source not in commands}
        commands = now
        if not options.run or not new:
            break
        for words in new.values():
            if failed := subprocess.run(words, check=False, cwd=out).returncode:
                print(f"infini build-kernels: failed: {shlex.join(words)}", file=sys.stderr)
                return failed
    if not commands:
        print(
            f"infini build-kernels: no source was written for {kind}: the program ended with"
            f" {done.returncode} and needed no kernel that is compiled off line",
            file=sys.stderr,
        )
        return 1
    script = out / "build.sh"
    lines = ["#!/bin/sh", "set -e", 'cd "$(dirname "$0")"', *map(shlex.join, commands.values())]
    script.write_text("\n".join(lines) + "\n", encoding="utf-8")
    script.chmod(0o755)
    print(f"{len(commands)} sources and {script}")
    if not options.run:
        print("Kernels that the program would need behind the first one that is missing are not")
        print("among them: run the script and this command again, or use --run.")
    print(f"To use what it makes: INFINI_KERNEL_IMAGES={out}")
    return 0


def _commands(out: Path, compiler: str | None) -> dict[str, list[str]]:
    """The vendor's commands by source file name, read from the sources."""
    commands = {}
    for source in sorted(out.glob("*.cu")):
        text = source.read_text(encoding="utf-8")
        if found := re.search(r"^// compile: (.*)$", text, re.MULTILINE):
            words = shlex.split(found[1])
            commands[source.name] = [compiler, *words[1:]] if compiler else words
    return commands
