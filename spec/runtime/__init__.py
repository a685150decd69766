"""The aligned face of InfiniRT: declarations of CUDA 12.9's runtime with `cuda` spelled `infinirt`.

One file per group of functions; the types in files of their own. Opaque tags are the one thing that
is not CUDA's spelling with the prefix exchanged: where CUDA says `CUstream_st`, these say
`infinirtStream_st`.
"""

GROUPS = (
    "error",
    "version",
    "device",
    "stream",
    "event",
    "memory",
    "copy",
    "pool",
    "peer",
    "ipc",
    "capture",
    "graph",
    "graph_node",
    "graph_exec",
    "launch",
    "array",
    "symbol",
    "external",
    "library",
    "occupancy",
    "driver_entry",
)

TYPES = (
    "errors",
    "enums",
    "device_attributes",
    "typedefs",
    "structs",
    "device_properties",
    "graph_structs",
    "launch_structs",
    "macros",
)
