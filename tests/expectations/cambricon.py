"""Cambricon. Streams, events and memory are Neuware's; pools, captures and graphs the core's."""

from expectations.own_runtime import EXCLUDED, EXPECTED_FAILURES, TAGS

__all__ = ["EXCLUDED", "EXPECTED_FAILURES", "TAGS"]
