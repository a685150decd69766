#include "compose.h"

namespace infini::ccl {
namespace {

class Composer {
public:
    Composer(const Comm &comm, const Operation &operation)
        : comm_(comm), whole_(operation.view()), size_(infiniSizeOf(infiniDtype_t(whole_.dtype))) {}

    std::vector<InfiniCollective> run() {
        const bool even = !whole_.send_counts && !whole_.recv_counts;
        switch (whole_.kind) {
            case INFINI_ALL_GATHER:
                if (even) break;
                for (int i = 0; i < comm_.ranks; ++i)
                    part(INFINI_BROADCAST, i, i == comm_.rank ? whole_.send : nullptr, received(i),
                         count(whole_.recv_counts, i));
                return parts_;
            case INFINI_REDUCE_SCATTER:
                if (even) break;
                for (int i = 0; i < comm_.ranks; ++i)
                    part(INFINI_REDUCE, i, sent(i), whole_.recv, count(whole_.send_counts, i));
                return parts_;
            case INFINI_GATHER:
                part(INFINI_SEND, whole_.root, whole_.send, nullptr, whole_.count);
                for (int i = 0; comm_.rank == whole_.root && i < comm_.ranks; ++i)
                    part(INFINI_RECEIVE, i, nullptr, received(i), whole_.count);
                return parts_;
            case INFINI_SCATTER:
                for (int i = 0; comm_.rank == whole_.root && i < comm_.ranks; ++i)
                    part(INFINI_SEND, i, sent(i), nullptr, whole_.count);
                part(INFINI_RECEIVE, whole_.root, nullptr, whole_.recv, whole_.count);
                return parts_;
            case INFINI_ALL_TO_ALL:
                for (int i = 0; i < comm_.ranks; ++i) {
                    part(INFINI_SEND, i, sent(i), nullptr, count(whole_.send_counts, i));
                    part(INFINI_RECEIVE, i, nullptr, received(i), count(whole_.recv_counts, i));
                }
                return parts_;
            default:
                break;
        }
        return {whole_};
    }

private:
    size_t count(const size_t *counts, int rank) const {
        return counts ? counts[rank] : whole_.count;
    }
    size_t offset(const size_t *counts, int rank) const {
        size_t sum = 0;
        for (int i = 0; i < rank; ++i) sum += count(counts, i);
        return sum * size_;
    }
    const void *sent(int rank) const {
        return static_cast<const char *>(whole_.send) + offset(whole_.send_counts, rank);
    }
    void *received(int rank) const {
        return static_cast<char *>(whole_.recv) + offset(whole_.recv_counts, rank);
    }
    void part(int kind, int root, const void *send, void *recv, size_t count) {
        if (count == 0) return;
        InfiniCollective made = whole_;
        made.kind = kind;
        made.root = root;
        made.send = send;
        made.recv = recv;
        made.count = count;
        made.send_counts = made.recv_counts = nullptr;
        parts_.push_back(made);
    }

    const Comm &comm_;
    const InfiniCollective whole_;
    const size_t size_;
    std::vector<InfiniCollective> parts_;
};

}  // namespace

std::vector<InfiniCollective> compose(const Comm &comm, const Operation &operation) {
    return Composer(comm, operation).run();
}

}  // namespace infini::ccl
