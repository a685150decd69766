"""Elements read and written by indices and masks."""
