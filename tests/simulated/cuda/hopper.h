// The properties of the simulated device: those of a Hopper GPU, with fewer multiprocessors.
// INFINI_SIMULATED_CAPABILITY=80, 100 or the like selects a GPU of that generation.
#pragma once

#include <cstddef>
#include <cstdlib>

#include "infinirt_runtime_api.h"
#include "profile.h"

namespace simulated {

// 10 times the major number, and the minor one.
inline int capability() { return Profile::get().capability; }

constexpr int kMultiprocessors = 4;
constexpr size_t kMemory = size_t(8) << 30;
constexpr unsigned kMaxThreads = 1024;
constexpr unsigned kShared = 48 << 10;        // without asking
constexpr unsigned kSharedOptin = 227 << 10;  // after cuFuncSetAttribute
constexpr unsigned kSharedOfProcessor = 228 << 10;
constexpr unsigned kSharedReserved = 1 << 10;  // of each block
constexpr int kRegisters = 65536;
constexpr unsigned kSharedOfAmpere = 164 << 10;  // of a multiprocessor
constexpr int kThreadsOfProcessor = 2048, kBlocksOfProcessor = 32;
constexpr unsigned kMaxParameters = 32764;
constexpr unsigned char kGarbage = 0xcb;  // fills uninitialised memory

inline unsigned shared_of_processor() {
    return capability() < 90 ? kSharedOfAmpere : kSharedOfProcessor;
}
inline unsigned shared_optin() { return shared_of_processor() - kSharedReserved; }

// The attributes without a field in the back-end contract's description.
inline bool attribute_of(infinirtDeviceAttr attribute, int *value) {
    auto is = [&](int number) {
        *value = number;
        return true;
    };
    switch (attribute) {
        case infinirtDevAttrMaxThreadsPerBlock:
        case infinirtDevAttrMaxBlockDimX:
        case infinirtDevAttrMaxBlockDimY:
            return is(kMaxThreads);
        case infinirtDevAttrMaxBlockDimZ:
            return is(64);
        case infinirtDevAttrMaxGridDimX:
            return is(0x7fffffff);
        case infinirtDevAttrMaxGridDimY:
        case infinirtDevAttrMaxGridDimZ:
            return is(65535);
        case infinirtDevAttrMaxSharedMemoryPerBlock:
            return is(kShared);
        case infinirtDevAttrMaxSharedMemoryPerBlockOptin:
            return is(int(shared_optin()));
        case infinirtDevAttrMaxSharedMemoryPerMultiprocessor:
            return is(int(shared_of_processor()));
        case infinirtDevAttrReservedSharedMemoryPerBlock:
            return is(kSharedReserved);
        case infinirtDevAttrMaxRegistersPerBlock:
        case infinirtDevAttrMaxRegistersPerMultiprocessor:
        case infinirtDevAttrTotalConstantMemory:
            return is(kRegisters);
        case infinirtDevAttrMaxThreadsPerMultiProcessor:
            return is(kThreadsOfProcessor);
        case infinirtDevAttrMaxBlocksPerMultiprocessor:
            return is(kBlocksOfProcessor);
        case infinirtDevAttrManagedMemory:
        case infinirtDevAttrConcurrentManagedAccess:
        case infinirtDevAttrGlobalL1CacheSupported:
        case infinirtDevAttrLocalL1CacheSupported:
        case infinirtDevAttrIpcEventSupport:
        case infinirtDevAttrClusterLaunch:
            return is(1);
        default:
            return false;
    }
}

inline void describe_limits(infinirtDeviceProp &prop) {
    prop.sharedMemPerBlock = kShared;
    prop.sharedMemPerBlockOptin = shared_optin();
    prop.sharedMemPerMultiprocessor = shared_of_processor();
    prop.reservedSharedMemPerBlock = kSharedReserved;
    prop.regsPerBlock = prop.regsPerMultiprocessor = kRegisters;
    prop.totalConstMem = kRegisters;
    prop.maxThreadsPerBlock = prop.maxThreadsDim[0] = prop.maxThreadsDim[1] = kMaxThreads;
    prop.maxThreadsDim[2] = 64;
    prop.maxGridSize[0] = 0x7fffffff;
    prop.maxGridSize[1] = prop.maxGridSize[2] = 65535;
    prop.maxThreadsPerMultiProcessor = kThreadsOfProcessor;
    prop.maxBlocksPerMultiProcessor = kBlocksOfProcessor;
    prop.managedMemory = prop.concurrentManagedAccess = 1;
    prop.globalL1CacheSupported = prop.localL1CacheSupported = 1;
    prop.ipcEventSupported = prop.clusterLaunch = 1;
}

}  // namespace simulated
