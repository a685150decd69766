// The log of what ran, for infinicore.profile.
#include <nanobind/stl/string.h>

#include "profiler.h"
#include "tensor_object.h"

using namespace nanobind::literals;

namespace infini::python {
namespace {

namespace core = infinicore::detail;

// (name, device, stream, thread, launched, returned, begin, end, bytes); times in nanoseconds of
// time.perf_counter_ns().
nb::list stop_profile(uint64_t profile) {
    std::vector<core::ProfileEntry> entries;
    {
        Unlocked released;  // it waits for devices
        entries = core::stop_profile(profile);
    }
    nb::list made;
    for (const core::ProfileEntry &each : entries)
        made.append(nb::make_tuple(each.name, nb::borrow(device_object(each.runtime->device)),
                                   reinterpret_cast<uintptr_t>(each.stream), each.thread,
                                   each.launched, each.returned, each.begin, each.end, each.bytes));
    return made;
}

}  // namespace

void bind_profile(nb::module_ &m) {
    m.def("start_profile", core::start_profile);
    m.def("stop_profile", stop_profile, "profile"_a);
}

}  // namespace infini::python
