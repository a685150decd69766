"""Versions."""

FUNCTIONS = """
DriverGetVersion(out int *driverVersion)
    Version of the runtime API that the driver below can serve, as 1000 x major + 10 x minor.
    [anywhere]

RuntimeGetVersion(out int *runtimeVersion)
    Version of CUDA's runtime API that this library follows: 12090. [anywhere]
"""
