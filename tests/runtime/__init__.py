"""Tests of the runtime on the device type that `--device` names."""
