// A call of the vendor's runtime from the driver table: INFINI_CALL(Malloc, &memory, bytes) calls
// the function of that name and of the declared type, and sets the message of an error.
#pragma once

#include "runtime/forward.h"

namespace infini::cuda {

template <class... Parameters, class... Arguments>
Error call_vendor(const char *word, Error (*function)(Parameters...), Arguments... arguments) {
    if (!function) [[unlikely]]
        return absent(word);
    Error error = function(arguments...);
    if (error == infinirtSuccess) [[likely]]
        return error;
    return check(Part::kRuntime, error, word);
}

#define INFINI_CALL(word, ...)                                                                   \
    [&] {                                                                                        \
        static const auto function = reinterpret_cast<decltype(&infinirt##word)>(target(#word)); \
        return call_vendor(#word, function __VA_OPT__(, ) __VA_ARGS__);                          \
    }()

}  // namespace infini::cuda
