// Streams of one device in order, without the host's waiting: ours and those of other libraries.
#pragma once

#include "runtime.h"

namespace infini::python {

// What comes next in `later` waits for what is in `earlier` now. False: the runtime can't do it
// with these streams.
bool put_behind(infinicore::detail::DeviceRuntime &runtime, infinirtStream_t later,
                infinirtStream_t earlier);

}  // namespace infini::python
