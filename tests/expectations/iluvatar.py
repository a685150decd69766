"""Iluvatar, on simulated libraries (--simulated): never tested on a device."""

from kit.simulated_vendor import BY_NUMBERS, EXCLUDED, TAGS

EXPECTED_FAILURES = BY_NUMBERS

__all__ = ["EXCLUDED", "EXPECTED_FAILURES", "TAGS"]
