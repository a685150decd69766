// argmax and argmin: the index of the largest or smallest element over some dimensions, the first
// among equals; the first NaN, if there is one.
//
// Along rows, whole blocks are folded, and a block is searched only if it is better than all
// before. If rows are adjacent, or too short for a loop each, a tile of them is compared line by
// line.
#include <algorithm>

#include "convert.h"
#include "index/offsets.h"
#include "kernel.h"
#include "program/fold.h"
#include "threads.h"

namespace infini::cpu {
namespace {

using program::beats;
using program::fold_block;

constexpr int64_t kBlock = 1024, kTile = 256, kPiece = 32768, kShort = 32, kFewRows = 4;

// The dimensions of a row, outermost first, merged where possible.
struct Folded {
    int count = 0;
    int64_t size[Shape::kMost], stride[Shape::kMost], total = 1;

    void add(int64_t n, int64_t step) {
        total *= n;
        if (n == 1) return;
        if (count && stride[count - 1] == n * step)
            size[count - 1] *= n, stride[count - 1] = step;
        else
            size[count] = n, stride[count++] = step;
    }
    int64_t step() const { return count ? stride[count - 1] : 0; }
    // The offset of an element, and how many equally spaced elements follow from it.
    int64_t locate(int64_t at, int64_t *run) const {
        int64_t offset = 0;
        *run = 1;
        for (int i = count - 1; i >= 0; --i) {
            const int64_t here = at % size[i];
            if (i == count - 1) *run = size[i] - here;
            offset += here * stride[i];
            at /= size[i];
        }
        return offset;
    }
};

template <class C>
struct Best {
    C value;
    int64_t index;  // -1: none yet
};

struct Arg {
    int fold, dtype;
    int64_t bytes;
    Offsets from, to;  // offsets of rows
    Folded folded;
    int64_t rows = 1;
    bool across = false;
    int64_t columns = 1, lane = 1;  // across: adjacent rows, and their distance
    int64_t tiles = 1, groups = 1;  // across: tiles per `columns`, and in total; else rows
    int64_t pieces = 1;             // chunks per row

    int64_t begin(int64_t piece) const { return folded.total * piece / pieces; }
};

template <class C>
constexpr int kDirect = std::is_same_v<C, float>     ? INFINI_DTYPE_F32
                        : std::is_same_v<C, double>  ? INFINI_DTYPE_F64
                        : std::is_same_v<C, int32_t> ? INFINI_DTYPE_I32
                                                     : INFINI_DTYPE_I64;

template <class C>
void fetch(const Arg &arg, C *values, const char *data, int64_t n, int64_t step) {
    load_dtype(values, data, arg.dtype, size_t(n), step);
    if constexpr (std::is_same_v<C, int64_t>)
        if (arg.dtype == INFINI_DTYPE_U64)  // maps to the order of signed numbers
            for (int64_t i = 0; i < n; ++i) values[i] ^= std::numeric_limits<int64_t>::min();
}

template <class C>
int64_t find(const C *x, int64_t n, C value) {
    using V = Vec<C>;
    constexpr int64_t kLanes = kWidth<C>;
    const bool nan = value != value;
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        const V v = load<V>(x + i);
        if (nan ? any(v != v) : any(v == broadcast<V>(value))) break;
    }
    for (; i < n; ++i)
        if (nan ? x[i] != x[i] : x[i] == value) return i;
    return n;
}

template <class C>
void improve(int fold, Best<C> &best, const C *x, int64_t n, int64_t first) {
    const C value = fold_block(fold, x, size_t(n));
    if (best.index >= 0 && !beats(fold, value, best.value)) return;
    best = {value, first + find(x, n, value)};
}

template <class C>
Best<C> along(const Arg &arg, const char *row, int64_t begin, int64_t end) {
    C values[kBlock];
    Best<C> best{C(0), -1};
    const bool direct = arg.dtype == kDirect<C> && arg.folded.step() == 1;
    for (int64_t at = begin; at < end;) {
        int64_t n, run;
        if (direct) {
            const int64_t offset = arg.folded.locate(at, &run);
            n = std::min({run, end - at, 4 * kBlock});
            improve(arg.fold, best, reinterpret_cast<const C *>(row) + offset, n, at);
        } else {
            n = std::min(kBlock, end - at);
            for (int64_t i = 0; i < n; i += run) {
                const int64_t offset = arg.folded.locate(at + i, &run);
                run = std::min(run, n - i);
                fetch(arg, values + i, row + offset * arg.bytes, run, arg.folded.step());
            }
            improve(arg.fold, best, values, n, at);
        }
        if (best.value != best.value) break;
        at += n;
    }
    return best;
}

// Processes `n` neighbouring rows, lines [begin, end) of them.
template <class C, bool least>
void across(const Arg &arg, const char *rows, int64_t begin, int64_t end, int64_t n, Best<C> *out) {
    using V = Vec<C>;
    using I = Bits<V>;
    constexpr int64_t kLanes = kWidth<C>;
    C values[kTile], best[kTile];
    Element<I> index[kTile];
    // The last vector begins earlier if it would end behind the last row; a single one is filled up.
    const int64_t whole = std::max(n, kLanes), last = whole - kLanes;
    std::fill_n(values, kLanes, C(0));
    std::fill_n(best, kLanes, C(0));
    std::fill_n(index, whole, Element<I>(0));
    auto better = [](auto x, auto b) {
        auto mask = least ? x < b : x > b;
        if constexpr (std::is_floating_point_v<C>) mask |= (x != x) & (b == b);
        return mask;
    };
    for (int64_t line = begin; line < end; ++line) {
        const char *data = rows + line * arg.folded.step() * arg.bytes;
        const C *x = values;
        if (arg.dtype == kDirect<C> && arg.lane == 1 && n >= kLanes)
            x = reinterpret_cast<const C *>(data);
        else
            fetch(arg, values, data, n, arg.lane);
        if (line == begin) {
            std::copy_n(x, n, best);
            continue;
        }
        const auto number = Element<I>(line - begin);
        for (int64_t i = 0; i < n; i += kLanes) {
            const int64_t at = std::min(i, last);
            const V now = load<V>(x + at), before = load<V>(best + at);
            const auto mask = better(now, before);
            store(best + at, select(mask, now, before));
            store(index + at, select(mask, broadcast<I>(number), load<I>(index + at)));
        }
    }
    for (int64_t i = 0; i < n; ++i) out[i] = {best[i], begin + index[i]};
}

// Of rows of one element.
std::unique_ptr<Plan> plan_zeros(const Offsets &to) {
    return make_plan([=](const Arguments &a) {
        parallel_for(size_t(to.count()), 16384, [&](size_t begin, size_t end) {
            int64_t at[kTile];
            for (int64_t first = int64_t(begin); first < int64_t(end); first += kTile) {
                const int64_t n = std::min(kTile, int64_t(end) - first);
                to.fill(first, n, at);
                for (int64_t i = 0; i < n; ++i) a.pointer<int64_t>(0)[at[i]] = 0;
            }
        });
    });
}

template <class C>
std::unique_ptr<Plan> plan_as(const Arg &arg) {
    if (arg.folded.total == 1) return plan_zeros(arg.to);
    const int64_t width = arg.across ? kTile : 1, work = arg.folded.total * width / arg.pieces;
    const size_t grain = size_t(std::max<int64_t>(1, 16384 / std::max<int64_t>(work, 1)));
    auto run = [=](const Arguments &a) {
        int64_t *result = a.pointer<int64_t>(0);
        const char *data = a.pointer<const char>(1);
        auto *parts = reinterpret_cast<Best<C> *>(a.workspace());
        // The first row and the number of rows of a group.
        auto rows_of = [&](int64_t group, int64_t *first) {
            if (!arg.across) return *first = group, int64_t(1);
            const int64_t column = group % arg.tiles * kTile;
            *first = group / arg.tiles * arg.columns + column;
            return std::min(kTile, arg.columns - column);
        };
        parallel_for(size_t(arg.groups * arg.pieces), grain, [&](size_t from, size_t until) {
            for (int64_t task = int64_t(from); task < int64_t(until); ++task) {
                const int64_t piece = task % arg.pieces;
                const int64_t begin = arg.begin(piece), end = arg.begin(piece + 1);
                int64_t first;
                const int64_t n = rows_of(task / arg.pieces, &first);
                const char *row = data + arg.from(first) * arg.bytes;
                Best<C> here[kTile];
                Best<C> *best = arg.pieces > 1 ? parts + task * width : here;
                if (!arg.across)
                    best[0] = along<C>(arg, row, begin, end);
                else if (arg.fold == INFINI_FOLD_ARGMIN)
                    across<C, true>(arg, row, begin, end, n, best);
                else
                    across<C, false>(arg, row, begin, end, n, best);
                if (arg.pieces == 1)
                    for (int64_t i = 0; i < n; ++i) result[arg.to(first + i)] = best[i].index;
            }
        });
        for (int64_t group = 0; arg.pieces > 1 && group < arg.groups; ++group) {
            int64_t first;
            const int64_t n = rows_of(group, &first);
            const Best<C> *all = parts + group * arg.pieces * width;
            for (int64_t i = 0; i < n; ++i) {
                Best<C> best = all[i];
                for (int64_t piece = 1; piece < arg.pieces; ++piece) {
                    const Best<C> &other = all[piece * width + i];
                    if (beats(arg.fold, other.value, best.value)) best = other;
                }
                result[arg.to(first + i)] = best.index;
            }
        }
    };
    const int64_t kept = arg.pieces > 1 ? arg.groups * arg.pieces * width : 0;
    return make_plan(run, size_t(kept) * sizeof(Best<C>));
}

std::unique_ptr<Plan> plan_arg(const Operation &operation) {
    const int fold = operation.is("argmin") ? INFINI_FOLD_ARGMIN : INFINI_FOLD_ARGMAX;
    const Tensor output = operation.tensor(0), input = operation.tensor(1);
    bool folded[Shape::kMost] = {};
    const int64_t *dims = operation.list(0);
    for (size_t i = 0; dims && i < operation.count(0); ++i) folded[dims[i]] = true;
    if (!dims) folded[operation.integer(0)] = true;  // no list means dimension 0
    Arg arg;
    arg.fold = fold;
    arg.dtype = input.dtype;
    visit_dtype(input.dtype, [&]<class T>(Type<T>) { arg.bytes = int64_t(sizeof(T)); });
    int64_t sizes[Shape::kMost], in[Shape::kMost], out[Shape::kMost];
    int kept = 0, last = -1;
    for (int i = 0; i < input.ndim; ++i) {
        if (folded[i]) {
            arg.folded.add(input.shape[i], input.strides[i]);
            continue;
        }
        sizes[kept] = input.shape[i], in[kept] = input.strides[i];
        out[kept] = output.strides[output.ndim == input.ndim ? i : kept];
        arg.rows *= sizes[kept++];
        last = i;
    }
    arg.from = Offsets({input.dtype, kept, sizes, in}, 0, kept);
    arg.to = Offsets({output.dtype, kept, sizes, out}, 0, kept);
    if (last >= 0 && arg.folded.count == 1 &&
        arg.folded.total < std::numeric_limits<int32_t>::max()) {
        arg.columns = input.size(last), arg.lane = input.stride(last);
        arg.across = arg.lane == 1 && arg.columns >= kFewRows && arg.folded.step() != 1;
        if (!arg.across && arg.folded.total <= kShort && arg.from.even()) {
            arg.columns = arg.rows, arg.lane = arg.from.step();
            arg.across = arg.rows >= 16;
        }
    }
    arg.groups = arg.rows;
    if (arg.across) {
        arg.tiles = (arg.columns + kTile - 1) / kTile;
        arg.groups = arg.rows / arg.columns * arg.tiles;
    }
    const int64_t threads = int64_t(thread_count());
    const int64_t width = arg.across ? std::min(arg.columns, kTile) : 1;
    if (arg.groups > 0 && arg.groups < threads)
        arg.pieces = std::clamp<int64_t>(arg.folded.total * width / kPiece, 1, 4 * threads);
    arg.pieces = std::min(arg.pieces, arg.folded.total);

    switch (input.dtype) {
        case INFINI_DTYPE_F64:
            return plan_as<double>(arg);
        case INFINI_DTYPE_F16:
        case INFINI_DTYPE_BF16:
        case INFINI_DTYPE_F32:
            return plan_as<float>(arg);
        case INFINI_DTYPE_I64:
        case INFINI_DTYPE_U32:
        case INFINI_DTYPE_U64:
            return plan_as<int64_t>(arg);
        default:
            return plan_as<int32_t>(arg);
    }
}

INFINI_KERNEL("argmax", plan_arg);

}  // namespace
}  // namespace infini::cpu
