"""Hygon, on simulated libraries (--simulated): never tested on a device."""

from kit.simulated_vendor import EXCLUDED, EXPECTED_FAILURES, TAGS

__all__ = ["EXCLUDED", "EXPECTED_FAILURES", "TAGS"]
