"""Graph nodes: adding them, reading and setting what they do.

An added node waits for the nodes in `pDependencies`, which must be of the same graph and named
once. Parameters are copied; pointers inside them are followed when the graph runs.
"""

FUNCTIONS = """
GraphAddNode(out infinirtGraphNode_t *pGraphNode, infinirtGraph_t graph,
        list(numDependencies) const infinirtGraphNode_t *pDependencies, size_t numDependencies,
        inout struct infinirtGraphNodeParams *nodeParams)
    Add a node of any type. Members that end in `_out`, and an allocation's address, are written.

GraphAddNode_v2(out infinirtGraphNode_t *pGraphNode, infinirtGraph_t graph,
        list(numDependencies) const infinirtGraphNode_t *pDependencies,
        list?(numDependencies) const infinirtGraphEdgeData *dependencyData, size_t numDependencies,
        inout struct infinirtGraphNodeParams *nodeParams)
    As GraphAddNode, with data for the edges.

GraphNodeSetParams(infinirtGraphNode_t node, in struct infinirtGraphNodeParams *nodeParams)
    Set what a node of any type does. The type itself cannot change.

# ---- Copies

GraphAddMemcpyNode(out infinirtGraphNode_t *pGraphNode, infinirtGraph_t graph,
        list(numDependencies) const infinirtGraphNode_t *pDependencies, size_t numDependencies,
        in const struct infinirtMemcpy3DParms *pCopyParams)
    Add a node that copies a box.

GraphAddMemcpyNode1D(out infinirtGraphNode_t *pGraphNode, infinirtGraph_t graph,
        list(numDependencies) const infinirtGraphNode_t *pDependencies, size_t numDependencies,
        ptr void *dst, ptr const void *src, size_t count, enum infinirtMemcpyKind kind)
    Add a node that copies bytes.

GraphMemcpyNodeGetParams(infinirtGraphNode_t node, out struct infinirtMemcpy3DParms *pNodeParams)
    Tell what a copy node copies.

GraphMemcpyNodeSetParams(infinirtGraphNode_t node,
        in const struct infinirtMemcpy3DParms *pNodeParams)
    Set what a copy node copies: a box.

GraphMemcpyNodeSetParams1D(infinirtGraphNode_t node, ptr void *dst, ptr const void *src,
        size_t count, enum infinirtMemcpyKind kind)
    Set what a copy node copies: bytes.

GraphAddMemcpyNodeToSymbol(out infinirtGraphNode_t *pGraphNode, infinirtGraph_t graph,
        list(numDependencies) const infinirtGraphNode_t *pDependencies, size_t numDependencies,
        ptr const void *symbol, ptr const void *src, size_t count, size_t offset,
        enum infinirtMemcpyKind kind)
    Add a node that copies into a symbol.
    [unsupported: the core runs no compiled device code, so there are no symbols in it]

GraphAddMemcpyNodeFromSymbol(out infinirtGraphNode_t *pGraphNode, infinirtGraph_t graph,
        list(numDependencies) const infinirtGraphNode_t *pDependencies, size_t numDependencies,
        ptr void *dst, ptr const void *symbol, size_t count, size_t offset,
        enum infinirtMemcpyKind kind)
    Add a node that copies out of a symbol.
    [unsupported: the core runs no compiled device code, so there are no symbols in it]

GraphMemcpyNodeSetParamsToSymbol(infinirtGraphNode_t node, ptr const void *symbol,
        ptr const void *src, size_t count, size_t offset, enum infinirtMemcpyKind kind)
    Set a copy node to copy into a symbol.
    [unsupported: the core runs no compiled device code, so there are no symbols in it]

GraphMemcpyNodeSetParamsFromSymbol(infinirtGraphNode_t node, ptr void *dst, ptr const void *symbol,
        size_t count, size_t offset, enum infinirtMemcpyKind kind)
    Set a copy node to copy out of a symbol.
    [unsupported: the core runs no compiled device code, so there are no symbols in it]

# ---- Filling, host functions, empty nodes, child graphs

GraphAddMemsetNode(out infinirtGraphNode_t *pGraphNode, infinirtGraph_t graph,
        list(numDependencies) const infinirtGraphNode_t *pDependencies, size_t numDependencies,
        in const struct infinirtMemsetParams *pMemsetParams)
    Add a node that fills rows of elements of 1, 2 or 4 bytes.

GraphMemsetNodeGetParams(infinirtGraphNode_t node, out struct infinirtMemsetParams *pNodeParams)
    Tell what a fill node fills.

GraphMemsetNodeSetParams(infinirtGraphNode_t node,
        in const struct infinirtMemsetParams *pNodeParams)
    Set what a fill node fills.

GraphAddHostNode(out infinirtGraphNode_t *pGraphNode, infinirtGraph_t graph,
        list(numDependencies) const infinirtGraphNode_t *pDependencies, size_t numDependencies,
        in const struct infinirtHostNodeParams *pNodeParams)
    Add a node that calls a function of the host.

GraphHostNodeGetParams(infinirtGraphNode_t node, out struct infinirtHostNodeParams *pNodeParams)
    Tell which function a host node calls.

GraphHostNodeSetParams(infinirtGraphNode_t node,
        in const struct infinirtHostNodeParams *pNodeParams)
    Set which function a host node calls.

GraphAddEmptyNode(out infinirtGraphNode_t *pGraphNode, infinirtGraph_t graph,
        list(numDependencies) const infinirtGraphNode_t *pDependencies, size_t numDependencies)
    Add a node that does nothing: a place where many edges can meet.

GraphAddChildGraphNode(out infinirtGraphNode_t *pGraphNode, infinirtGraph_t graph,
        list(numDependencies) const infinirtGraphNode_t *pDependencies, size_t numDependencies,
        infinirtGraph_t childGraph)
    Add a node that runs a copy of another graph.

GraphChildGraphNodeGetGraph(infinirtGraphNode_t node, out infinirtGraph_t *pGraph)
    Give the graph inside a child-graph node. It belongs to the node.

# ---- Events

GraphAddEventRecordNode(out infinirtGraphNode_t *pGraphNode, infinirtGraph_t graph,
        list(numDependencies) const infinirtGraphNode_t *pDependencies, size_t numDependencies,
        infinirtEvent_t event)
    Add a node that records an event.

GraphEventRecordNodeGetEvent(infinirtGraphNode_t node, out infinirtEvent_t *event_out)
    Tell which event a record node records.

GraphEventRecordNodeSetEvent(infinirtGraphNode_t node, infinirtEvent_t event)
    Set which event a record node records.

GraphAddEventWaitNode(out infinirtGraphNode_t *pGraphNode, infinirtGraph_t graph,
        list(numDependencies) const infinirtGraphNode_t *pDependencies, size_t numDependencies,
        infinirtEvent_t event)
    Add a node that waits for an event.

GraphEventWaitNodeGetEvent(infinirtGraphNode_t node, out infinirtEvent_t *event_out)
    Tell which event a wait node waits for.

GraphEventWaitNodeSetEvent(infinirtGraphNode_t node, infinirtEvent_t event)
    Set which event a wait node waits for.

# ---- Memory

GraphAddMemAllocNode(out infinirtGraphNode_t *pGraphNode, infinirtGraph_t graph,
        list(numDependencies) const infinirtGraphNode_t *pDependencies, size_t numDependencies,
        inout struct infinirtMemAllocNodeParams *nodeParams)
    Add a node that allocates; the address, which stays the same in every launch, is written at
    once.

GraphMemAllocNodeGetParams(infinirtGraphNode_t node,
        out struct infinirtMemAllocNodeParams *params_out)
    Tell what an allocation node allocates.

GraphAddMemFreeNode(out infinirtGraphNode_t *pGraphNode, infinirtGraph_t graph,
        list(numDependencies) const infinirtGraphNode_t *pDependencies, size_t numDependencies,
        ptr void *dptr)
    Add a node that frees what an allocation node of some graph allocated.

GraphMemFreeNodeGetParams(infinirtGraphNode_t node, out void *dptr_out)
    Tell which address a free node frees; `dptr_out` points to a pointer.

# ---- Kernels

GraphAddKernelNode(out infinirtGraphNode_t *pGraphNode, infinirtGraph_t graph,
        list(numDependencies) const infinirtGraphNode_t *pDependencies, size_t numDependencies,
        in const struct infinirtKernelNodeParams *pNodeParams)
    Add a node that runs a kernel.
    [unsupported: the core runs no compiled device code; operators come from InfiniOP]

GraphKernelNodeGetParams(infinirtGraphNode_t node, out struct infinirtKernelNodeParams *pNodeParams)
    Tell what a kernel node runs.
    [unsupported: the core runs no compiled device code; operators come from InfiniOP]

GraphKernelNodeSetParams(infinirtGraphNode_t node,
        in const struct infinirtKernelNodeParams *pNodeParams)
    Set what a kernel node runs.
    [unsupported: the core runs no compiled device code; operators come from InfiniOP]

GraphKernelNodeCopyAttributes(infinirtGraphNode_t hSrc, infinirtGraphNode_t hDst)
    Copy the attributes of a kernel node to another. As in CUDA 12, the names say source first.
    [unsupported: the core runs no compiled device code; operators come from InfiniOP]

GraphKernelNodeGetAttribute(infinirtGraphNode_t hNode, infinirtLaunchAttributeID attr,
        out infinirtLaunchAttributeValue *value_out)
    Tell an attribute of a kernel node.
    [unsupported: the core runs no compiled device code; operators come from InfiniOP]

GraphKernelNodeSetAttribute(infinirtGraphNode_t hNode, infinirtLaunchAttributeID attr,
        in const infinirtLaunchAttributeValue *value)
    Set an attribute of a kernel node.
    [unsupported: the core runs no compiled device code; operators come from InfiniOP]

# ---- Semaphores of other interfaces, conditions

GraphAddExternalSemaphoresSignalNode(out infinirtGraphNode_t *pGraphNode, infinirtGraph_t graph,
        list(numDependencies) const infinirtGraphNode_t *pDependencies, size_t numDependencies,
        in const struct infinirtExternalSemaphoreSignalNodeParams *nodeParams)
    Add a node that signals semaphores of another interface.
    [unsupported: semaphores of other interfaces can only be opened by a device's own driver]

GraphExternalSemaphoresSignalNodeGetParams(infinirtGraphNode_t hNode,
        out struct infinirtExternalSemaphoreSignalNodeParams *params_out)
    Tell which semaphores a node signals.
    [unsupported: semaphores of other interfaces can only be opened by a device's own driver]

GraphExternalSemaphoresSignalNodeSetParams(infinirtGraphNode_t hNode,
        in const struct infinirtExternalSemaphoreSignalNodeParams *nodeParams)
    Set which semaphores a node signals.
    [unsupported: semaphores of other interfaces can only be opened by a device's own driver]

GraphAddExternalSemaphoresWaitNode(out infinirtGraphNode_t *pGraphNode, infinirtGraph_t graph,
        list(numDependencies) const infinirtGraphNode_t *pDependencies, size_t numDependencies,
        in const struct infinirtExternalSemaphoreWaitNodeParams *nodeParams)
    Add a node that waits for semaphores of another interface.
    [unsupported: semaphores of other interfaces can only be opened by a device's own driver]

GraphExternalSemaphoresWaitNodeGetParams(infinirtGraphNode_t hNode,
        out struct infinirtExternalSemaphoreWaitNodeParams *params_out)
    Tell which semaphores a node waits for.
    [unsupported: semaphores of other interfaces can only be opened by a device's own driver]

GraphExternalSemaphoresWaitNodeSetParams(infinirtGraphNode_t hNode,
        in const struct infinirtExternalSemaphoreWaitNodeParams *nodeParams)
    Set which semaphores a node waits for.
    [unsupported: semaphores of other interfaces can only be opened by a device's own driver]

GraphConditionalHandleCreate(out infinirtGraphConditionalHandle *pHandle_out, infinirtGraph_t graph,
        unsigned int defaultLaunchValue = 0, unsigned int flags = 0)
    Make a condition that kernels of a graph set and conditional nodes read.
    [unsupported: conditions are set by device code, which the core does not run]
"""
