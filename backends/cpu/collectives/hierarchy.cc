#include "hierarchy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>

#include "infinicore.h"
#include "kernels/types.h"
#include "reduce.h"

namespace infini::cpu::collectives {
namespace {

template <class T>
struct Type {
    using type = T;
};

// Calls f(Type<T>(), Type<W>()): the type of the elements, and the wide one.
template <class F>
void with_types(int dtype, int wide, const F &f) {
    switch (dtype) {
        case INFINI_DTYPE_F8:
            return f(Type<f8>(), Type<float>());
        case INFINI_DTYPE_F16:
            return f(Type<f16>(), Type<float>());
        case INFINI_DTYPE_BF16:
            return f(Type<bf16>(), Type<float>());
        case INFINI_DTYPE_F32:
            return f(Type<float>(), Type<float>());
        case INFINI_DTYPE_F64:
            return f(Type<double>(), Type<double>());
        default:
            break;
    }
    if (wide == dtype && wide != INFINI_DTYPE_I64 && wide != INFINI_DTYPE_U64) return;
    switch (dtype) {
        case INFINI_DTYPE_I8:
            return f(Type<int8_t>(), Type<int64_t>());
        case INFINI_DTYPE_I16:
            return f(Type<int16_t>(), Type<int64_t>());
        case INFINI_DTYPE_I32:
            return f(Type<int32_t>(), Type<int64_t>());
        case INFINI_DTYPE_I64:
            return f(Type<int64_t>(), Type<int64_t>());
        case INFINI_DTYPE_BYTE:
        case INFINI_DTYPE_U8:
            return f(Type<uint8_t>(), Type<uint64_t>());
        case INFINI_DTYPE_U16:
            return f(Type<uint16_t>(), Type<uint64_t>());
        case INFINI_DTYPE_U32:
            return f(Type<uint32_t>(), Type<uint64_t>());
        case INFINI_DTYPE_U64:
            return f(Type<uint64_t>(), Type<uint64_t>());
        default:
            return;
    }
}

}  // namespace

// The dtype for combining numbers of `dtype` with `op` in several steps: the same, or a wider one.
int wide_type(int dtype, int op) {
    switch (dtype) {
        case INFINI_DTYPE_F8:
        case INFINI_DTYPE_F16:
        case INFINI_DTYPE_BF16:
            // Maximum and minimum are one of the inputs: nothing is rounded.
            return op == kMax || op == kMin ? dtype : INFINI_DTYPE_F32;
        case INFINI_DTYPE_I8:
        case INFINI_DTYPE_I16:
        case INFINI_DTYPE_I32:
            return op == kAverage ? INFINI_DTYPE_I64 : dtype;
        case INFINI_DTYPE_BYTE:
        case INFINI_DTYPE_U8:
        case INFINI_DTYPE_U16:
        case INFINI_DTYPE_U32:
            return op == kAverage ? INFINI_DTYPE_U64 : dtype;
        default:
            return dtype;
    }
}

void widen(int wide, void *to, int dtype, const void *from, size_t count) {
    with_types(dtype, wide, [&](auto narrow_type, auto wide_type) {
        using T = typename decltype(narrow_type)::type;
        using W = typename decltype(wide_type)::type;
        for (size_t i = 0; i < count; ++i)
            static_cast<W *>(to)[i] = load_element<W>(static_cast<const T *>(from)[i]);
    });
}

// Converts back, divided by `divisor`. In place if both types are the same.
void narrow(int dtype, void *to, int wide, const void *from, size_t count, int divisor) {
    if (dtype == wide && divisor == 1) {
        if (count && to != from) std::memmove(to, from, count * infiniSizeOf(infiniDtype_t(dtype)));
        return;
    }
    with_types(dtype, wide, [&](auto narrow_type, auto wide_type) {
        using T = typename decltype(narrow_type)::type;
        using W = typename decltype(wide_type)::type;
        for (size_t i = 0; i < count; ++i)
            store_element(static_cast<T *>(to)[i], W(static_cast<const W *>(from)[i] / W(divisor)));
    });
}

// One collective of one rank, in three steps: on the host, between the leaders of hosts, on the
// host.
class Hierarchy {
public:
    Hierarchy(NetworkCommunicator &communicator, const InfiniCollective &work,
              const Announcement &announced)
        : c_(communicator),
          w_(work),
          announced_(announced),
          me_(c_.network_.rank),
          size_(element_bytes(work.dtype)),
          wide_(wide_type(work.dtype, work.op)) {
        for (int rank = 0; rank < c_.network_.ranks; ++rank) {
            std::vector<int> &members = members_[c_.hosts_[size_t(rank)]];
            blocks_ = blocks_ && (members.empty() || members.back() == rank - 1);
            members.push_back(rank);
        }
        my_host_ = c_.hosts_[size_t(me_)];
        for (const auto &[host, members] : members_) {
            // The root is the leader of its host.
            const bool has_root = w_.root >= 0 && c_.hosts_[size_t(w_.root)] == host;
            const int leader = has_root ? w_.root : members[0];
            if (host == my_host_) {
                my_leader_ = leader;
                leader_seat_ =
                    int(std::find(members.begin(), members.end(), leader) - members.begin());
            }
            if (has_root) root_host_ = int(leaders_.size());
            leaders_.push_back(leader);
        }
    }

    // The same on all ranks.
    bool applies() const {
        switch (w_.kind) {
            case INFINI_ALL_REDUCE:
            case INFINI_REDUCE:
            case INFINI_BROADCAST:
                return true;
            case INFINI_ALL_GATHER:
            case INFINI_REDUCE_SCATTER:
                return blocks_;
            default:
                return false;
        }
    }

    bool run() {
        switch (w_.kind) {
            case INFINI_ALL_REDUCE:
            case INFINI_REDUCE:
                return reduce();
            case INFINI_BROADCAST:
                return (!leads() || between(INFINI_BROADCAST, w_.dtype, w_.send, w_.recv, w_.count,
                                            root_host_)) &&
                       below(INFINI_BROADCAST, w_.dtype, w_.recv, w_.recv, w_.count);
            case INFINI_ALL_GATHER:
                return all_gather();
            default:
                return reduce_scatter();
        }
    }

private:
    using Bytes = unsigned char;

    bool leads() const { return me_ == my_leader_; }
    size_t part(const size_t *counts, int rank) const { return counts ? counts[rank] : w_.count; }
    // Elements of the parts of ranks [begin, end).
    size_t parts(const size_t *counts, int begin, int end) const {
        size_t sum = 0;
        for (int i = begin; i < end; ++i) sum += part(counts, i);
        return sum;
    }
    static Bytes *at(const void *buffer, size_t bytes) {
        return buffer ? static_cast<Bytes *>(const_cast<void *>(buffer)) + bytes : nullptr;
    }

    // ---- The steps ------------------------------------------------------------------------------

    // On this host; the leader is the root.
    bool below(int kind, int dtype, const void *send, void *recv, size_t count,
               const size_t *counts = nullptr) {
        if (!c_.below_) {
            if (kind != INFINI_BROADCAST && send != recv && count)
                std::memmove(recv, send, count * element_bytes(dtype));
            return true;
        }
        InfiniCollective work{};
        work.kind = kind;
        work.dtype = dtype;
        work.op = folding();
        work.root = leader_seat_;
        work.send = send;
        work.recv = recv;
        work.count = count;
        work.recv_counts = counts;
        return c_.below_->collective(work, announced_);
    }

    // Between leaders.
    bool between(int kind, int dtype, const void *send, void *recv, size_t count, int root,
                 const size_t *counts = nullptr) {
        InfiniCollective work{};
        work.kind = kind;
        work.dtype = dtype;
        work.op = folding();
        work.root = root;
        work.send = send;
        work.recv = recv;
        work.count = count;
        work.send_counts = kind == INFINI_REDUCE_SCATTER ? counts : nullptr;
        work.recv_counts = kind == INFINI_ALL_GATHER ? counts : nullptr;
        return run_flat(c_.network_, leaders_, work, announced_, c_.timeout_.load());
    }

    // Averages are sums until the end.
    int folding() const { return w_.op == kAverage ? kSum : w_.op; }

    // ---- Kinds ----------------------------------------------------------------------------------

    bool reduce() {
        const bool all = w_.kind == INFINI_ALL_REDUCE, wanted = all || me_ == w_.root;
        const bool as_is = wide_ == w_.dtype;
        const size_t wide_size = element_bytes(wide_);
        // Without another type no temporary is needed, and it is done in one pass.
        const size_t step = as_is ? std::max<size_t>(w_.count, 1) : kStep;
        std::vector<Bytes> scratch;
        if (!as_is || (!wanted && leads())) scratch.resize(std::min(step, w_.count) * wide_size);
        for (size_t done = 0, turn = 0; turn == 0 || done < w_.count; done += step, ++turn) {
            const size_t count = std::min(step, w_.count - done);
            const void *send = at(w_.send, done * size_);
            void *recv = at(w_.recv, done * size_), *sum = as_is && wanted ? recv : scratch.data();
            if (!as_is) {
                widen(wide_, scratch.data(), w_.dtype, send, count);
                send = scratch.data();
            }
            if (!below(INFINI_REDUCE, wide_, send, sum, count)) return false;
            if (leads() && !between(w_.kind, wide_, sum, sum, count, all ? -1 : root_host_))
                return false;
            if (all && !below(INFINI_BROADCAST, wide_, sum, sum, count)) return false;
            if (wanted && (!as_is || w_.op == kAverage))
                narrow(w_.dtype, recv, wide_, sum, count, divisor());
        }
        return true;
    }

    bool all_gather() {
        const size_t *counts = w_.recv_counts;
        const std::vector<int> &mine = members_[my_host_];
        const int first = mine.front(), last = mine.back() + 1;
        const size_t begin = parts(counts, 0, first), block = parts(counts, first, last);
        std::vector<size_t> here, hosts;
        for (int rank : mine) here.push_back(part(counts, rank));
        for (const auto &[host, members] : members_)
            hosts.push_back(parts(counts, members.front(), members.back() + 1));
        if (!below(INFINI_ALL_GATHER, w_.dtype, w_.send, at(w_.recv, begin * size_),
                   part(counts, me_), here.data()))
            return false;
        if (leads() && !between(INFINI_ALL_GATHER, w_.dtype, at(w_.recv, begin * size_), w_.recv, 0,
                                -1, hosts.data()))
            return false;
        // The parts before and after those of this host.
        const size_t end = begin + block, all = parts(counts, 0, c_.network_.ranks);
        Bytes *behind = at(w_.recv, end * size_);
        return below(INFINI_BROADCAST, w_.dtype, w_.recv, w_.recv, begin) &&
               below(INFINI_BROADCAST, w_.dtype, behind, behind, all - end);
    }

    bool reduce_scatter() {
        const size_t *counts = w_.send_counts;
        const std::vector<int> &mine = members_[my_host_];
        const int first = mine.front(), last = mine.back() + 1;
        const size_t all = parts(counts, 0, c_.network_.ranks), wide_size = element_bytes(wide_);
        const size_t block = parts(counts, first, last);
        std::vector<Bytes> sums(all * wide_size), result(block * wide_size);
        std::vector<size_t> hosts;
        for (const auto &[host, members] : members_)
            hosts.push_back(parts(counts, members.front(), members.back() + 1));
        const void *send = w_.send;
        if (wide_ != w_.dtype) {
            widen(wide_, sums.data(), w_.dtype, w_.send, all);
            send = sums.data();
        }
        if (!below(INFINI_REDUCE, wide_, send, sums.data(), all)) return false;
        if (leads() &&
            !between(INFINI_REDUCE_SCATTER, wide_, sums.data(), result.data(), 0, -1, hosts.data()))
            return false;
        if (!below(INFINI_BROADCAST, wide_, result.data(), result.data(), block)) return false;
        const size_t own = parts(counts, first, me_) * wide_size;
        narrow(w_.dtype, w_.recv, wide_, at(result.data(), own), part(counts, me_), divisor());
        return true;
    }

    int divisor() const { return w_.op == kAverage ? c_.network_.ranks : 1; }

    static constexpr size_t kStep = 1 << 20;  // elements

    NetworkCommunicator &c_;
    const InfiniCollective &w_;
    const Announcement &announced_;
    const int me_;
    const size_t size_;
    const int wide_;
    std::map<int, std::vector<int>> members_;  // of each host
    std::vector<int> leaders_;
    bool blocks_ = true;  // the ranks of each host follow each other
    int my_host_ = 0, my_leader_ = 0, leader_seat_ = 0, root_host_ = -1;
};

NetworkCommunicator::NetworkCommunicator(std::unique_ptr<Links> links, int rank,
                                         std::vector<int> hosts,
                                         std::unique_ptr<SharedCommunicator> below, bool layered,
                                         double timeout)
    : network_(std::move(links), rank, int(hosts.size())),
      hosts_(std::move(hosts)),
      below_(std::move(below)),
      layered_(layered),
      timeout_(timeout) {
    for (int i = 0; i < network_.ranks; ++i) everybody_.push_back(i);
    if (!below_) return;
    network_.host = &below_->world();
    network_.seat = below_->rank();
}

NetworkCommunicator::~NetworkCommunicator() { network_.links->tell(network_.fate.reason()); }

bool NetworkCommunicator::do_one(const InfiniCollective &work) {
    const Announcement announced = announcement_of(work, network_.ranks, network_.number);
    ++network_.number;
    if (layered_) {
        Hierarchy hierarchy(*this, work, announced);
        if (hierarchy.applies()) return hierarchy.run();
    }
    return run_flat(network_, everybody_, work, announced, timeout_.load());
}

bool NetworkCommunicator::run(const InfiniCollective *work, size_t count) {
    std::lock_guard guard(lock_);
    std::vector<const InfiniCollective *> messages;
    for (size_t i = 0; i < count; ++i) {
        if (!failure().empty()) return give_up();
        if (work[i].kind == INFINI_SEND || work[i].kind == INFINI_RECEIVE)
            messages.push_back(&work[i]);
        else if (!do_one(work[i]))
            return give_up();
    }
    return messages.empty() || run_flat_messages(network_, messages, timeout_.load()) || give_up();
}

// Any failure, on the host or between hosts, is known to all from now on.
bool NetworkCommunicator::give_up() {
    network_.fate.fail(failure());
    const std::string reason = network_.fate.reason();
    if (below_) below_->fail(reason);
    network_.links->tell(reason);
    return false;
}

void NetworkCommunicator::fail(const std::string &reason) {
    network_.fate.fail(reason);
    if (below_) below_->fail(reason);
    network_.links->wake();
    // A thread that is working in it notifies the others; if there is none, this one does.
    if (std::unique_lock guard(lock_, std::try_to_lock); guard) network_.links->tell(reason);
}

std::string NetworkCommunicator::failure() {
    if (network_.fate.failed()) return network_.fate.reason();
    return below_ ? below_->failure() : "";
}

void NetworkCommunicator::set_timeout(double seconds) {
    timeout_.store(seconds);
    if (below_) below_->set_timeout(seconds);
}

}  // namespace infini::cpu::collectives
