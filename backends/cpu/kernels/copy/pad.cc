// pad: maps positions of the output to positions of the input, for each dimension.
#include <algorithm>
#include <cstring>
#include <vector>

#include "index/offsets.h"
#include "kernel.h"
#include "pad_case.h"
#include "threads.h"
#include "types.h"

namespace infini::cpu {
namespace {

using Mode = PadMode;

// The index into an input of `size` elements that corresponds to `at`; -1: the constant.
int64_t place_of(Mode mode, int64_t at, int64_t size) {
    if (at >= 0 && at < size) return at;
    switch (mode) {
        case Mode::kReflect:
            return at < 0 ? -at : 2 * (size - 1) - at;
        case Mode::kReplicate:
            return at < 0 ? 0 : size - 1;
        case Mode::kCircular:
            at += at < 0 ? size : -size;  // usually wraps only once: a division takes longer
            return at >= 0 && at < size ? at : ((at % size) + size) % size;
        default:
            return -1;
    }
}

struct Map {
    Mode mode = Mode::kConstant;
    int64_t before = 0;  // output elements before the input's; negative: cropped
    int64_t size = 0;    // of the input

    int64_t place(int64_t at) const { return place_of(mode, at - before, size); }
};

template <class E>
struct Pad {
    Shape to, from;
    std::vector<Map> maps;
    E value;
    int64_t rows = 1;

    // Of each row, [low, high) is copied; `edges` has the input's places of the other elements.
    int64_t low = 0, high = 0;
    std::vector<int64_t> edges = {};

    void prepare_row() {
        const Map &map = maps.back();
        const int64_t size = to.size[to.ndim - 1];
        low = std::clamp<int64_t>(map.before, 0, size);
        high = std::clamp(map.before + from.size[from.ndim - 1], low, size);
        for (int64_t i = 0; i < low; ++i) edges.push_back(map.place(i));
        for (int64_t i = high; i < size; ++i) edges.push_back(map.place(i));
    }

    // Fills one row along the last dimension.
    void row(E *out, const E *in) const {
        const int64_t size = to.size[to.ndim - 1], step = to.stride[to.ndim - 1];
        const int64_t in_step = from.stride[from.ndim - 1];
        const int64_t *place = edges.data();
        auto edge = [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i, ++place)
                out[i * step] = *place < 0 ? value : in[*place * in_step];
        };
        const E *first = in + (low - maps.back().before) * in_step;
        edge(0, low);
        if (step == 1 && in_step == 1)
            copy_short(reinterpret_cast<char *>(out + low), reinterpret_cast<const char *>(first),
                       size_t(high - low) * sizeof(E));
        else
            for (int64_t i = low; i < high; ++i) out[i * step] = first[(i - low) * in_step];
        edge(high, size);
    }

    void run(E *out, const E *in) const {
        const int64_t size = to.size[to.ndim - 1], step = to.stride[to.ndim - 1];
        const size_t grain = size_t(std::max<int64_t>(1, 16384 / size));
        parallel_for(size_t(rows), grain, [&](size_t begin, size_t end) {
            Row now(*this, int64_t(begin));
            for (size_t i = begin;; now.move()) {
                const Place &place = now.places[to.ndim - 1];
                if (place.constant)
                    for (int64_t j = 0; j < size; ++j) out[place.out + j * step] = value;
                else
                    row(out + place.out, in + place.in);
                if (++i == end) return;
            }
        });
    }

private:
    // The location of a row: places[d] accumulates the dimensions before d.
    struct Place {
        int64_t out = 0, in = 0;
        bool constant = false;
    };
    struct Row {
        const Pad &pad;
        int64_t at[Shape::kMost];
        Place places[Shape::kMost];

        Row(const Pad &pad, int64_t index) : pad(pad) {
            for (int d = pad.to.ndim - 2; d >= 0; --d) {
                at[d] = index % pad.to.size[d];
                index /= pad.to.size[d];
            }
            locate(0);
        }
        void locate(int from) {
            for (int d = from; d + 1 < pad.to.ndim; ++d) {
                const int64_t place = pad.maps[size_t(d)].place(at[d]);
                places[d + 1] = {places[d].out + at[d] * pad.to.stride[d],
                                 places[d].in + place * pad.from.stride[d],
                                 places[d].constant || place < 0};
            }
        }
        void move() {
            int d = pad.to.ndim - 2;
            for (; d > 0 && at[d] + 1 == pad.to.size[d]; --d) at[d] = 0;
            ++at[d];
            locate(d);
        }
    };
};

template <class E>
std::unique_ptr<Plan> make_pad(Pad<E> pad, int dtype, double value, int64_t total) {
    store_as(dtype, &pad.value, 0, value);
    if (total) pad.prepare_row();
    return make_plan([pad = std::move(pad), total](const Arguments &a) {
        if (total) pad.run(a.pointer<E>(0), a.pointer<E>(1));
    });
}

std::unique_ptr<Plan> plan_pad(const Operation &operation) {
    const PadCase given(operation);
    const Tensor y = operation.tensor(0), x = operation.tensor(1);
    // A 0-dimensional tensor is treated as a line of one element.
    const int64_t one[1] = {1};
    const Tensor to = y.ndim ? y : Tensor{y.dtype, 1, one, one};
    const Tensor from = x.ndim ? x : Tensor{x.dtype, 1, one, one};

    std::vector<Map> maps(size_t(to.ndim));
    int64_t rows = 1;
    for (int d = 0; d < to.ndim; ++d) {
        maps[size_t(d)] = {given.mode, y.ndim ? given.before[d] : 0, from.shape[d]};
        if (d + 1 < to.ndim) rows *= to.shape[d];
    }
    auto make = [&]<class E>(E) {
        return make_pad<E>({Shape(to), Shape(from), std::move(maps), E(), rows}, to.dtype,
                           given.value, to.numel());
    };
    switch (infiniSizeOf(infiniDtype_t(to.dtype))) {
        case 1:
            return make(uint8_t());
        case 2:
            return make(uint16_t());
        case 4:
            return make(uint32_t());
        default:
            return make(uint64_t());
    }
}

INFINI_KERNEL("pad", plan_pad);

}  // namespace
}  // namespace infini::cpu
