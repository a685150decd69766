// fractional_max_pool: the windows' positions are computed per channel.
#include <algorithm>
#include <limits>
#include <vector>

#include "floats.h"
#include "threads.h"
#include "types.h"
#include "window/pool_rows.h"

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
        const int64_t channels = y.batch * y.channels;
        const int64_t work = y.elements() * kernel[0] * kernel[1] * kernel[2];
        const size_t grain = size_t(std::max<int64_t>(1, 8192 / std::max<int64_t>(1, work)));
        // Few channels are divided into bands of rows.
        const int64_t rows = y.size[0] * y.size[1];
        const int64_t bands = std::clamp<int64_t>(int64_t(thread_count()) * 4 / channels, 1, rows);
        parallel_for(size_t(channels * bands), grain, [&](size_t begin, size_t end) {
            Starts starts;
            Buffers<Computed<T>> buffers;
            for (int64_t at = int64_t(begin), last = -1; at < int64_t(end); ++at) {
                const int64_t channel = at / bands, band = at % bands;
                if (channel != last) find_starts(starts, samples, channel);
                last = channel;
                for (int64_t row = rows * band / bands; row < rows * (band + 1) / bands; ++row)
                    fold_row(to, found, from, starts, buffers, channel, row);
            }
        });
    }

private:
    using Starts = std::vector<int64_t>[kImageDims];  // of the windows, in each dimension
    template <class T>
    using Computed = std::conditional_t<std::is_same_v<T, double>, double, float>;
    template <class C>
    using IndexOf = typename IntegerOf<sizeof(C)>::type;
    // A row of the input.
    template <class C>
    struct Buffers {
        std::vector<C> folded, next;
        std::vector<IndexOf<C>> ids;

        void resize(size_t n) { folded.resize(n), next.resize(n), ids.resize(n); }
    };

    template <class T>
    void find_starts(Starts &starts, const T *samples, int64_t at) const {
        for (int dim = 0; dim < kImageDims; ++dim) {
            starts[dim].resize(size_t(y.size[dim]));
            const double u = sample(samples, at / y.channels, at % y.channels, dim);
            for (int64_t o = 0; o < y.size[dim]; ++o) starts[dim][size_t(o)] = first(dim, o, u);
        }
    }

    template <class T>
    void fold_row(T *to, int64_t *found, const T *from, const Starts &starts,
                  Buffers<Computed<T>> &buffers, int64_t at, int64_t row) const {
        using C = Computed<T>;
        const int64_t o0 = row / y.size[1], o1 = row % y.size[1];
        const int64_t channel = at % y.channels, image = at / y.channels;
        to += image * y.batch_stride + channel * y.channel_stride + o0 * y.stride[0] +
              o1 * y.stride[1];
        found += image * places.batch_stride + channel * places.channel_stride +
                 o0 * places.stride[0] + o1 * places.stride[1];
        from += image * x.batch_stride + channel * x.channel_stride;
        // The rows of the windows are folded into one: whole, unless windows are far apart.
        const int64_t size = x.size[2], outputs = y.size[2];
        const bool is_whole = outputs * kernel[2] >= size / 2;
        buffers.resize(size_t(size));
        const int64_t origin[2] = {starts[0][size_t(o0)], starts[1][size_t(o1)]};
        if (is_whole) fold_rows(buffers, from, origin, 0, size);
        for (int64_t o = 0; o < outputs; ++o) {
            const int64_t first2 = starts[2][size_t(o)];
            if (!is_whole) fold_rows(buffers, from, origin, first2, kernel[2]);
            C best = -std::numeric_limits<C>::infinity();
            IndexOf<C> id = 0;
            int64_t at2 = -1;
            best_in(buffers.folded.data() + first2, buffers.ids.data() + first2, kernel[2], 1, best,
                    id, at2);
            const int64_t d = origin[0] + id / kernel[1], h = origin[1] + id % kernel[1];
            store_element(to[o * y.stride[2]], best);
            found[o * places.stride[2]] = (d * x.size[1] + h) * size + first2 + at2;
        }
    }

    // Elements [low, low + n) of all rows of a window: the largest, and the row of each.
    template <class T, class C>
    void fold_rows(Buffers<C> &buffers, const T *from, const int64_t *origin, int64_t low,
                   int64_t n) const {
        C *folded = buffers.folded.data() + low, *next = buffers.next.data();
        IndexOf<C> *ids = buffers.ids.data() + low;
        std::fill_n(ids, n, IndexOf<C>(0));
        for (int64_t id = 0; id < kernel[0] * kernel[1]; ++id) {
            const T *row = from + (origin[0] + id / kernel[1]) * x.stride[0] +
                           (origin[1] + id % kernel[1]) * x.stride[1] + low * x.stride[2];
            load_strided(id ? next : folded, row, size_t(n), x.stride[2]);
            if (id) fold_row_places(folded, ids, next, IndexOf<C>(id), n);
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
