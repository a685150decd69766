#include "rows.h"

namespace infini::cuda {

GateRows::GateRows(int dtype, int kind, int64_t rows, int64_t columns, Device &device) {
    const int64_t wide = int64_t(16 / dtype_bytes(dtype));
    const bool vector = columns % wide == 0;
    Source source("moe/gate_rows.cuh");
    kernel_ = device.compile(source.type("T", dtype).constant("kVector", vector));
    params_.rows = rows, params_.columns = columns, params_.kind = kind;
    blocks_ = device.blocks_for(rows * (vector ? columns / wide : columns), 256);
}

Error GateRows::run(void *to, const void *from, const Stream &stream, const float *scales,
                    const int *order, const int *count) const {
    GateRowsParams params = params_;
    params.to = to, params.from = from;
    params.scales = scales, params.order = order, params.count = count;
    return kernel_->launch(stream, blocks_, 256, params);
}

}  // namespace infini::cuda
