// Hopper's instructions (sm_90a) for warp specialisation: TMA (bulk tensor copies), mbarriers in
// shared memory, named barriers, setmaxnreg, and the order of asynchronous products (wgmma.cuh).
#pragma once

#include "mma.cuh"
#include "tensor_map.h"

#ifndef INFINI_HOPPER_CUH
#define INFINI_HOPPER_CUH

namespace infini {

// The address of a wgmma operand in descriptor form.
INFINI_DEVICE uint32_t descriptor_address(const void *panel) { return shared_address(panel); }

// Prevents the compiler from hoisting dependent values out of loops: they would not fit into
// registers.
INFINI_DEVICE int computed_here(int value) {
    asm volatile("" : "+r"(value));
    return value;
}
INFINI_DEVICE uint64_t computed_here(uint64_t value) {
    asm volatile("" : "+l"(value));
    return value;
}

// ---- Ordering of asynchronous products ----------------------------------------------------------

// Required before the first product that reads registers written by ordinary instructions.
INFINI_DEVICE void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
INFINI_DEVICE void commit_products() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
// Waits until at most `pending` groups are incomplete.
template <int pending>
INFINI_DEVICE void wait_for_products() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}
// Orders later reads of the registers after this point, because the compiler does not know that
// asynchronous products write them.
template <int tiles>
INFINI_DEVICE void settle(float (&d)[tiles][4]) {
#pragma unroll
    for (int n = 0; n < tiles; ++n)
        asm volatile("" : "+f"(d[n][0]), "+f"(d[n][1]), "+f"(d[n][2]), "+f"(d[n][3])::"memory");
}

// Proxy fence: makes what this thread wrote to shared memory visible to wgmma and TMA.
INFINI_DEVICE void show_to_products() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// Stores four matrices of 8 rows of 16 bytes to shared memory, with the layout of load_matrices.
// Lane 8 i + r gives the address of row r of matrix i, or of its column r if transposed.
template <bool transposed = false>
INFINI_DEVICE void store_matrices(const uint32_t (&from)[4], void *row) {
    const uint32_t to = shared_address(row);
    if constexpr (transposed)
        asm volatile(
            "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to),
            "r"(from[0]), "r"(from[1]), "r"(from[2]), "r"(from[3])
            : "memory");
    else
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to),
                     "r"(from[0]), "r"(from[1]), "r"(from[2]), "r"(from[3])
                     : "memory");
}

// ---- Registers ----------------------------------------------------------------------------------

template <int count>
INFINI_DEVICE void give_registers() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}
template <int count>
INFINI_DEVICE void take_registers() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}

// ---- Barriers -----------------------------------------------------------------------------------

namespace detail {

// For a barrier at a shared-memory address.
INFINI_DEVICE void phase_arrive(uint32_t barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
INFINI_DEVICE void phase_wait(uint32_t barrier, int parity) {
    uint32_t done;
    do {
        asm volatile(
            "{\n.reg .pred p;\n"
            "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
            "selp.b32 %0, 1, 0, p;\n}\n"
            : "=r"(done)
            : "r"(barrier), "r"(parity)
            : "memory");
    } while (!done);
}

}  // namespace detail

// A barrier in shared memory with phases: a phase ends when `count` threads have arrived.
struct PhaseBarrier {
    uint64_t word;

    // Called by one thread; __syncthreads() must follow.
    INFINI_DEVICE void start(int count) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&word)),
                     "r"(count)
                     : "memory");
    }
    // Makes earlier writes of this thread visible to the waiting threads.
    INFINI_DEVICE void arrive() { detail::phase_arrive(shared_address(&word)); }
    // The phase ends only when this number of bytes has also arrived by TMA.
    INFINI_DEVICE void expect(int bytes) {
        asm volatile(
            "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&word)),
            "r"(bytes)
            : "memory");
    }
    // Waits until the phase of this parity (0 is the first) has ended; parity 1 returns immediately
    // at first.
    INFINI_DEVICE void wait(int parity) { detail::phase_wait(shared_address(&word), parity); }
};

// An array of barriers whose address is computed once: the compiler would recompute it for every
// use.
class PhaseBarriers {
public:
    INFINI_DEVICE explicit PhaseBarriers(PhaseBarrier *barriers) {
        asm volatile("mov.u32 %0, %1;" : "=r"(first_) : "r"(shared_address(barriers)));
    }
    INFINI_DEVICE void arrive(int i) { detail::phase_arrive(first_ + 8 * i); }
    INFINI_DEVICE bool has_ended(int i, int parity) {
        uint32_t done;
        asm volatile(
            "{\n.reg .pred p;\n"
            "mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n"
            "selp.b32 %0, 1, 0, p;\n}\n"
            : "=r"(done)
            : "r"(first_ + 8 * i), "r"(parity)
            : "memory");
        return done;
    }
    INFINI_DEVICE void wait(int i, int parity) { detail::phase_wait(first_ + 8 * i, parity); }

private:
    uint32_t first_;
};

// Called by the thread that initialised barriers in memory, before __syncthreads().
INFINI_DEVICE void show_barriers() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// TMA: copies a box of a tensor to shared memory, at a multiple of 1024 bytes, as swizzled rows of
// 128 bytes. All its bytes count as arrived at the barrier, including those outside the tensor.
INFINI_DEVICE void copy_box(void *to, const TensorMap &map, int x, int y, int z, int w,
                            PhaseBarrier &barrier) {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(shared_address(to)),
        "l"(&map), "r"(shared_address(&barrier.word)), "r"(x), "r"(y), "r"(z), "r"(w)
        : "memory");
}

// Prefetches the same box to L2.
INFINI_DEVICE void prefetch_box(const TensorMap &map, int x, int y, int z, int w) {
    asm volatile("cp.async.bulk.prefetch.tensor.4d.L2.global [%0, {%1, %2, %3, %4}];" ::"l"(&map),
                 "r"(x), "r"(y), "r"(z), "r"(w)
                 : "memory");
}

// Named barrier `id` (1 to 15) for a number of threads, including those that only arrive.
INFINI_DEVICE void wait_at(int id, int threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
INFINI_DEVICE void arrive_at(int id, int threads) {
    asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

}  // namespace infini

#endif

namespace infini {

// ---- Operands in shared memory ------------------------------------------------------------------

// Operands of wgmma are stored in panels of 64 elements of 16 bits: rows of 128 bytes whose eight
// 16-byte chunks are swizzled, with chunk c of row r at c ^ (r % 8). Panels begin at multiples of
// 1024 bytes.
inline constexpr int kPanelColumns = 64, kPanelRow = 128;  // elements, bytes

// The offset in bytes of chunk `c` of row `row` in a panel.
INFINI_DEVICE int panel_place(unsigned row, unsigned c) {
    return int(row * kPanelRow + ((c ^ row % 8) * 16));
}

// Groups of eight rows are `stride` bytes apart; if neighbours are not along k, panels are
// `leading` bytes apart.
INFINI_DEVICE uint64_t operand(const void *panel, int leading, int stride) {
    const uint32_t at = descriptor_address(panel);
    constexpr uint64_t kSwizzle128 = uint64_t(1) << 62;
    return kSwizzle128 | uint64_t((at & 0x3ffff) >> 4) | uint64_t(leading >> 4) << 16 |
           uint64_t(stride >> 4) << 32;
}
// Advances by some bytes; 32 bytes are 16 elements along a row.
INFINI_DEVICE uint64_t operand_at(uint64_t operand, int bytes) {
    return operand + uint64_t(bytes >> 4);
}

}  // namespace infini
