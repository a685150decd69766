"""Graphs ready to launch.

Instantiating checks a graph and copies it; later changes of the graph are taken over only by an
update. One such graph runs one launch at a time, in the order of the launches; independent branches
run side by side.
"""

FUNCTIONS = """
GraphInstantiate(out infinirtGraphExec_t *pGraphExec, infinirtGraph_t graph,
        unsigned long long flags = 0)
    Make a graph ready to launch. The same as GraphInstantiateWithFlags.

GraphInstantiateWithFlags(out infinirtGraphExec_t *pGraphExec, infinirtGraph_t graph,
        unsigned long long flags = 0)
    Make a graph ready to launch; AutoFreeOnLaunch frees at a launch what the last one left
    allocated.

GraphInstantiateWithParams(out infinirtGraphExec_t *pGraphExec, infinirtGraph_t graph,
        inout infinirtGraphInstantiateParams *instantiateParams)
    Make a graph ready to launch; tells what was wrong, and in which node.

GraphExecGetFlags(infinirtGraphExec_t graphExec, out unsigned long long *flags)
    Tell the flags of instantiation.

GraphUpload(infinirtGraphExec_t graphExec, infinirtStream_t stream)
    Bring to the device, in stream order, what the first launch would else have to bring.

GraphLaunch(infinirtGraphExec_t graphExec, infinirtStream_t stream)
    Run a graph in stream order; behind earlier launches of the same graph.

GraphExecDestroy(infinirtGraphExec_t graphExec)
    Destroy a graph that was made ready to launch, after launches that are under way.

GraphExecUpdate(infinirtGraphExec_t hGraphExec, infinirtGraph_t hGraph,
        out? infinirtGraphExecUpdateResultInfo *resultInfo)
    Take over the parameters of a graph of the same shape; tells what differs too much, and where.

GraphExecNodeSetParams(infinirtGraphExec_t graphExec, infinirtGraphNode_t node,
        in struct infinirtGraphNodeParams *nodeParams)
    Set, for later launches, what the copy of a node of any type does.

GraphExecMemcpyNodeSetParams(infinirtGraphExec_t hGraphExec, infinirtGraphNode_t node,
        in const struct infinirtMemcpy3DParms *pNodeParams)
    Set, for later launches, what a copy node copies: a box.

GraphExecMemcpyNodeSetParams1D(infinirtGraphExec_t hGraphExec, infinirtGraphNode_t node,
        ptr void *dst, ptr const void *src, size_t count, enum infinirtMemcpyKind kind)
    Set, for later launches, what a copy node copies: bytes.

GraphExecMemsetNodeSetParams(infinirtGraphExec_t hGraphExec, infinirtGraphNode_t node,
        in const struct infinirtMemsetParams *pNodeParams)
    Set, for later launches, what a fill node fills.

GraphExecHostNodeSetParams(infinirtGraphExec_t hGraphExec, infinirtGraphNode_t node,
        in const struct infinirtHostNodeParams *pNodeParams)
    Set, for later launches, which function a host node calls.

GraphExecChildGraphNodeSetParams(infinirtGraphExec_t hGraphExec, infinirtGraphNode_t node,
        infinirtGraph_t childGraph)
    Take over, for later launches, the parameters of a child graph of the same shape.

GraphExecEventRecordNodeSetEvent(infinirtGraphExec_t hGraphExec, infinirtGraphNode_t hNode,
        infinirtEvent_t event)
    Set, for later launches, which event a record node records.

GraphExecEventWaitNodeSetEvent(infinirtGraphExec_t hGraphExec, infinirtGraphNode_t hNode,
        infinirtEvent_t event)
    Set, for later launches, which event a wait node waits for.

GraphNodeSetEnabled(infinirtGraphExec_t hGraphExec, infinirtGraphNode_t hNode,
        unsigned int isEnabled)
    Switch a copy or fill node off (it acts as an empty node) or on, for later launches.

GraphNodeGetEnabled(infinirtGraphExec_t hGraphExec, infinirtGraphNode_t hNode,
        out unsigned int *isEnabled)
    Tell whether a node is switched on.

# ---- Kernels, symbols, semaphores of other interfaces

GraphExecKernelNodeSetParams(infinirtGraphExec_t hGraphExec, infinirtGraphNode_t node,
        in const struct infinirtKernelNodeParams *pNodeParams)
    Set, for later launches, what a kernel node runs.
    [unsupported: the core runs no compiled device code; operators come from InfiniOP]

GraphExecMemcpyNodeSetParamsToSymbol(infinirtGraphExec_t hGraphExec, infinirtGraphNode_t node,
        ptr const void *symbol, ptr const void *src, size_t count, size_t offset,
        enum infinirtMemcpyKind kind)
    Set a copy node, for later launches, to copy into a symbol.
    [unsupported: the core runs no compiled device code, so there are no symbols in it]

GraphExecMemcpyNodeSetParamsFromSymbol(infinirtGraphExec_t hGraphExec, infinirtGraphNode_t node,
        ptr void *dst, ptr const void *symbol, size_t count, size_t offset,
        enum infinirtMemcpyKind kind)
    Set a copy node, for later launches, to copy out of a symbol.
    [unsupported: the core runs no compiled device code, so there are no symbols in it]

GraphExecExternalSemaphoresSignalNodeSetParams(infinirtGraphExec_t hGraphExec,
        infinirtGraphNode_t hNode,
        in const struct infinirtExternalSemaphoreSignalNodeParams *nodeParams)
    Set, for later launches, which semaphores a node signals.
    [unsupported: semaphores of other interfaces can only be opened by a device's own driver]

GraphExecExternalSemaphoresWaitNodeSetParams(infinirtGraphExec_t hGraphExec,
        infinirtGraphNode_t hNode,
        in const struct infinirtExternalSemaphoreWaitNodeParams *nodeParams)
    Set, for later launches, which semaphores a node waits for.
    [unsupported: semaphores of other interfaces can only be opened by a device's own driver]
"""
