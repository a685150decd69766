// Tensor cores and asynchronous copies: wrappers of warp-wide instructions. For devices with warps
// of 32 only; planners check `has_mma` first.
//
// Fragments, with g = lane / 4 and t = lane % 4; 32-bit registers hold neighbours along k, the
// lower index in the lower bits:
//     a [16, 16]  a[0] = (g, 2t), a[1] = (g + 8, 2t), a[2] = (g, 2t + 8), a[3] = (g + 8, 2t + 8)
//     b [16, 8]   b[0] = (2t, g), b[1] = (2t + 8, g)
//     d [16, 8]   d[0], d[1] = (g, 2t), (g, 2t + 1); d[2], d[3] = the same of row g + 8
// With 8-bit elements, registers hold four along k (which is 32 then): 4t, and 4t + 16; with TF32
// one (k is 8): t, and t + 4.
#pragma once

#include "prelude.cuh"

#ifndef INFINI_MMA_CUH
#define INFINI_MMA_CUH

namespace infini {

// The shared-memory address of a pointer, as instructions require it.
INFINI_DEVICE uint32_t shared_address(const void *pointer) {
    return uint32_t(__cvta_generic_to_shared(pointer));
}

// d += a @ b with 16-bit floats and sums in F32.
template <class T>
INFINI_DEVICE void mma(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    static_assert(kSame<T, f16> || kSame<T, bf16>);
    if constexpr (kSame<T, f16>)
        asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
            "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    else
        asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
            "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// d += a @ b with TF32: a [16, 8], b [8, 8]. The last 13 bits of the elements are ignored.
INFINI_DEVICE void mma_tf32(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
// Rounds to TF32, ties away from 0.
INFINI_DEVICE uint32_t round_to_tf32(float x) {
    uint32_t bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
    return bits;
}

// d += a @ b with signed bytes: a [16, 32], b [32, 8].
INFINI_DEVICE void mma_i8(int (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Loads `n` matrices of 8 rows of 16 bytes from shared memory; lane 8 i + r gives the address of
// row r of matrix i. Register i then holds the two elements (g, 2t), (g, 2t + 1) of matrix i; if
// transposed, (2t, g), (2t + 1, g) for 16-bit elements.
template <int n, bool transposed = false>
INFINI_DEVICE void load_matrices(uint32_t (&to)[n], const void *row) {
    static_assert(n == 1 || n == 2 || n == 4);
    const uint32_t from = shared_address(row);
    if constexpr (n == 4 && !transposed)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(from)
                     : "memory");
    else if constexpr (n == 4)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                     : "r"(from)
                     : "memory");
    else if constexpr (n == 2 && !transposed)
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
                     : "=r"(to[0]), "=r"(to[1])
                     : "r"(from)
                     : "memory");
    else if constexpr (n == 2)
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                     : "=r"(to[0]), "=r"(to[1])
                     : "r"(from)
                     : "memory");
    else if constexpr (!transposed)
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                     : "=r"(to[0])
                     : "r"(from)
                     : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
                     : "=r"(to[0])
                     : "r"(from)
                     : "memory");
}

// ---- Asynchronous copies to shared memory -------------------------------------------

// Copies 16 bytes, of which only the first `bytes` (0 to 16) are read and the others are set to 0.
// Both addresses are multiples of 16. Not cached in L1.
INFINI_DEVICE void copy_async(void *shared, const void *from, int bytes = 16) {
#if __CUDA_ARCH__ < 800
    uint8_t *to = static_cast<uint8_t *>(shared);
    const uint8_t *source = static_cast<const uint8_t *>(from);
    for (int i = 0; i < 16; ++i) to[i] = i < bytes ? source[i] : uint8_t(0);
#else
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;"
                 :
                 : "r"(shared_address(shared)), "l"(from), "r"(bytes)
                 : "memory");
#endif
}
// The same with an L2 cache policy, such as ptx::evict_first.
INFINI_DEVICE void copy_async_once(void *shared, const void *from, int bytes, uint64_t policy) {
#if __CUDA_ARCH__ < 800
    copy_async(shared, from, bytes);
#else
    asm volatile("cp.async.cg.shared.global.L2::cache_hint.L2::128B [%0], [%1], 16, %2, %3;"
                 :
                 : "r"(shared_address(shared)), "l"(from), "r"(bytes), "l"(policy)
                 : "memory");
#endif
}
// The same for data that this multiprocessor reads again soon: cached in L1.
INFINI_DEVICE void copy_async_reused(void *shared, const void *from, int bytes = 16) {
#if __CUDA_ARCH__ < 800
    copy_async(shared, from, bytes);
#else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(shared_address(shared)), "l"(from), "r"(bytes)
                 : "memory");
#endif
}
// The same for 4 or 8 bytes, all or none of which are read.
template <int size>
INFINI_DEVICE void copy_async_small(void *shared, const void *from, bool valid = true) {
    static_assert(size == 4 || size == 8);
#if __CUDA_ARCH__ < 800
    uint8_t *to = static_cast<uint8_t *>(shared);
    const uint8_t *source = static_cast<const uint8_t *>(from);
    for (int i = 0; i < size; ++i) to[i] = valid ? source[i] : uint8_t(0);
#else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
                 :
                 : "r"(shared_address(shared)), "l"(from), "n"(size), "r"(valid ? size : 0)
                 : "memory");
#endif
}

// Commits the copies that this thread issued since the last call as a group.
INFINI_DEVICE void commit_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
// Waits until at most `pending` of this thread's groups are incomplete. A barrier then makes the
// copies visible to the other threads.
template <int pending>
INFINI_DEVICE void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
#endif
}

}  // namespace infini

#endif
