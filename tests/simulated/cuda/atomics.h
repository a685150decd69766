// Atomic operations. Only one thread of the simulation runs at a time, so plain operations are
// enough.
#pragma once

#include "barriers.h"
#include "checks.h"

namespace simulated {
// Atomic because no other thread can interleave.
template <class T, class F>
SIMULATED_UNCHECKED inline T change(T *address, F function) {
    const unsigned preempt = state.preempt;
    state.preempt = 0;
    volatile T *place = address;
    T old = *place;
    *place = function(old);
    state.preempt = preempt;
    return old;
}

template <class T, class F>
inline T update(T *address, F function) {
    if (size_t(address) % sizeof(T)) fail("an atomic operation on a misaligned address");
#ifdef INFINI_SIMULATED_CHECK
    look(size_t(address), sizeof(T), true);
#endif
    return change(address, function);
}
}  // namespace simulated

// The types that CUDA has the operation for; arguments convert as in a call of a plain function.
#define SIMULATED_ATOMIC(name, T, expression)                                        \
    inline T name(T *address, T value) {                                             \
        return simulated::update(address, [=](T old) -> T { return (expression); }); \
    }                                                                                \
    inline T name##_block(T *address, T value) { return name(address, value); }      \
    inline T name##_system(T *address, T value) { return name(address, value); }
#define SIMULATED_ATOMIC_INTEGERS(name, expression)                            \
    SIMULATED_ATOMIC(name, int, expression)                                    \
    SIMULATED_ATOMIC(name, unsigned, expression)                               \
    SIMULATED_ATOMIC(name, unsigned long long, expression)                     \
    inline unsigned long name(unsigned long *address, unsigned long value) {   \
        return name((unsigned long long *)address, (unsigned long long)value); \
    }
SIMULATED_ATOMIC(atomicAdd, int, int(unsigned(old) + unsigned(value)))
SIMULATED_ATOMIC(atomicAdd, unsigned, old + value)
SIMULATED_ATOMIC(atomicAdd, unsigned long long, old + value)
SIMULATED_ATOMIC(atomicAdd, float, old + value)
SIMULATED_ATOMIC(atomicAdd, double, old + value)
SIMULATED_ATOMIC(atomicSub, int, int(unsigned(old) - unsigned(value)))
SIMULATED_ATOMIC(atomicSub, unsigned, old - value)
SIMULATED_ATOMIC_INTEGERS(atomicMin, value < old ? value : old)
SIMULATED_ATOMIC(atomicMin, long long, value < old ? value : old)
SIMULATED_ATOMIC_INTEGERS(atomicMax, value > old ? value : old)
SIMULATED_ATOMIC(atomicMax, long long, value > old ? value : old)
SIMULATED_ATOMIC_INTEGERS(atomicAnd, old &value)
SIMULATED_ATOMIC_INTEGERS(atomicOr, old | value)
SIMULATED_ATOMIC_INTEGERS(atomicXor, old ^ value)
SIMULATED_ATOMIC_INTEGERS(atomicExch, (void(old), value))
SIMULATED_ATOMIC(atomicExch, float, (void(old), value))
SIMULATED_ATOMIC(atomicInc, unsigned, old >= value ? 0 : old + 1)
SIMULATED_ATOMIC(atomicDec, unsigned, old == 0 || old > value ? value : old - 1)
#undef SIMULATED_ATOMIC
#undef SIMULATED_ATOMIC_INTEGERS

inline unsigned long atomicAdd(unsigned long *address, unsigned long value) {
    return atomicAdd((unsigned long long *)address, (unsigned long long)value);
}

#define SIMULATED_CAS(T)                                                                        \
    inline T atomicCAS(T *address, T compare, T value) {                                        \
        return simulated::update(address, [=](T old) { return old == compare ? value : old; }); \
    }
SIMULATED_CAS(int)
SIMULATED_CAS(unsigned)
SIMULATED_CAS(unsigned long)
SIMULATED_CAS(unsigned long long)
SIMULATED_CAS(unsigned short)
#undef SIMULATED_CAS
