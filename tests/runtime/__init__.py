"""What the runtime does, on whatever kind of device `--device` names."""
