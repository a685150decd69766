"""User programs, compiled and run."""
