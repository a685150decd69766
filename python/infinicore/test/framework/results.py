"""The result of a case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

PASSED, FAILED, SKIPPED, PARTIAL = 0, -1, -2, -3


@dataclass
class CaseResult:
    """Seconds are those of one call, and 0 where nothing was measured."""

    success: bool
    return_code: int  # PASSED, FAILED, SKIPPED: neither has the operator, PARTIAL: one of them has
    torch_host_time: float = 0.0
    torch_device_time: float = 0.0
    infini_host_time: float = 0.0
    infini_device_time: float = 0.0
    error_message: str = ""
    test_case: Any = None
    device: Any = None
