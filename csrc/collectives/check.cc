// Checks of an operation before it is enqueued.
#include <limits>

#include "comm.h"

namespace infini::ccl {
namespace {

size_t sum(const std::vector<size_t> &counts, size_t otherwise) {
    if (counts.empty()) return otherwise;
    size_t total = 0;
    for (size_t count : counts)
        if (__builtin_add_overflow(total, count, &total)) return std::numeric_limits<size_t>::max();
    return total;
}

// The elements of one of this rank's buffers.
struct Buffer {
    const char *name;
    const void *memory;
    size_t elements;  // 0: not used
};

class Checker {
public:
    Checker(const char *function, const Operation &operation)
        : function_(function), op_(operation), w_(operation.work), comm_(*operation.comm) {}

    infiniStatus_t run() {
        size_ = infiniSizeOf(infiniDtype_t(w_.dtype));
        if (size_ == 0)
            return fail(INFINI_STATUS_BAD_TENSOR_DTYPE,
                        "datatype is " + std::to_string(w_.dtype) + ": expected an infiniDtype_t");
        if (infiniStatus_t status = check_reduction()) return status;
        if (has_root() && (w_.root < 0 || w_.root >= comm_.ranks))
            return fail(INFINI_STATUS_BAD_PARAM, std::string(is_message() ? "peer" : "root") +
                                                     " is " + std::to_string(w_.root) +
                                                     ": expected 0 to " +
                                                     std::to_string(comm_.ranks - 1));
        const Buffer send = sent(), recv = received();
        if (infiniStatus_t status = check_buffer(send, false)) return status;
        if (infiniStatus_t status = check_buffer(recv, true)) return status;
        return check_overlap(send, recv);
    }

private:
    infiniStatus_t fail(infiniStatus_t status, const std::string &sentence) {
        return infiniRecordFailure(function_, status, sentence.c_str());
    }
    bool is_message() const { return w_.kind == INFINI_SEND || w_.kind == INFINI_RECEIVE; }
    bool has_root() const {
        return is_message() || w_.kind == INFINI_REDUCE || w_.kind == INFINI_BROADCAST ||
               w_.kind == INFINI_GATHER || w_.kind == INFINI_SCATTER;
    }
    bool reduces() const {
        return w_.kind == INFINI_ALL_REDUCE || w_.kind == INFINI_REDUCE ||
               w_.kind == INFINI_REDUCE_SCATTER;
    }

    infiniStatus_t check_reduction() {
        if (!reduces()) return INFINI_STATUS_SUCCESS;
        if (w_.op < INFINICCL_SUM || w_.op > INFINICCL_AVG)
            return fail(INFINI_STATUS_BAD_PARAM,
                        "op is " + std::to_string(w_.op) + ": expected an infinicclReduceOp_t");
        switch (w_.dtype) {
            case INFINI_DTYPE_BOOL:
            case INFINI_DTYPE_C16:
            case INFINI_DTYPE_C32:
            case INFINI_DTYPE_C64:
            case INFINI_DTYPE_C128:
                return fail(
                    INFINI_STATUS_BAD_TENSOR_DTYPE,
                    "truth values and complex numbers can be moved, not combined: expected a "
                    "datatype of integers or floats");
            default:
                return INFINI_STATUS_SUCCESS;
        }
    }

    size_t times(size_t count) const {
        size_t all;
        return __builtin_mul_overflow(count, size_t(comm_.ranks), &all)
                   ? std::numeric_limits<size_t>::max()
                   : all;
    }
    Buffer sent() const {
        const bool is_root = comm_.rank == w_.root;
        size_t elements = w_.count;
        switch (w_.kind) {
            case INFINI_RECEIVE:
                elements = 0;
                break;
            case INFINI_BROADCAST:
                elements = is_root ? w_.count : 0;
                break;
            case INFINI_SCATTER:
                elements = is_root ? times(w_.count) : 0;
                break;
            case INFINI_ALL_GATHER:
                if (!op_.recv_counts.empty()) elements = op_.recv_counts[size_t(comm_.rank)];
                break;
            case INFINI_REDUCE_SCATTER:
            case INFINI_ALL_TO_ALL:
                elements = sum(op_.send_counts, times(w_.count));
                break;
            default:
                break;
        }
        return {"sendbuf", w_.send, elements};
    }
    Buffer received() const {
        const bool is_root = comm_.rank == w_.root;
        size_t elements = w_.count;
        switch (w_.kind) {
            case INFINI_SEND:
                elements = 0;
                break;
            case INFINI_REDUCE:
                elements = is_root ? w_.count : 0;
                break;
            case INFINI_GATHER:
                elements = is_root ? times(w_.count) : 0;
                break;
            case INFINI_REDUCE_SCATTER:
                if (!op_.send_counts.empty()) elements = op_.send_counts[size_t(comm_.rank)];
                break;
            case INFINI_ALL_GATHER:
            case INFINI_ALL_TO_ALL:
                elements = sum(op_.recv_counts, times(w_.count));
                break;
            default:
                break;
        }
        return {"recvbuf", w_.recv, elements};
    }

    infiniStatus_t check_buffer(const Buffer &buffer, bool write) {
        size_t bytes;
        if (buffer.elements == 0) return INFINI_STATUS_SUCCESS;
        if (__builtin_mul_overflow(buffer.elements, size_, &bytes) ||
            bytes > size_t(std::numeric_limits<ptrdiff_t>::max()))
            return fail(
                INFINI_STATUS_BAD_PARAM,
                "the counts are more than any memory can hold, for " + std::string(buffer.name));
        if (!buffer.memory)
            return fail(INFINI_STATUS_NULL_POINTER,
                        std::string(buffer.name) + " is null: expected " +
                            std::to_string(buffer.elements) + " elements");
        if (comm_.target.device_type == INFINI_DEVICE_CPU &&
            !infiniIsHostMemory(buffer.memory, bytes, write))
            return fail(INFINI_STATUS_BAD_PARAM,
                        std::string(buffer.name) + ": there is no memory of " +
                            std::to_string(bytes) + " bytes at " + address(buffer.memory));
        return INFINI_STATUS_SUCCESS;
    }

    static std::string address(const void *memory) {
        char text[32];
        snprintf(text, sizeof text, "%p", memory);
        return text;
    }

    // Buffers do not overlap, or the call is in place: the smaller one is this rank's part of the
    // larger.
    infiniStatus_t check_overlap(const Buffer &send, const Buffer &recv) {
        if (send.elements == 0 || recv.elements == 0) return INFINI_STATUS_SUCCESS;
        const auto a = reinterpret_cast<uintptr_t>(send.memory);
        const auto b = reinterpret_cast<uintptr_t>(recv.memory);
        if (a + send.elements * size_ <= b || b + recv.elements * size_ <= a)
            return INFINI_STATUS_SUCCESS;
        size_t before = 0;  // elements
        const std::vector<size_t> &counts =
            w_.kind == INFINI_ALL_GATHER ? op_.recv_counts : op_.send_counts;
        for (int i = 0; i < comm_.rank; ++i)
            before += counts.empty() ? w_.count : counts[size_t(i)];
        bool in_place = false;
        switch (w_.kind) {
            case INFINI_ALL_GATHER:
            case INFINI_GATHER:
                in_place = a == b + before * size_;
                break;
            case INFINI_REDUCE_SCATTER:
            case INFINI_SCATTER:
                in_place = b == a + before * size_;
                break;
            case INFINI_ALL_TO_ALL:
                break;
            default:
                in_place = a == b;
        }
        if (in_place) return INFINI_STATUS_SUCCESS;
        return fail(
            INFINI_STATUS_BAD_PARAM,
            "sendbuf and recvbuf overlap: expected buffers that are apart" +
                std::string(w_.kind == INFINI_ALL_TO_ALL
                                ? ""
                                : ", or this rank's part of the larger as the smaller one"));
    }

    const char *function_;
    const Operation &op_;
    const InfiniCollective &w_;
    const Comm &comm_;
    size_t size_ = 0;
};

}  // namespace

infiniStatus_t check(const char *function, const Operation &operation) {
    return Checker(function, operation).run();
}

}  // namespace infini::ccl
