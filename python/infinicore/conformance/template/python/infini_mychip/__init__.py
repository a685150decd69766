"""mychip as a device of infinicore: the entry point of the group infinicore.backends."""

from importlib.util import find_spec
from pathlib import Path

if find_spec("infinicore") is None or find_spec("infinicore.rt") is None:
    raise ImportError(
        "infini_mychip: expected infinicore, with infinicore.rt, in this environment; install it"
        " from its repository or wheel (the package infinicore on PyPI is another project)"
    )


def library() -> Path:
    """The back end's library, which infinicore opens when it is imported."""
    return Path(__file__).with_name("libinfini_mychip.so")
