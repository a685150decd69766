"""Graphs: making, reading and changing their shape; objects that live as long as a graph."""

FUNCTIONS = """
GraphCreate(out infinirtGraph_t *pGraph, unsigned int flags)
    Make an empty graph. `flags` must be 0.

GraphClone(out infinirtGraph_t *pGraphClone, infinirtGraph_t originalGraph)
    Copy a graph with all its nodes, child graphs included.

GraphNodeFindInClone(out infinirtGraphNode_t *pNode, infinirtGraphNode_t originalNode,
        infinirtGraph_t clonedGraph)
    Find the copy of a node in a clone of its graph.

GraphNodeGetType(infinirtGraphNode_t node, out enum infinirtGraphNodeType *pType)
    Tell what a node does.

GraphGetNodes(infinirtGraph_t graph, fill(numNodes) infinirtGraphNode_t *nodes,
        inout size_t *numNodes)
    List a graph's nodes. Room that is left over is filled with null.

GraphGetRootNodes(infinirtGraph_t graph, fill(pNumRootNodes) infinirtGraphNode_t *pRootNodes,
        inout size_t *pNumRootNodes)
    List the nodes that depend on none.

GraphGetEdges(infinirtGraph_t graph, fill(numEdges) infinirtGraphNode_t *from,
        fill(numEdges) infinirtGraphNode_t *to, inout size_t *numEdges)
    List a graph's edges: from[i] comes before to[i].

GraphGetEdges_v2(infinirtGraph_t graph, fill(numEdges) infinirtGraphNode_t *from,
        fill(numEdges) infinirtGraphNode_t *to, fill(numEdges) infinirtGraphEdgeData *edgeData,
        inout size_t *numEdges)
    List a graph's edges with their data. Leaving the data out when there are any is
    infinirtErrorLossyQuery.

GraphNodeGetDependencies(infinirtGraphNode_t node,
        fill(pNumDependencies) infinirtGraphNode_t *pDependencies, inout size_t *pNumDependencies)
    List the nodes that a node waits for.

GraphNodeGetDependencies_v2(infinirtGraphNode_t node,
        fill(pNumDependencies) infinirtGraphNode_t *pDependencies,
        fill(pNumDependencies) infinirtGraphEdgeData *edgeData, inout size_t *pNumDependencies)
    List the nodes that a node waits for, with the edges' data.

GraphNodeGetDependentNodes(infinirtGraphNode_t node,
        fill(pNumDependentNodes) infinirtGraphNode_t *pDependentNodes,
        inout size_t *pNumDependentNodes)
    List the nodes that wait for a node.

GraphNodeGetDependentNodes_v2(infinirtGraphNode_t node,
        fill(pNumDependentNodes) infinirtGraphNode_t *pDependentNodes,
        fill(pNumDependentNodes) infinirtGraphEdgeData *edgeData, inout size_t *pNumDependentNodes)
    List the nodes that wait for a node, with the edges' data.

GraphAddDependencies(infinirtGraph_t graph, list(numDependencies) const infinirtGraphNode_t *from,
        list(numDependencies) const infinirtGraphNode_t *to, size_t numDependencies)
    Add edges: to[i] waits for from[i]. An edge that exists already is an error.

GraphAddDependencies_v2(infinirtGraph_t graph,
        list(numDependencies) const infinirtGraphNode_t *from,
        list(numDependencies) const infinirtGraphNode_t *to,
        list?(numDependencies) const infinirtGraphEdgeData *edgeData, size_t numDependencies)
    Add edges with data.

GraphRemoveDependencies(infinirtGraph_t graph,
        list(numDependencies) const infinirtGraphNode_t *from,
        list(numDependencies) const infinirtGraphNode_t *to, size_t numDependencies)
    Remove edges. An edge that does not exist is an error.

GraphRemoveDependencies_v2(infinirtGraph_t graph,
        list(numDependencies) const infinirtGraphNode_t *from,
        list(numDependencies) const infinirtGraphNode_t *to,
        list?(numDependencies) const infinirtGraphEdgeData *edgeData, size_t numDependencies)
    Remove edges whose data match.

GraphDestroyNode(infinirtGraphNode_t node)
    Remove a node with all its edges. Nodes that allocate or free memory cannot be removed.

GraphDestroy(infinirtGraph_t graph)
    Destroy a graph with its nodes. What was instantiated from it stays.

GraphDebugDotPrint(infinirtGraph_t graph, in const char *path, unsigned int flags)
    Write a graph to a file in the DOT language; flags choose the details.

DeviceGraphMemTrim(int device)
    Give memory that graphs reserve but do not use back to the device.

DeviceGetGraphMemAttribute(int device, enum infinirtGraphMemAttributeType attr, out void *value)
    Tell how much memory graphs use or reserve, as an unsigned 64-bit number.

DeviceSetGraphMemAttribute(int device, enum infinirtGraphMemAttributeType attr, in void *value)
    Reset a high-water mark of graph memory; the number must be 0.

UserObjectCreate(out infinirtUserObject_t *object_out, ptr void *ptr, in infinirtHostFn_t destroy,
        unsigned int initialRefcount, unsigned int flags)
    Count the references to something; `destroy(ptr)` is called when none is left. `flags` must be
    infinirtUserObjectNoDestructorSync.

UserObjectRetain(infinirtUserObject_t object, unsigned int count = 1)
    Add references to an object.

UserObjectRelease(infinirtUserObject_t object, unsigned int count = 1)
    Take references away from an object.

GraphRetainUserObject(infinirtGraph_t graph, infinirtUserObject_t object, unsigned int count = 1,
        unsigned int flags = 0)
    Let a graph hold references; infinirtGraphUserObjectMove hands over the caller's own.

GraphReleaseUserObject(infinirtGraph_t graph, infinirtUserObject_t object, unsigned int count = 1)
    Take references away from a graph.
"""
