// fractional_max_pool: the windows' positions are computed per image.
#include <limits>

#include "floats.h"
#include "threads.h"
#include "types.h"
#include "window/windows.h"

namespace infini::cpu {
namespace {

struct Fractional {
    Image x, y, places;
    int rank = 0;
    int64_t samples_stride[3] = {0, 0, 0};
    int64_t kernel[kImageDims] = {1, 1, 1};

    // The start of window o of a dimension.
    int64_t first(int dim, int64_t o, double u) const {
        const int64_t room = x.size[dim] - kernel[dim], count = y.size[dim];
        if (o == count - 1) return room;
        const double step = double(room) / double(std::max<int64_t>(count - 1, 1));
        const int64_t at = int64_t((double(o) + u) * step) - int64_t(u * step);
        return std::min(at, room);
    }

    template <class T>
    double sample(const T *samples, int64_t image, int64_t channel, int dim) const {
        const int own = dim - (kImageDims - rank);
        if (own < 0) return 0;
        const T *data = samples + image * samples_stride[0] + channel * samples_stride[1];
        const double u = load_element<double>(data[own * samples_stride[2]]);
        return u > 0 ? std::min(u, 1 - 0x1p-24) : 0;
    }

    template <class T>
    void run(T *to, int64_t *found, const T *from, const T *samples) const {
        const int64_t rows = y.batch * y.channels * y.size[0] * y.size[1];
        const int64_t window = kernel[0] * kernel[1] * kernel[2];
        const size_t grain =
            size_t(std::max<int64_t>(1, 8192 / std::max<int64_t>(1, window * y.size[2])));
        parallel_for(size_t(rows), grain, [&](size_t begin, size_t end) {
            for (int64_t at = int64_t(begin); at < int64_t(end); ++at)
                row(to, found, from, samples, at);
        });
    }

private:
    template <class T>
    void row(T *to, int64_t *found, const T *from, const T *samples, int64_t at) const {
        using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
        const int64_t o1 = at % y.size[1], o0 = at / y.size[1] % y.size[0];
        at /= y.size[1] * y.size[0];
        const int64_t channel = at % y.channels, image = at / y.channels;
        to += image * y.batch_stride + channel * y.channel_stride + o0 * y.stride[0] +
              o1 * y.stride[1];
        found += image * places.batch_stride + channel * places.channel_stride +
                 o0 * places.stride[0] + o1 * places.stride[1];
        from += image * x.batch_stride + channel * x.channel_stride;
        const int64_t first0 = first(0, o0, sample(samples, image, channel, 0));
        const int64_t first1 = first(1, o1, sample(samples, image, channel, 1));
        const double u = sample(samples, image, channel, 2);
        for (int64_t o2 = 0; o2 < y.size[2]; ++o2) {
            const int64_t first2 = first(2, o2, u);
            C best = -std::numeric_limits<C>::infinity();
            int64_t place = -1;
            for (int64_t d = first0; d < first0 + kernel[0]; ++d)
                for (int64_t h = first1; h < first1 + kernel[1]; ++h)
                    for (int64_t w = first2; w < first2 + kernel[2]; ++w) {
                        const T *element =
                            from + d * x.stride[0] + h * x.stride[1] + w * x.stride[2];
                        const C value = load_element<C>(*element);
                        const bool nan = value != value && best == best;
                        if (value > best || nan || place < 0)
                            best = value, place = (d * x.size[1] + h) * x.size[2] + w;
                    }
            store_element(to[o2 * y.stride[2]], best);
            found[o2 * places.stride[2]] = place;
        }
    }
};

std::unique_ptr<Plan> plan_fractional(const Operation &operation) {
    Fractional pool;
    pool.rank = int(operation.integer(2));
    pool.y = Image(operation.tensor(0)), pool.places = Image(operation.tensor(1));
    pool.x = Image(operation.tensor(2));
    const Tensor samples = operation.tensor(3);
    for (int i = 0; i < 3; ++i) pool.samples_stride[i] = samples.stride(i);
    check_fractional(operation, pool.rank, pool.x.size, pool.y.size, pool.kernel);
    return make_plan([pool](const Arguments &a) {
        if (pool.y.batch * pool.y.channels * pool.y.elements() == 0) return;
        auto run = [&]<class T>(Type<T>) {
            pool.run(a.pointer<T>(0), a.pointer<int64_t>(1), a.pointer<const T>(2),
                     a.pointer<const T>(3));
        };
        visit_float(pool.x.dtype, run);
    });
}

INFINI_KERNEL("fractional_max_pool", plan_fractional);

}  // namespace
}  // namespace infini::cpu
