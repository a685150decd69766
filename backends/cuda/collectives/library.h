// The vendor's collectives library, with NCCL's API, opened at run time. Enum values are those that
// all such libraries share.
#pragma once

#include <cstddef>
#include <string>

#include "infinicore.h"
#include "libraries.h"

namespace infini::cuda::collectives {

struct UniqueId {  // passed by value
    char bytes[128];
};

using Handle = struct VendorCommunicator *;

enum Result { kSuccess = 0, kInProgress = 7 };

// As in release 2.14, the first that had it; later ones accept it, with defaults for new members.
struct Config {
    size_t size = sizeof(Config);
    unsigned magic = 0xcafebeef;
    unsigned version = 21400;
    int blocking = 0;
};

enum class Type : int {
    kInt8 = 0,
    kUint8 = 1,
    kInt32 = 2,
    kUint32 = 3,
    kInt64 = 4,
    kUint64 = 5,
    kFloat16 = 6,
    kFloat32 = 7,
    kFloat64 = 8,
    kBfloat16 = 9,
    kNone = -1,
};

// Values of infinicclReduceOp_t, which are equal to the library's.
enum Op { kSum = 0, kProduct = 1, kMax = 2, kMin = 3, kAverage = 4 };

struct Functions {
    int (*GetVersion)(int *);
    int (*GetUniqueId)(UniqueId *);
    int (*CommInitRank)(Handle *, int, UniqueId, int);
    int (*CommInitAll)(Handle *, int, const int *);
    int (*CommDestroy)(Handle);
    int (*GroupStart)();
    int (*GroupEnd)();
    int (*AllReduce)(const void *, void *, size_t, Type, int, Handle, void *);
    int (*Broadcast)(const void *, void *, size_t, Type, int, Handle, void *);
    int (*Reduce)(const void *, void *, size_t, Type, int, int, Handle, void *);
    int (*AllGather)(const void *, void *, size_t, Type, Handle, void *);
    int (*ReduceScatter)(const void *, void *, size_t, Type, int, Handle, void *);
    int (*Send)(const void *, size_t, Type, int, Handle, void *);
    int (*Recv)(void *, size_t, Type, int, Handle, void *);
    // The others are optional.
    int (*CommInitRankConfig)(Handle *, int, UniqueId, int, Config *);
    int (*CommFinalize)(Handle);
    int (*CommAbort)(Handle);
    int (*CommGetAsyncError)(Handle, int *);
    const char *(*GetErrorString)(int);
    const char *(*GetLastError)(Handle);
};

// Null: there is no library, or it lacks required functions; the reason is in *why.
const Functions *functions(std::string *why);

// The same if the library is known to be available.
const Functions &library();

// Communicators that never block the caller, so that time-outs work.
bool can_poll();

int version();       // 22403 is 2.24.3; 0: unknown
std::string name();  // "NCCL 2.24.3 (/path)"

// The text of a result code of the library.
std::string words(int code, const char *function, Handle handle = nullptr);

// Passes the message to the core, for the failure that is about to be returned.
infiniStatus_t refuse(infiniStatus_t status, const std::string &sentence);

}  // namespace infini::cuda::collectives
