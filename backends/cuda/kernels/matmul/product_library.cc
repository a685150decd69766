// Products through the vendor's library. Descriptors and the algorithm are created when planning; a
// run is one call.
#include <algorithm>
#include <mutex>
#include <string>

#include "../../libraries.h"
#include "library.h"
#include "product_parts.h"

namespace infini::cuda {
namespace {

constexpr uint64_t kMostProductWorkspace = 32 << 20;

// The library's enumerators for a product; false if it does not support the types.
struct Types {
    int in, out, computation, scale;

    bool find(const ProductShape &s) {
        const int a = s.a.dtype, c = s.c.dtype;
        if (a != s.b.dtype) return false;
        computation = blas::kCompute32F, scale = blas::kF32;
        switch (a) {
            case INFINI_DTYPE_F16:
                in = blas::kF16;
                break;
            case INFINI_DTYPE_BF16:
                in = blas::kBF16;
                break;
            case INFINI_DTYPE_F32:
                in = blas::kF32;
                if (s.tf32) computation = blas::kCompute32FFastTF32;
                break;
            case INFINI_DTYPE_F64:
                in = out = scale = blas::kF64, computation = blas::kCompute64F;
                return c == a;
            case INFINI_DTYPE_I8:
                in = blas::kI8, out = scale = blas::kI32, computation = blas::kCompute32I;
                return c == INFINI_DTYPE_I32;
            default:
                return false;
        }
        out = c == a ? in : blas::kF32;
        return c == a || c == INFINI_DTYPE_F32;
    }
};

// A matrix for the library: column-major with leading dimension `leading`.
struct Stored {
    int64_t rows, columns, leading;
    int operation;

    bool find(const Matrix &m, int64_t r, int64_t c) {
        if (m.row == 1 && m.column >= std::max<int64_t>(r, 1))
            rows = r, columns = c, leading = m.column, operation = blas::kAsIs;
        else if (m.column == 1 && m.row >= std::max<int64_t>(c, 1))
            rows = c, columns = r, leading = m.row, operation = blas::kTransposed;
        else
            return false;
        return m.batch >= 0;
    }
};

class LibraryProduct final : public Product {
public:
    LibraryProduct(const blas::Library &library, blas::Handle handle)
        : l_(library), handle_(handle) {}
    ~LibraryProduct() override {
        for (blas::Layout layout : {a_, b_, c_, addend_})
            if (layout) l_.layout_destroy(layout);
        if (description_) l_.describe_destroy(description_);
    }

    // False: unsupported by the library.
    bool prepare(ProductShape s) {
        Types types;
        if (s.scaled || s.epilogue || s.k == 0 || !types.find(s)) return false;
        // The library is column-major: rows of c are columns of its transpose.
        if (s.c.column == 1) {
            swapped_ = true;
            std::swap(s.m, s.n), std::swap(s.a, s.b);
            for (Matrix *matrix : {&s.a, &s.b, &s.c, &s.addend})
                std::swap(matrix->row, matrix->column);
        }
        has_addend_ = s.addend.dtype != 0;
        if (!has_addend_) s.addend = s.c;
        Stored a, b, c, addend;
        if (!a.find(s.a, s.m, s.k) || !b.find(s.b, s.k, s.n) || !c.find(s.c, s.m, s.n) ||
            !addend.find(s.addend, s.m, s.n) || c.operation != blas::kAsIs ||
            addend.operation != blas::kAsIs)
            return false;
        if (s.biased && !swapped_) return false;  // it adds the bias to columns
        if (s.batch > INT32_MAX || (s.batch > 1 && s.c.batch == 0)) return false;
        // int8 products require lines of whole 4-byte words.
        if (types.in == blas::kI8 && (a.leading % 16 || b.leading % 16 || s.m % 4 || s.k % 4))
            return false;
        wide_ = types.scale == blas::kF64, bytes_ = types.scale == blas::kI32;
        const bool made = layout(a_, types.in, a, s.batch, s.a.batch) &&
                          layout(b_, types.in, b, s.batch, s.b.batch) &&
                          layout(c_, types.out, c, s.batch, s.c.batch) &&
                          layout(addend_, types.out, addend, s.batch, s.addend.batch) &&
                          l_.describe(&description_, types.computation, types.scale) == 0;
        if (!made) return false;
        set(a.operation, blas::kTransposeA), set(b.operation, blas::kTransposeB);
        biased_ = s.biased;
        if (biased_) set(int(blas::kBias), blas::kEpilogue);
        const size_t element = dtype_bytes(s.a.dtype), stored = dtype_bytes(s.c.dtype);
        return choose(16, 16, usual_) && choose(element, stored, odd_);
    }

    Error run(const ProductData &data, const Stream &stream, char *memory) const override {
        const void *a = swapped_ ? data.b : data.a, *b = swapped_ ? data.a : data.b;
        const float alpha = float(data.alpha), beta = float(data.beta);
        const int32_t whole_alpha = int32_t(data.alpha), whole_beta = int32_t(data.beta);
        const void *factor = wide_ ? &data.alpha : bytes_ ? &whole_alpha : (const void *)&alpha;
        const void *keep = wide_ ? &data.beta : bytes_ ? &whole_beta : (const void *)&beta;
        const void *addend = has_addend_ ? data.addend : data.c;
        const bool aligned =
            is_aligned(a) && is_aligned(b) && is_aligned(data.c) && is_aligned(addend);
        const Chosen &chosen = aligned ? usual_ : odd_;
        std::unique_lock<std::mutex> lock;
        if (biased_) {  // the pointer is part of the descriptor
            lock = std::unique_lock(bias_lock_);
            l_.describe_set(description_, blas::kBiasPointer, &data.bias, sizeof data.bias);
        }
        const int status =
            l_.multiply(handle_, description_, factor, a, a_, b, b_, keep, addend, addend_, data.c,
                        c_, &chosen.algorithm, memory, chosen.workspace, stream.handle);
        if (status == 0) [[likely]]
            return infinirtSuccess;
        return fail(infinirtErrorLaunchFailure, "the product of matrices failed with code %d (%s)",
                    status, l_.status_name ? l_.status_name(status) : "");
    }

private:
    struct Chosen {
        blas::Algorithm algorithm;
        size_t workspace;
    };

    bool layout(blas::Layout &to, int type, const Stored &m, int64_t batch, int64_t stride) {
        if (l_.layout(&to, type, uint64_t(m.rows), uint64_t(m.columns), m.leading) != 0)
            return false;
        if (batch == 1) return true;
        const int32_t count = int32_t(batch);
        return l_.layout_set(to, blas::kBatchCount, &count, sizeof count) == 0 &&
               l_.layout_set(to, blas::kBatchStride, &stride, sizeof stride) == 0;
    }
    void set(int32_t value, int attribute) {
        l_.describe_set(description_, attribute, &value, sizeof value);
    }

    // The algorithm for pointers with at least that alignment.
    bool choose(size_t in, size_t out, Chosen &chosen) {
        blas::Preference preference = nullptr;
        if (l_.preference(&preference) != 0) return false;
        auto prefer = [&](int attribute, auto value) {
            l_.preference_set(preference, attribute, &value, sizeof value);
        };
        prefer(blas::kMostWorkspace, uint64_t(kMostProductWorkspace));
        prefer(blas::kReductions, blas::kReductionInComputeType);
        for (int attribute : {blas::kAlignmentA, blas::kAlignmentB})
            prefer(attribute, uint32_t(in));
        for (int attribute : {blas::kAlignmentC, blas::kAlignmentD})
            prefer(attribute, uint32_t(out));
        blas::Candidate best{};
        int found = 0;
        const int status =
            l_.choose(handle_, description_, a_, b_, addend_, c_, preference, 1, &best, &found);
        l_.preference_destroy(preference);
        if (status != 0 || found == 0 || best.state != 0) return false;
        chosen = {best.algorithm, best.workspace};
        workspace = std::max(workspace, padded(best.workspace));
        return true;
    }

    const blas::Library &l_;
    blas::Handle handle_;
    blas::Description description_ = nullptr;
    blas::Layout a_ = nullptr, b_ = nullptr, c_ = nullptr, addend_ = nullptr;
    Chosen usual_{}, odd_{};
    bool swapped_ = false, wide_ = false, bytes_ = false, biased_ = false;
    bool has_addend_ = false;
    mutable std::mutex bias_lock_;
};

}  // namespace

bool has_library(const Device &device) {
    const blas::Library *library = blas::Library::get();
    return library && library->handle(device.index);
}

std::shared_ptr<const Product> make_library_product(const ProductShape &shape, Device &device) {
    const blas::Library *library = blas::Library::get();
    const blas::Handle handle = library ? library->handle(device.index) : nullptr;
    if (!handle) return nullptr;
    use_device(device.index);
    auto product = std::make_shared<LibraryProduct>(*library, handle);
    return product->prepare(shape) ? product : nullptr;
}

}  // namespace infini::cuda
