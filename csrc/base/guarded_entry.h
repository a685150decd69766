// Keeps exceptions of a back end's table entries out of the core.
#pragma once

namespace infini {

// Calls `function`; if it throws, returns the result of `failed`.
template <auto function, auto failed, class... Parameters>
int guarded(Parameters... parameters) try {
    return function(parameters...);
} catch (...) {
    return failed();
}

template <auto function, auto failed, class... Parameters>
constexpr auto guarded_entry(int (*)(Parameters...)) {
    return &guarded<function, failed, Parameters...>;
}

}  // namespace infini
