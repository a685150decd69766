// How the text of gather programs reads elements and indices.
#pragma once

#include "gather_params.h"

namespace infini::gathered {

template <class V, class U>
INFINI_DEVICE V load_element(U x) {
    return convert<V>(x);
}
INFINI_DEVICE int64_t load_index(bool wide, const void *data, int64_t at) {
    return wide ? static_cast<const int64_t *>(data)[at] : static_cast<const int32_t *>(data)[at];
}

}  // namespace infini::gathered
