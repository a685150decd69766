"""Back ends that are not ours: found, judged, used, or refused with a reason."""
