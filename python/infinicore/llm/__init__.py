"""Language models: from a file to text.

>>> from infinicore.llm import LLM
>>> LLM("smollm2").generate(["Once upon a time"], max_tokens=32)[0].text
"""

from __future__ import annotations

from infinicore.llm.engine import Engine, EngineOptions
from infinicore.llm.files import ModelFileError, open_model
from infinicore.llm.llm import LLM, Completion
from infinicore.llm.sampling import SamplingParams

__all__ = [
    "LLM",
    "Completion",
    "Engine",
    "EngineOptions",
    "ModelFileError",
    "SamplingParams",
    "open_model",
]
