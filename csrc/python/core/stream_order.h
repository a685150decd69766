// Orders streams of one device, ours and those of other libraries, without a wait on the host.
#pragma once

#include "runtime.h"

namespace infini::python {

// Later work in `later` waits for the present work in `earlier`. False: not possible with these
// streams.
bool put_behind(infinicore::detail::DeviceRuntime &runtime, infinirtStream_t later,
                infinirtStream_t earlier);

}  // namespace infini::python
