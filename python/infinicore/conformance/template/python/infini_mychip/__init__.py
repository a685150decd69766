"""mychip as a device of infinicore: the entry point of the group infinicore.backends."""

from pathlib import Path


def library() -> Path:
    """The back end's library."""
    return Path(__file__).with_name("libinfini_mychip.so")
