"""The command `infini`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from infinicore.cli import build_kernels, launch, llm
from infinicore.cli.package import version

DESCRIPTION = "infinicore: one way to use any accelerator."
DEMO_DESCRIPTION = """\
Show in half a minute what the package can do, and check the results:

  streams            a copy and a matrix product at the same time, in two streams
  graph              work captured once and replayed a thousand times
  operators          results compared with float64
  transformer layer  operator by operator, and recorded as a graph
  ranks              tensors of several ranks, summed
"""


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="infini", description=DESCRIPTION)
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="command")

    info = commands.add_parser(
        "info",
        help="list the devices",
        description="List the devices, and for each device type without devices the reason.",
    )
    info.add_argument("--json", action="store_true", help="print one JSON object")

    config = commands.add_parser(
        "config",
        help="print paths and flags for compilers and build tools",
        description="Print what C and C++ programs need to use the installed libraries. Several"
        " options print their answers on one line: cc program.c $(infini config --cflags --libs)",
    )
    for name, words in (
        (
            "root",
            "the folder that holds include/ and lib/; existing programs take it as INFINI_ROOT",
        ),
        ("cflags", "options for the compiler"),
        ("libs", "options for the linker"),
        ("cmake-dir", "the folder of the CMake package, for Infini_DIR"),
        ("include", "the folder of the headers"),
        ("lib", "the folder of the libraries"),
    ):
        config.add_argument(
            f"--{name}", action="append_const", dest="wanted", const=name, help=words
        )

    commands.add_parser(
        "doctor",
        help="print a report to paste into a bug report",
        description="Print versions, devices, back ends and settings, and run a short self-test."
        " The exit status is 0 when the self-test passes.",
    )

    tuner = commands.add_parser(
        "tune",
        help="measure what constants stand for, and keep it for this machine",
        description="Measure what back ends otherwise take from constants, print it next to these"
        " constants, and write it to this machine's tuning file, which later processes read. Run"
        " it while the machine is idle. The exit status is 1 if the file cannot be used.",
    )
    tuner.add_argument(
        "--device",
        metavar="NAME",
        help="the device type to measure (default: each that has something to measure)",
    )
    tuner.add_argument(
        "--show", action="store_true", help="print what the file has; measure and write nothing"
    )

    builder = commands.add_parser(
        "build-kernels",
        help="write kernels for a vendor's offline compiler",
        description="Write the sources of the kernels that a program needs, and the commands that"
        " compile them with the vendor's compiler, for devices without a run-time compiler.",
    )
    build_kernels.add_arguments(builder)

    launcher = commands.add_parser(
        "launch", help="start a program as several ranks, and stop them all if one fails"
    )
    launch.add_arguments(launcher)

    demo = commands.add_parser(
        "demo",
        help="show what the package can do on a device, and check it",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description=DEMO_DESCRIPTION,
        epilog="The exit status is 0 if all results are right, 1 if one is wrong or the requested"
        " device does\nnot work, and 2 if there is no such device. Times are not checked.",
    )
    demo.add_argument(
        "--device",
        metavar="NAME",
        help="cpu, nvidia, nvidia:1, ... (default: the first accelerator, else the CPU; if it does"
        " not work, the reason is printed and the CPU is shown instead)",
    )
    demo.add_argument(
        "--mib",
        type=_positive,
        default=32,
        metavar="N",
        help="size in MiB of the copy that overlaps with a kernel (default: %(default)s)",
    )
    _add_conformance(commands)
    llm.add_arguments(commands)
    return parser


def _add_conformance(commands: Any) -> None:
    from infinicore.conformance import command, new_backend

    kit = commands.add_parser(
        "conformance",
        help="test what works on a device, and write a report",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description=command.DESCRIPTION,
        epilog="The exit status is 0 if nothing unexpected happened, 1 if a case failed or the"
        " level\nreached is below the manifest's, and 2 if the run was not possible.",
    )
    command.add_arguments(kit)
    starter = commands.add_parser(
        "new-backend",
        help="create a back end to start from, outside this package",
        description="Create a folder with a back end that builds against the installed package and"
        " reaches level 2 of `infini conformance` without changes.",
    )
    new_backend.add_arguments(starter)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"expected a whole number above 0, got {text!r}")
    return int(text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    parser = make_parser()
    options = parser.parse_args(arguments)
    if options.version:
        print(f"infinicore {version()}")
        return 0
    if options.command is None:
        parser.error(
            "expected a command: info, config, doctor, tune, build-kernels, launch, demo,"
            " conformance, new-backend, chat, generate, serve or bench"
        )
    # Commands are imported on use, so that `infini config` does not load the runtime.
    if options.command == "launch":
        return launch.run(options)
    if options.command in llm.COMMANDS:
        options.arguments = list(sys.argv[1:] if arguments is None else arguments)
        return llm.run(options)
    if options.command == "conformance":
        from infinicore.conformance import command

        return command.run(options)
    if options.command == "new-backend":
        from infinicore.conformance import new_backend

        return new_backend.run(options)
    if options.command == "config":
        from infinicore.cli import config

        if not options.wanted:
            parser.error(
                "config: expected at least one of --root, --cflags, --libs, --cmake-dir, --include,"
                " --lib"
            )
        return config.run(options.wanted)
    from infinicore.rt import InfiniRTError

    try:
        if options.command == "info":
            from infinicore.cli import info

            return info.run(as_json=options.json)
        if options.command == "build-kernels":
            return build_kernels.run(options)
        if options.command == "doctor":
            from infinicore.cli import doctor

            return doctor.run()
        if options.command == "tune":
            from infinicore.cli import tune

            return tune.run(options.device, show=options.show)
        from infinicore.cli import demo

        return demo.run(options.device, options.mib << 20)
    except InfiniRTError as error:
        print(f"infini {options.command}: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader, `head` for instance, has exited
        sys.stderr.close()
        return 1
