#include "fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>

#include "hopper.h"

// Only callee-saved registers are saved: the compiler has saved the rest.
#if defined(__aarch64__)
asm(R"(
    .text
    .balign 16
    .globl simulated_switch
    .hidden simulated_switch
    .type simulated_switch, %function
simulated_switch:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
    .size simulated_switch, .-simulated_switch

    .globl simulated_begin
    .hidden simulated_begin
    .type simulated_begin, %function
simulated_begin:
    .cfi_startproc
    .cfi_undefined x30
    mov x0, x20
    blr x19
    brk #0
    .cfi_endproc
    .size simulated_begin, .-simulated_begin
)");
#elif defined(__x86_64__)
asm(R"(
    .text
    .balign 16
    .globl simulated_switch
    .hidden simulated_switch
    .type simulated_switch, @function
simulated_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size simulated_switch, .-simulated_switch

    .globl simulated_begin
    .hidden simulated_begin
    .type simulated_begin, @function
simulated_begin:
    .cfi_startproc
    .cfi_undefined rip
    movq %r13, %rdi
    callq *%r12
    ud2
    .cfi_endproc
    .size simulated_begin, .-simulated_begin
)");
#else
#error "no switch between stacks for this processor"
#endif

namespace simulated {

void *fiber_stack(void *end, void (*function)(void *), void *argument) {
    auto **top = reinterpret_cast<void **>(reinterpret_cast<uintptr_t>(end) / 16 * 16);
#if defined(__aarch64__)
    void **frame = top - 20;
    memset(frame, 0, 160);
    frame[0] = reinterpret_cast<void *>(function);           // x19
    frame[1] = argument;                                     // x20
    frame[11] = reinterpret_cast<void *>(&simulated_begin);  // x30
#else
    // After the return the stack must be aligned to 16 for the call.
    void **frame = top - 9;
    memset(frame, 0, 72);
    frame[2] = argument;                                    // r13
    frame[3] = reinterpret_cast<void *>(function);          // r12
    frame[6] = reinterpret_cast<void *>(&simulated_begin);  // return address
#endif
    return frame;
}

void *Stacks::end(unsigned index) {
    if (!base_) {
        void *base = mmap(nullptr, kBytes * kMaxThreads, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (base == MAP_FAILED) return nullptr;
        base_ = static_cast<char *>(base);
    }
    for (; made_ <= index; ++made_)
        if (mprotect(base_ + made_ * kBytes + kGuard, kBytes - kGuard, PROT_READ | PROT_WRITE))
            return nullptr;
    return base_ + (index + 1) * kBytes;
}

bool Stacks::holds(const void *address) const {
    auto *at = static_cast<const char *>(address);
    return base_ && at >= base_ && at < base_ + made_ * kBytes;
}

bool Stacks::is_guard(const void *address) const {
    return holds(address) && size_t(static_cast<const char *>(address) - base_) % kBytes < kGuard;
}

}  // namespace simulated
