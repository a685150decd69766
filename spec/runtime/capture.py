"""Stream capture.

Between begin and end a stream records what is given to it as nodes of a graph and does none of it.
Events carry the capture over to other streams; all of them must be joined again before the end.
"""

FUNCTIONS = """
StreamBeginCapture(infinirtStream_t stream, enum infinirtStreamCaptureMode mode)
    Begin recording. The mode says which unsafe calls of which threads are refused meanwhile. The
    legacy null stream cannot be captured.

StreamBeginCaptureToGraph(infinirtStream_t stream, infinirtGraph_t graph,
        list(numDependencies) const infinirtGraphNode_t *dependencies,
        list?(numDependencies) const infinirtGraphEdgeData *dependencyData, size_t numDependencies,
        enum infinirtStreamCaptureMode mode)
    Begin recording into a graph that exists, behind nodes of it.

ThreadExchangeStreamCaptureMode(inout enum infinirtStreamCaptureMode *mode)
    Exchange the calling thread's capture mode, which decides what it may call, for the given one.

StreamEndCapture(infinirtStream_t stream, out infinirtGraph_t *pGraph)
    End recording and hand over the graph. If the capture became invalid, it ends with an error and
    null.

StreamIsCapturing(infinirtStream_t stream, out enum infinirtStreamCaptureStatus *pCaptureStatus)
    Tell whether a stream is recording, and whether what it records is still valid.

StreamGetCaptureInfo(infinirtStream_t stream,
        out enum infinirtStreamCaptureStatus *captureStatus_out,
        out? unsigned long long *id_out = 0, out? infinirtGraph_t *graph_out = 0,
        out? const infinirtGraphNode_t **dependencies_out = 0, out? size_t *numDependencies_out = 0)
    Tell a capture's state, number and graph, and the nodes that the next one will depend on. The
    array stays valid until the next call on that stream.
    [symbol: StreamGetCaptureInfo_v2]

StreamGetCaptureInfo_v3(infinirtStream_t stream,
        out enum infinirtStreamCaptureStatus *captureStatus_out,
        out? unsigned long long *id_out = 0, out? infinirtGraph_t *graph_out = 0,
        out? const infinirtGraphNode_t **dependencies_out = 0,
        out? const infinirtGraphEdgeData **edgeData_out = 0, out? size_t *numDependencies_out = 0)
    As StreamGetCaptureInfo, with the data of the edges. Leaving these out when there are any is
    infinirtErrorLossyQuery.

StreamUpdateCaptureDependencies(infinirtStream_t stream,
        list(numDependencies) infinirtGraphNode_t *dependencies, size_t numDependencies,
        unsigned int flags = 0)
    Add to, or replace, the nodes that the next recorded one will depend on.

StreamUpdateCaptureDependencies_v2(infinirtStream_t stream,
        list(numDependencies) infinirtGraphNode_t *dependencies,
        list?(numDependencies) const infinirtGraphEdgeData *dependencyData, size_t numDependencies,
        unsigned int flags = 0)
    As StreamUpdateCaptureDependencies, with data for the edges.
"""
