// Chooses the implementation of a product: simplified first, then tiny, few rows, dots, or packed.
#include "matmul.h"

#include "direct.h"
#include "dots.h"
#include "gemv.h"
#include "integers.h"
#include "packed.h"
#include "tiny.h"

namespace infini::cpu {

namespace {

enum class Kind { kF32, kF64, kI8, kI16, kI32, kI64, kBF16, kTileI8, kTileBF16 };

Kind kind_of(const Matmul &p) {
    const bool i8 = p.a.dtype == INFINI_DTYPE_I8 && !p.weights;
    const bool bf16 =
        p.a.dtype == INFINI_DTYPE_BF16 && p.b.dtype == INFINI_DTYPE_BF16 && !p.weights;
#if defined(INFINI_AMX)
    if ((i8 || bf16) && amx_allowed()) return i8 ? Kind::kTileI8 : Kind::kTileBF16;
#endif
#if defined(INFINI_BF16_DOT)
    if (bf16) return Kind::kBF16;
#endif
    (void)bf16;
    switch (p.a.dtype) {
        case INFINI_DTYPE_I16:
            return Kind::kI16;
        case INFINI_DTYPE_I32:
            return Kind::kI32;
        case INFINI_DTYPE_I64:
            return Kind::kI64;
        case INFINI_DTYPE_F64:
            return Kind::kF64;
        default:
            return i8 ? Kind::kI8 : Kind::kF32;
    }
}

// Calls f(how) with a Packed<D> or another class for such products.
template <class D, class F>
auto with_packed(const Matmul &p, F &&f) {
#if defined(__AVX512F__)
    if constexpr (DirectTile<D>::kExists)
        if (Direct<D>::takes(p)) return f(Direct<D>(p));
#endif
    return f(Packed<D>(p));
}

template <class F>
auto with_kind(Kind kind, F &&f) {
    switch (kind) {
        case Kind::kF64:
            return f(Type<DotF64>{});
        case Kind::kI8:
            return f(Type<DotI8>{});
        case Kind::kI16:
            return f(Type<DotI16>{});
        case Kind::kI32:
            return f(Type<DotI32>{});
        case Kind::kI64:
            return f(Type<DotI64>{});
#if defined(INFINI_BF16_DOT)
        case Kind::kBF16:
            return f(Type<DotBF16>{});
#endif
#if defined(INFINI_AMX)
        case Kind::kTileI8:
            return f(Type<TileI8>{});
        case Kind::kTileBF16:
            return f(Type<TileBF16>{});
#endif
        default:
            return f(Type<DotF32>{});
    }
}

// Simplifies a product: merges a batch into the rows, or transposes c.
Matmul simplified(Matmul p) {
    if (p.batch > 1 && !p.epilogue && (p.weights || p.b.batch_stride == 0) &&
        p.a.batch_stride == p.m * p.a.row_stride && p.c.batch_stride == p.m * p.c.row_stride)
        p.m *= p.batch, p.batch = 1;
    const bool few_columns = p.n <= kFewRows && p.m > p.n;
    const bool transposed = p.c.col_stride != 1 && p.c.row_stride == 1 && p.m > kFewRows;
    if (!p.epilogue && !p.weights && !p.invariant && (few_columns || transposed)) {
        std::swap(p.m, p.n), std::swap(p.a, p.b);
        std::swap(p.a.row_stride, p.a.col_stride), std::swap(p.b.row_stride, p.b.col_stride);
        std::swap(p.c.row_stride, p.c.col_stride);
    }
    return p;
}

// Which kernel runs a product; for a batch-invariant one this does not depend on m. int8 sums are
// exact in all kernels.
enum class Way { kTiny, kBytes, kIntegers, kFewRows, kFewDoubles, kDots, kPacked };

Way way_of(const Matmul &p) {
    if (gemv_i8_takes(p)) return Way::kBytes;
    if (integer_rows_take(p)) return Way::kIntegers;
    if (p.invariant) return kind_of(p) == Kind::kF32 && dots_take(p) ? Way::kDots : Way::kPacked;
    if (tiny_takes(p)) return Way::kTiny;
    if (gemv_f64_takes(p)) return Way::kFewDoubles;
    return gemv_takes(p) ? Way::kFewRows : Way::kPacked;
}

size_t one_workspace(const Matmul &p) {
    switch (way_of(p)) {
        case Way::kTiny:
        case Way::kBytes:
            return 0;
        case Way::kIntegers:
            return integer_rows_workspace(p);
        case Way::kFewRows:
            return gemv_workspace(p);
        case Way::kFewDoubles:
            return gemv_f64_workspace(p);
        case Way::kDots:
            return dots_workspace(p);
        default:
            return with_kind(kind_of(p), [&]<class D>(Type<D>) {
                return with_packed<D>(p, [](const auto &way) { return way.workspace(); });
            });
    }
}

void one(const Matmul &p, void *workspace) {
    switch (way_of(p)) {
        case Way::kTiny:
            return tiny(p);
        case Way::kBytes:
            return gemv_i8(p);
        case Way::kIntegers:
            return integer_rows(p, workspace);
        case Way::kFewRows:
            return gemv(p, workspace);
        case Way::kFewDoubles:
            return gemv_f64(p, workspace);
        case Way::kDots:
            return dots(p, workspace);
        default:
            with_kind(kind_of(p), [&]<class D>(Type<D>) {
                with_packed<D>(p, [&](const auto &way) { way.run(workspace); });
            });
    }
}

int64_t dtype_bytes(int dtype) {
    switch (dtype) {
        case INFINI_DTYPE_F64:
        case INFINI_DTYPE_I64:
            return 8;
        case INFINI_DTYPE_F32:
        case INFINI_DTYPE_I32:
            return 4;
        case INFINI_DTYPE_I8:
        case INFINI_DTYPE_F8:
            return 1;
        default:
            return 2;
    }
}

Matmul member(const Matmul &p, int64_t index) {
    Matmul q = p;
    q.batch = 1, q.member = index;
    auto shift = [index](auto &data, int dtype, int64_t stride) {
        using Pointer = std::remove_reference_t<decltype(data)>;
        data = Pointer((const char *)data + index * stride * dtype_bytes(dtype));
    };
    shift(q.a.data, p.a.dtype, p.a.batch_stride);
    if (!p.weights) shift(q.b.data, p.b.dtype, p.b.batch_stride);
    shift(q.c.data, p.c.dtype, p.c.batch_stride);
    return q;
}

// How a batch is divided: into `slots` runs of members, each on one thread, or (0) member by
// member, each with all threads.
struct Division {
    int64_t slots = 0;
    size_t each = 0;  // bytes of workspace per slot
};

Division divide(const Matmul &p) {
    constexpr int64_t kSmall = 1 << 22;  // multiplications; larger members use all threads
    Division d;
    const int64_t threads = p.threads ? int64_t(thread_count()) : 1;
    const int64_t work = p.m * p.n * std::max<int64_t>(p.k, 1);
    Matmul q = p;
    if (threads == 1 || work <= kSmall || p.batch >= 2 * threads) {
        q.threads = false;
        // Slots of 10 microseconds or more.
        int64_t most = std::max<int64_t>(1, p.batch * work / (128 << 10));
        d.slots = std::min({p.batch, most, threads * 4});
    }
    d.each = (one_workspace(q) + 63) / 64 * 64;
    return d;
}

}  // namespace

size_t matmul_workspace(const Matmul &product) {
    const Matmul p = simplified(product);
    if (p.m == 0 || p.n == 0 || p.batch == 0) return 0;
    if (p.batch == 1) return one_workspace(p);
    const Division d = divide(p);
    return d.each * size_t(std::max<int64_t>(d.slots, 1));
}

void matmul(const Matmul &product, void *workspace) {
    const Matmul p = simplified(product);
    if (p.m == 0 || p.n == 0 || p.batch == 0) return;
    if (p.batch == 1) return one(p, workspace);
    const Division d = divide(p);
    if (d.slots == 0) {
        for (int64_t i = 0; i < p.batch; ++i) one(member(p, i), workspace);
        return;
    }
    maybe_parallel(p.threads, d.slots, 1, [&](size_t begin, size_t end) {
        for (size_t slot = begin; slot < end; ++slot) {
            char *space = static_cast<char *>(workspace) + slot * d.each;
            const int64_t first = p.batch * int64_t(slot) / d.slots;
            const int64_t last = p.batch * int64_t(slot + 1) / d.slots;
            for (int64_t i = first; i < last; ++i) {
                Matmul q = member(p, i);
                q.threads = false;
                one(q, space);
            }
        }
    });
}

}  // namespace infini::cpu
