// The used part of the vendor's library of matrix products (cuBLASLt and compatible ones), opened
// at run time; enumerators are those of its headers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace infini::cuda::blas {

using Handle = void *;
using Description = void *;  // of the product
using Layout = void *;
using Preference = void *;

enum Type { kF32 = 0, kF64 = 1, kF16 = 2, kI8 = 3, kI32 = 10, kBF16 = 14 };  // cudaDataType
enum Computation {                                                           // cublasComputeType_t
    kCompute32F = 68,
    kCompute64F = 70,
    kCompute32I = 72,
    kCompute32FFastTF32 = 77
};
enum Operation { kAsIs = 0, kTransposed = 1 };  // cublasOperation_t
enum DescriptionAttribute { kTransposeA = 3, kTransposeB = 4, kEpilogue = 7, kBiasPointer = 8 };
enum LayoutAttribute { kBatchCount = 5, kBatchStride = 6 };
enum PreferenceAttribute {
    kMostWorkspace = 1,
    kReductions = 3,
    kAlignmentA = 5,
    kAlignmentB = 6,
    kAlignmentC = 7,
    kAlignmentD = 8
};
enum Epilogue { kPlain = 1, kBias = 4 };
// The reduction scheme of partial sums; only this one does not round them.
constexpr uint32_t kReductionInComputeType = 2;

struct Algorithm {
    uint64_t data[8];
};
struct Candidate {  // cublasLtMatmulHeuristicResult_t
    Algorithm algorithm;
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
};

struct Library {
    int (*create)(Handle *);
    int (*describe)(Description *, int computation, int scale_type);
    int (*describe_set)(Description, int attribute, const void *value, size_t bytes);
    int (*describe_destroy)(Description);
    int (*layout)(Layout *, int type, uint64_t rows, uint64_t columns, int64_t leading);
    int (*layout_set)(Layout, int attribute, const void *value, size_t bytes);
    int (*layout_destroy)(Layout);
    int (*preference)(Preference *);
    int (*preference_set)(Preference, int attribute, const void *value, size_t bytes);
    int (*preference_destroy)(Preference);
    int (*choose)(Handle, Description, Layout a, Layout b, Layout c, Layout d, Preference,
                  int wanted, Candidate *, int *found);
    int (*multiply)(Handle, Description, const void *alpha, const void *a, Layout, const void *b,
                    Layout, const void *beta, const void *c, Layout, void *d, Layout,
                    const Algorithm *, void *workspace, size_t workspace_bytes, void *stream);
    const char *(*status_name)(int);  // (optional)

    // Null if it is missing or incomplete.
    static const Library *get();
    // The handle of a device, created once; null if that fails.
    Handle handle(int device) const;
};

}  // namespace infini::cuda::blas
