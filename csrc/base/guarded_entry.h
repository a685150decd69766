// Entries of a back end's tables that throw nothing into the core.
#pragma once

namespace infini {

// Calls `function`; when it throws, gives what `failed` gives.
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
