// Sends and receives. Each pair of ranks has a channel for each direction. The messages of a group
// progress concurrently, in small chunks, so that no order of them can cause a deadlock.
#include <algorithm>
#include <cstring>

#include "communicator.h"

namespace infini::cpu::collectives {
namespace {

// The header of a message. In one process the receiver copies the data directly from the sender's
// buffer.
struct Label {
    uint64_t bytes;
    const void *address;  // null: the data follows
    int32_t dtype;
    int32_t unused;
};

class Message {
public:
    Message(World &world, int rank, bool direct, const InfiniCollective &work)
        : world_(world),
          work_(work),
          sends_(work.kind == INFINI_SEND),
          direct_(direct),
          from_(sends_ ? rank : work.root),
          to_(sends_ ? work.root : rank),
          channel_(world.channel(from_, to_)),
          bytes_(work.count * element_bytes(work.dtype)) {}

    int other() const { return work_.root; }
    bool is_send() const { return sends_; }
    bool done() const { return stage_ == kDone; }
    // Makes progress without blocking. True: there was some.
    bool advance() { return sends_ ? advance_send() : advance_receive(); }

private:
    enum Stage { kLabel, kData, kAnswer, kDone };

    bool advance_send() {
        const uint64_t written = channel_.written.load(std::memory_order_relaxed);
        const uint64_t read = channel_.read.load(std::memory_order_acquire);
        const size_t room = kChannel - size_t(written - read);
        switch (stage_) {
            case kLabel: {
                if (room < sizeof(Label)) return false;
                const Label label{bytes_, direct_ ? work_.send : nullptr, work_.dtype, 0};
                put(written, &label, sizeof label);
                end_ = written + sizeof label;
                stage_ = bytes_ == 0 ? kDone : direct_ ? kAnswer : kData;
                return true;
            }
            case kData: {
                const size_t now = std::min(room, bytes_ - moved_);
                if (now == 0) return false;
                put(written, static_cast<const unsigned char *>(work_.send) + moved_, now);
                moved_ += now;
                if (moved_ == bytes_) stage_ = kDone;
                return true;
            }
            case kAnswer:  // the sender owns the buffer again once the header was read
                if (read < end_) return false;
                stage_ = kDone;
                return true;
            default:
                return false;
        }
    }

    bool advance_receive() {
        const uint64_t read = channel_.read.load(std::memory_order_relaxed);
        const size_t there = size_t(channel_.written.load(std::memory_order_acquire) - read);
        if (stage_ == kLabel) {
            Label label;
            if (there < sizeof label) return false;
            look(read, &label, sizeof label);
            if (label.bytes != bytes_ || label.dtype != work_.dtype) {
                refuse(label);
                return false;
            }
            if (label.address && bytes_) std::memcpy(work_.recv, label.address, bytes_);
            channel_.read.store(read + sizeof label, std::memory_order_release);
            stage_ = label.address || bytes_ == 0 ? kDone : kData;
            return true;
        }
        const size_t now = std::min(there, bytes_ - moved_);
        if (stage_ != kData || now == 0) return false;
        look(read, static_cast<unsigned char *>(work_.recv) + moved_, now);
        channel_.read.store(read + now, std::memory_order_release);
        moved_ += now;
        if (moved_ == bytes_) stage_ = kDone;
        return true;
    }

    // Into and out of the ring.
    void put(uint64_t at, const void *data, size_t bytes) {
        const size_t begin = size_t(at % kChannel), first = std::min(bytes, kChannel - begin);
        std::memcpy(channel_.data + begin, data, first);
        std::memcpy(channel_.data, static_cast<const unsigned char *>(data) + first, bytes - first);
        channel_.written.store(at + bytes, std::memory_order_release);
    }
    void look(uint64_t at, void *data, size_t bytes) const {
        const size_t begin = size_t(at % kChannel), first = std::min(bytes, kChannel - begin);
        std::memcpy(data, channel_.data + begin, first);
        std::memcpy(static_cast<unsigned char *>(data) + first, channel_.data, bytes - first);
    }

    void refuse(const Label &label) {
        const size_t size = element_bytes(label.dtype);
        world_.fail("rank " + std::to_string(from_) + " sends " +
                    std::to_string(size ? label.bytes / size : label.bytes) +
                    " elements of dtype " + std::to_string(label.dtype) + " to rank " +
                    std::to_string(to_) + ", which expects " + std::to_string(work_.count) +
                    " of dtype " + std::to_string(work_.dtype));
    }

    World &world_;
    const InfiniCollective &work_;
    const bool sends_, direct_;
    const int from_, to_;
    Channel &channel_;
    const size_t bytes_;
    size_t moved_ = 0;
    uint64_t end_ = 0;
    Stage stage_ = kLabel;
};

}  // namespace

bool exchange_messages(World &world, int rank, double timeout, bool direct,
                       const std::vector<const InfiniCollective *> &messages) {
    std::vector<Message> open;
    open.reserve(messages.size());
    for (const InfiniCollective *work : messages) {
        const bool sends = work->kind == INFINI_SEND;
        if (!world.open_channel(rank, sends ? rank : work->root, sends ? work->root : rank))
            return false;
        open.emplace_back(world, rank, direct, *work);
    }
    Patience patience(world, rank, timeout);
    unsigned idle = 0;
    for (size_t left = open.size(); left > 0;) {
        // Messages on the same channel are sent in order.
        bool moved = false, busy[2][kMostRanks] = {};
        int waited_for = rank;
        for (Message &message : open) {
            if (message.done()) continue;
            bool &taken = busy[message.is_send()][message.other()];
            if (taken) continue;
            taken = true;
            waited_for = message.other();
            moved |= message.advance();
            left -= message.done();
        }
        idle = moved ? 0 : idle + 1;
        if (!moved && left && !patience.pause(waited_for, "Send or Recv", idle)) return false;
    }
    return !world.failed();
}

}  // namespace infini::cpu::collectives
