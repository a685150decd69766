// A vendor's runtime as data: names, argument orders and enumerators.
//
// The vendor's headers are not needed: a row names a function and lists its arguments in the
// vendor's order. All of them are integers and pointers, which both supported ABIs pass as words.
#pragma once

#include <infini/operation.h>

#include <initializer_list>
#include <memory>
#include <string>

namespace infini::vendor_runtime {

// ---- Libraries ----------------------------------------------------------------------------------

enum class Part { kRuntime, kOperators, kCollectives, kCount };

struct Library {
    const char *use = nullptr;      // for people: "the CANN runtime"
    const char *names = nullptr;    // file names, best first: "libcnnl.so|libcnnl.so.1"
    const char *companions = "";    // opened with it if they exist, and searched after it
    bool global = false;            // others resolve their symbols in it
    const char *telling = nullptr;  // a symbol that identifies the library; null: any library
};

// ---- Functions ----------------------------------------------------------------------------------

enum class Word {
    kInit,
    kGetDeviceCount,
    kSetDevice,
    kGetDevice,
    kDeviceAttribute,
    kPeerAccess,
    kEnablePeer,
    kMalloc,
    kFree,
    kMallocHost,
    kFreeHost,
    kMemcpy,
    kMemcpyAsync,
    kMemcpyPeer,
    kMemsetAsync,
    kMemGetInfo,
    kStreamCreate,
    kStreamDestroy,
    kStreamSynchronize,
    kStreamQuery,
    kStreamWaitEvent,
    kEventCreate,  // with timing, where there is a choice
    kEventCreateUntimed,
    kEventRecord,
    kEventQuery,
    kEventSynchronize,
    kEventElapsedTime,
    kGetUniqueId,
    kCommInitRank,
    kCommInitAll,
    kCommDestroy,
    kCommAbort,
    kAllReduce,
    kReduce,
    kBroadcast,
    kAllGather,
    kReduceScatter,
    kSend,
    kRecv,
    kBatchSendRecv,  // where there are no groups
    kGroupStart,
    kGroupEnd,
    kCount
};

// The value of one position of an argument list.
enum class Arg : uint8_t {
    kEnd,
    kZero,
    kConstant,  // the row's
    kOut,       // the address of a result; for a query, of its status
    kOut2,
    kDst,
    kSrc,
    kBytes,
    kDirection,  // of a copy
    kStream,
    kEvent,
    kEvent2,
    kDevice,
    kDevice2,
    kValue,
    // Of collectives
    kCount,
    kType,
    kOp,
    kRoot,
    kCommunicator,
    kRank,
    kRanks,
    kId,
    kDeviceList,
    kRankList
};

enum class Confidence : uint8_t { kHigh, kMedium, kLow };

struct Row {
    static constexpr int kMostArguments = 8;
    Word word;
    const char *names;  // "new|old": the first that the library has
    Arg arguments[kMostArguments + 1];
    int64_t constant = 0;  // of kConstant; of a query with a status, the status that means complete
    bool required = true;
    Confidence confidence = Confidence::kHigh;
    const char *doubt = nullptr;  // uncertain facts, human-readable
};

// ---- Vendor-specific values
// -------------------------------------------------------------------------

struct Number {
    int from, to;
};

// Enumerators of copies: from, to.
struct Directions {
    int host_to_device, device_to_host, device_to_device;
};

struct Vendor;

// A plan run by the vendor's library.
class LibraryPlan {
public:
    virtual ~LibraryPlan() = default;
    // Enqueues it. Returns the vendor's code, and the called function in `call`.
    virtual int run(void *stream, const Arguments &arguments, const char **call) const = 0;
    size_t workspace = 0;
    // It reads tensors when it runs (lengths, cache slots), because the library requires them on
    // the host: the stream's worker runs it after all earlier work is done.
    bool reads_memory = false;
};

// An enumerator whose value is only in the vendor's header.
struct Named {
    int from;
    const char *name;
};

struct CollectiveFacts {
    size_t id_bytes = 0;
    std::initializer_list<Number> types{}, ops{};  // infiniDtype_t, infinicclReduceOp_t to vendor's
    bool broadcast_in_place = false;               // one buffer: kDst
    const char *(*error_text)(int code) = nullptr;
    // If no public source has the values: the header beside the library.
    const char *header = nullptr;
    std::initializer_list<Named> named_types{}, named_ops{};
    const char *named_id_bytes = nullptr;  // a macro
};

struct Vendor {
    const char *kind, *name;
    const char *environment;  // variables with the root folder: "A|B"
    const char *roots;        // default folders: "/usr/local/a|/usr/b"
    const char *folders;      // below a root: "lib64|lib"
    Library libraries[int(Part::kCount)];
    const Row *rows;
    int row_count;
    Directions directions;
    std::initializer_list<int> pending;        // codes of queries that mean "not ready"
    bool any_code_is_pending;                  // of queries
    std::initializer_list<int> harmless_init;  // codes of kInit that are not failures
    std::initializer_list<Number> errors;      // vendor's codes to infinirtError_t
    std::string (*error_text)(int code);
    void (*describe)(int device, InfiniDeviceInfo *info);
    // Plans an operation for the vendor's library; null: the library does not implement it. Throws
    // Refusal.
    std::unique_ptr<LibraryPlan> (*plan)(int device, const Operation &operation);
    const CollectiveFacts *collectives;
    const char *doubts = "";  // what else is not certain, for people: "X (low: why); Y (low)"
    const char *(*operator_doubts)() = nullptr;  // the same for operators
    const char *operator_header = nullptr;       // that have the operators' enumerators: "a.h|b.h"
};

// Defined by the vendor's folder.
extern const Vendor vendor;

}  // namespace infini::vendor_runtime
