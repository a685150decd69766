#include "stream_order.h"

namespace infini::python {

bool put_behind(infinicore::detail::DeviceRuntime &runtime, infinirtStream_t later,
                infinirtStream_t earlier) {
    if (later == earlier) return true;
    infinicore::detail::RuntimeScope scope(runtime);
    infinirtEvent_t event = nullptr;
    if (infinirtEventCreateWithFlags(&event, INFINIRT_EVENT_DISABLE_TIMING)) return false;
    const bool done =
        !infinirtEventRecord(event, earlier) && !infinirtStreamWaitEvent(later, event);
    infinirtEventDestroy(event);  // the driver keeps it until it has completed
    return done;
}

}  // namespace infini::python
