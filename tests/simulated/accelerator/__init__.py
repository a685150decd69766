"""A simulated accelerator, and the simulated libraries of vendors on it."""
