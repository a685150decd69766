"""What the runtime does, on whatever device type `--device` names."""
