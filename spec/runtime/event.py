"""Events.

An event marks a point in a stream. Before its first record it counts as complete.
"""

FUNCTIONS = """
EventCreate(out infinirtEvent_t *event)
    Make an event that can measure time.

EventCreateWithFlags(out infinirtEvent_t *event, unsigned int flags)
    Make an event: waiting threads sleep (BlockingSync), no times (DisableTiming, the cheapest),
    usable in other processes (Interprocess, which asks for DisableTiming too).

EventRecord(infinirtEvent_t event, infinirtStream_t stream = 0)
    Mark the end of the work now in a stream; replaces an earlier record. Both must be of one
    device.

EventRecordWithFlags(infinirtEvent_t event, infinirtStream_t stream = 0, unsigned int flags = 0)
    As EventRecord. infinirtEventRecordExternal makes it a node of its own when captured.

EventQuery(infinirtEvent_t event)
    Success when the latest record has been reached, infinirtErrorNotReady when it has not.

EventSynchronize(infinirtEvent_t event)
    Wait until the latest record has been reached. [waits]

EventDestroy(infinirtEvent_t event)
    Destroy an event without waiting; what waits for it still gets its turn.

EventElapsedTime(out float *ms, infinirtEvent_t start, infinirtEvent_t end)
    Milliseconds between two recorded events that measure time. NotReady while either is pending.

EventElapsedTime_v2(out float *ms, infinirtEvent_t start, infinirtEvent_t end)
    The same as EventElapsedTime. [same as: EventElapsedTime] [symbol: EventElapsedTime_v2]
"""
