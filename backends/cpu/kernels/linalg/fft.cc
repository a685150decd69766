// fft: lines of complex numbers, given as two tensors of parts.
#include "linalg/fft.h"

namespace infini::cpu {
namespace {

template <class T>
std::unique_ptr<Plan> plan_fft_of(const Operation &operation) {
    constexpr int64_t kSide = 8;  // lines side by side
    const int last = operation.tensor(0).ndim - 1;
    // The inverse is the transform with the parts exchanged, on both sides.
    const bool inverse = operation.integer(0) != 0;
    const T scale = T(operation.number(1));
    const int swap = inverse ? 1 : 0;
    const Lines y_re(operation.tensor(0), last), y_im(operation.tensor(1), last);
    const Lines x_re(operation.tensor(2), last), x_im(operation.tensor(3), last);
    const int64_t n = x_re.size, count = x_re.count();
    if (n == 0 || count == 0) return make_plan([](const Arguments &) {});
    const auto fourier = std::make_shared<const Fourier<T>>(n);
    const int64_t side = std::min(count, kSide), blocks = (count + side - 1) / side;
    const int64_t numbers = (2 * n + fourier->room()) * side;
    auto body = [=](const Arguments &a, int64_t block, double *room) {
        T *re = reinterpret_cast<T *>(room), *im = re + n * side, *rest = im + n * side;
        const int64_t first = block * side, lines = std::min(side, count - first);
        auto load = [&](T *to, const Lines &from, int place) {
            for (int64_t i = 0; i < lines; ++i) {
                const T *at = a.pointer<T>(place) + from.offsets(first + i);
                for (int64_t k = 0; k < n; ++k) to[k * lines + i] = at[k * from.step];
            }
        };
        auto store = [&](const T *from, const Lines &to, int place) {
            for (int64_t i = 0; i < lines; ++i) {
                T *at = a.pointer<T>(place) + to.offsets(first + i);
                for (int64_t k = 0; k < n; ++k) at[k * to.step] = from[k * lines + i] * scale;
            }
        };
        load(swap ? im : re, x_re, 2);
        load(swap ? re : im, x_im, 3);
        fourier->run({re, im}, rest, lines);
        store(swap ? im : re, y_re, 0);
        store(swap ? re : im, y_im, 1);
    };
    const int64_t doubles = (numbers * int64_t(sizeof(T)) + 7) / 8;
    return plan_batch(blocks, doubles, n * side * 16, body);
}

std::unique_ptr<Plan> plan_fft(const Operation &operation) {
    return operation.tensor(0).dtype == INFINI_DTYPE_F64 ? plan_fft_of<double>(operation)
                                                         : plan_fft_of<float>(operation);
}

INFINI_KERNEL("fft", plan_fft);

}  // namespace
}  // namespace infini::cpu
