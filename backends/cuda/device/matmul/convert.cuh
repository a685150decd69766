// Elements of one type as another, or an identity matrix. The host gives From and To.
#include "rows_params.h"

INFINI_ENTRY(infini::ConvertParams, 256, 1) {
    using namespace infini;
    const From *from = static_cast<const From *>(p.from);
    To *to = static_cast<To *>(p.to);
    for (int64_t i = grid_thread(); i < p.count; i += grid_threads())
        to[i] = from ? convert<To>(from[i]) : convert<To>(int(i / p.side == i % p.side));
}
