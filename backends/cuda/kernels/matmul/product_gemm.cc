// Products through a library with cuBLAS's classic API: one call with sizes and types, without
// descriptors. Its enumerators are in the vendor's table.
#include <algorithm>
#include <map>
#include <mutex>

#include "../../libraries.h"
#include "../../vendor.h"
#include "product_parts.h"

namespace infini::cuda {
namespace {

using Handle = void *;

struct Gemm {
    int (*create)(Handle *);
    int (*set_stream)(Handle, void *stream);
    int (*multiply)(Handle, int operation_a, int operation_b, int m, int n, int k,
                    const void *alpha, const void *a, int type_a, int leading_a, long long stride_a,
                    const void *b, int type_b, int leading_b, long long stride_b, const void *beta,
                    void *c, int type_c, int leading_c, long long stride_c, int batch,
                    int computation, int algorithm);

    // Null: the vendor's library has a different API, is missing, or lacks a function.
    static const Gemm *get() {
        static const Gemm gemm = [] {
            constexpr Part kPart = Part::kBlas;
            Gemm g{};
            if (!vendor.gemm) return g;
            g.create = function<decltype(g.create)>(kPart, "Create");
            g.set_stream = function<decltype(g.set_stream)>(kPart, "SetStream");
            g.multiply = function<decltype(g.multiply)>(kPart, "GemmStridedBatchedEx");
            return g;
        }();
        return gemm.create && gemm.set_stream && gemm.multiply ? &gemm : nullptr;
    }
};

// A handle has one stream at a time.
struct Session {
    Handle handle = nullptr;
    std::mutex lock;

    static Session *get(const Gemm &gemm, int device) {
        static std::mutex lock;
        static std::map<int, Session> sessions;
        std::lock_guard guard(lock);
        auto [place, added] = sessions.try_emplace(device);
        if (added) {
            use_device(device);
            if (gemm.create(&place->second.handle) != 0) place->second.handle = nullptr;
        }
        return place->second.handle ? &place->second : nullptr;
    }
};

int type_of(int dtype) {
    switch (dtype) {
        case INFINI_DTYPE_F32:
            return vendor.gemm->f32;
        case INFINI_DTYPE_F64:
            return vendor.gemm->f64;
        case INFINI_DTYPE_F16:
            return vendor.gemm->f16;
        case INFINI_DTYPE_BF16:
            return vendor.gemm->bf16;
        default:
            return -1;
    }
}

class GemmProduct final : public Product {
public:
    GemmProduct(const Gemm &gemm, Session &session) : gemm_(gemm), session_(session) {}

    // False: unsupported by the library.
    bool prepare(ProductShape s) {
        if (s.scaled || s.biased || s.epilogue || s.addend.dtype || s.k == 0) return false;
        if (s.a.dtype != s.b.dtype || s.a.dtype != s.c.dtype) return false;
        if ((type_ = type_of(s.a.dtype)) < 0) return false;
        is_wide_ = s.a.dtype == INFINI_DTYPE_F64;
        // The library is column-major: rows of c are columns of its transpose.
        if (s.c.column == 1) {
            is_swapped_ = true;
            std::swap(s.m, s.n), std::swap(s.a, s.b);
            for (Matrix *matrix : {&s.a, &s.b, &s.c}) std::swap(matrix->row, matrix->column);
        }
        if (s.c.row != 1 || s.c.column < s.m || (s.batch > 1 && s.c.batch == 0)) return false;
        if (!operand(s.a, s.m, s.k, a_) || !operand(s.b, s.k, s.n, b_)) return false;
        if (std::max({a_.leading, b_.leading, s.c.column, s.batch}) > INT32_MAX) return false;
        shape_ = s;
        return true;
    }

    Error run(const ProductData &data, const Stream &stream, char *) const override {
        const GemmNumbers &numbers = *vendor.gemm;
        const void *a = is_swapped_ ? data.b : data.a, *b = is_swapped_ ? data.a : data.b;
        const float alpha = float(data.alpha), beta = float(data.beta);
        const void *factor = is_wide_ ? &data.alpha : static_cast<const void *>(&alpha);
        const void *keep = is_wide_ ? &data.beta : static_cast<const void *>(&beta);
        std::lock_guard guard(session_.lock);
        use_device(stream.device.index);
        int status = gemm_.set_stream(session_.handle, stream.handle);
        if (status == 0)
            status = gemm_.multiply(
                session_.handle, a_.operation, b_.operation, int(shape_.m), int(shape_.n),
                int(shape_.k), factor, a, type_, int(a_.leading), shape_.a.batch, b, type_,
                int(b_.leading), shape_.b.batch, keep, data.c, type_, int(shape_.c.column),
                shape_.c.batch, int(shape_.batch),
                is_wide_ ? numbers.compute_f64 : numbers.compute_f32, numbers.algorithm);
        if (status == 0) [[likely]]
            return infinirtSuccess;
        return fail(infinirtErrorLaunchFailure, "%sGemmStridedBatchedEx returned %d",
                    vendor.libraries[int(Part::kBlas)].prefix, status);
    }

private:
    struct Operand {
        int operation = 0;
        int64_t leading = 0;
    };

    static bool operand(const Matrix &m, int64_t rows, int64_t columns, Operand &to) {
        if (m.batch < 0) return false;
        if (m.row == 1 && m.column >= std::max<int64_t>(rows, 1))
            to = {vendor.gemm->as_is, m.column};
        else if (m.column == 1 && m.row >= std::max<int64_t>(columns, 1))
            to = {vendor.gemm->transposed, m.row};
        else
            return false;
        return true;
    }

    const Gemm &gemm_;
    Session &session_;
    ProductShape shape_;
    Operand a_, b_;
    int type_ = -1;
    bool is_swapped_ = false, is_wide_ = false;
};

}  // namespace

std::shared_ptr<const Product> make_gemm_product(const ProductShape &shape, Device &device) {
    const Gemm *gemm = Gemm::get();
    Session *session = gemm ? Session::get(*gemm, device.index) : nullptr;
    if (!session) return nullptr;
    auto product = std::make_shared<GemmProduct>(*gemm, *session);
    return product->prepare(shape) ? product : nullptr;
}

}  // namespace infini::cuda
