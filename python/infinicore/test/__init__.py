"""Tools for tests of operators: see `infinicore.test.framework`."""
