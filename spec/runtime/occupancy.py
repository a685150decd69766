"""Occupancy: how many blocks of a kernel fit a device."""

UNSUPPORTED = "the core runs no compiled device code, so there is nothing to fit"

FUNCTIONS = """
OccupancyMaxActiveBlocksPerMultiprocessor(out int *numBlocks, ptr const void *func, int blockSize,
        size_t dynamicSMemSize)
    Blocks of a kernel that one multiprocessor can hold.

OccupancyAvailableDynamicSMemPerBlock(out size_t *dynamicSmemSize, ptr const void *func,
        int numBlocks, int blockSize)
    Shared memory left to each block when so many are to fit.

OccupancyMaxActiveBlocksPerMultiprocessorWithFlags(out int *numBlocks, ptr const void *func,
        int blockSize, size_t dynamicSMemSize, unsigned int flags)
    As OccupancyMaxActiveBlocksPerMultiprocessor, with flags.

OccupancyMaxPotentialClusterSize(out int *clusterSize, ptr const void *func,
        in const infinirtLaunchConfig_t *launchConfig)
    Largest cluster that a kernel can be launched with.

OccupancyMaxActiveClusters(out int *numClusters, ptr const void *func,
        in const infinirtLaunchConfig_t *launchConfig)
    Clusters of a kernel that fit the device at a time.
"""
