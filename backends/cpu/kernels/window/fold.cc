// fold: sums overlapping windows into an image.
#include <string>

#include "floats.h"
#include "kernel.h"
#include "threads.h"
#include "window/fold_rows.h"
#include "window/windows.h"

namespace infini::cpu {
namespace {

constexpr int64_t kRow = 512;  // elements processed at a time

struct FoldImages {
    FoldShape shape;
    int64_t batch = 0, channels = 0;
    int64_t to[4] = {}, from[3] = {};  // strides

    template <class T>
    void run(T *image, const T *columns) const {
        const int64_t height = shape.image[1], width = shape.image[2];
        const int64_t parts = (width + kRow - 1) / kRow, rows = batch * channels * height;
        const size_t grain =
            size_t(std::max<int64_t>(1, 16384 / (std::min(width, kRow) * shape.tap_count() + 1)));
        parallel_for(size_t(rows * parts), grain, [&](size_t begin, size_t end) {
            for (int64_t at = int64_t(begin); at < int64_t(end); ++at) {
                const int64_t first = at % parts * kRow, row = at / parts % height;
                const int64_t channel = at / parts / height % channels;
                const int64_t n = std::min(kRow, width - first);
                const int64_t each = at / parts / height / channels;
                using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
                C sums[kRow] = {};
                add_windows(shape, columns + each * from[0] + channel * shape.tap_count() * from[1],
                            from[1], from[2], 0, row, first, n, sums);
                store_strided(image + each * to[0] + channel * to[1] + row * to[2] + first * to[3],
                              sums, size_t(n), to[3]);
            }
        });
    }
};

std::unique_ptr<Plan> plan_fold(const Operation &operation) {
    const Tensor y = operation.tensor(0), x = operation.tensor(1);
    FoldImages fold;
    FoldShape &s = fold.shape;
    fold.batch = y.size(0), fold.channels = y.size(1);
    for (int i = 0; i < 4; ++i) fold.to[i] = y.stride(i);
    for (int i = 0; i < 3; ++i) fold.from[i] = x.stride(i);
    read_list(operation, 0, 2, 0, "output_size", s.image);
    read_list(operation, 1, 2, 1, "kernel_sizes", s.taps);
    read_list(operation, 2, 2, 1, "strides", s.step);
    read_list(operation, 3, 2, 0, "paddings", s.pad);
    read_list(operation, 4, 2, 1, "dilations", s.dilation);
    for (int d = 1; d < FoldShape::kDims; ++d) {
        const int64_t room = s.image[d] + 2 * s.pad[d] - s.dilation[d] * (s.taps[d] - 1) - 1;
        s.windows[d] = room < 0 ? 0 : room / s.step[d] + 1;
    }
    if (x.size(2) != s.window_count())
        throw Refusal{INFINI_STATUS_BAD_TENSOR_SHAPE,
                      "fold: the input has " + std::to_string(x.size(2)) + " columns: expected " +
                          std::to_string(s.windows[1]) + " x " + std::to_string(s.windows[2])};
    const int dtype = y.dtype;
    return make_plan([fold, dtype](const Arguments &a) {
        if (fold.batch * fold.channels * fold.shape.image_size() == 0) return;
        auto run = [&]<class T>(Type<T>) { fold.run(a.pointer<T>(0), a.pointer<const T>(1)); };
        visit_float(dtype, run);
    });
}

INFINI_KERNEL("fold", plan_fold);

}  // namespace
}  // namespace infini::cpu
