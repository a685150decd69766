"""Why rows miss a goal: patterns of titles ('group/name shape type') for each architecture, and the
reason. The first that fits is printed with the missed row."""

NOTES: dict[str, dict[str, str]] = {
    "aarch64": {},
    "x86_64": {},
}
