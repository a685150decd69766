// Copies between any two layouts of one shape. Dimensions are merged if both layouts allow it; the
// rest is copied as contiguous runs, as transposed blocks, or element by element.
#pragma once

#include <cstddef>
#include <cstdint>

namespace infini::cpu {

class StridedCopy {
public:
    static constexpr int kMost = 16;  // dimensions

    StridedCopy() = default;
    // Strides count elements of `element` bytes (1, 2, 4, 8 or 16). Those of the source may be 0 or
    // negative; the pointers given to run() are those of index 0.
    StridedCopy(size_t element, int ndim, const int64_t *sizes, const int64_t *dst_strides,
                const int64_t *src_strides);

    // Uses several threads if there is enough work.
    void run(void *dst, const void *src) const;

private:
    enum class Way { kNothing, kRuns, kElements, kTransposed, kBlocks };
    struct Dim {
        int64_t size, dst, src;  // strides in bytes
    };

    template <class Body>
    void walk(int outer, size_t begin, size_t end, const Body &body) const;
    template <class E>
    void elements(char *dst, const char *src) const;
    template <class E, bool kTransposed>
    void blocks(char *dst, const char *src) const;
    void runs(char *dst, const char *src) const;
    void one_run(char *dst, const char *src) const;

    Way way_ = Way::kNothing;
    int ndim_ = 0;
    int64_t element_ = 1, run_ = 0;  // bytes
    int64_t outer_ = 1;              // product of the sizes of the outer dimensions
    bool streams_ = false;           // too large to stay in the caches
    Dim dims_[kMost];
};

}  // namespace infini::cpu
