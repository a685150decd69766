#include "tcp.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

namespace infini::cpu::collectives {
namespace {

constexpr size_t kBuffer = 16 << 10;
constexpr size_t kLongestText = 512;
constexpr double kFarewellTime = 0.2;  // seconds for the final message

}  // namespace

Connection::Connection(Socket socket, int peer, int process)
    : socket_(std::move(socket)), peer_(peer), process_(process), buffer_(kBuffer) {}

void Connection::begin(Transfer &transfer) {
    transfer.done = false;
    transfer.came = 0;
    if (!gone_.empty() && early_.empty()) return;
    if (transfer.sends) {
        sends_.push_back(&transfer);
        if (sends_.size() == 1) {
            sent_ = 0;
            advance_sends();
        }
        return;
    }
    if (!early_.empty() && receives_.empty()) {
        std::vector<unsigned char> &message = early_.front();
        transfer.came = std::min(message.size(), transfer.bytes);
        if (transfer.came) memcpy(transfer.data, message.data(), transfer.came);
        transfer.done = true;
        early_.pop_front();
        return;
    }
    receives_.push_back(&transfer);
}

bool Connection::advance() {
    const bool sent = !sends_.empty() && advance_sends();
    return advance_receives() || sent;
}

short Connection::events() const {
    if (!socket_ || !gone_.empty()) return 0;
    short wanted = POLLRDHUP;
    if (!sends_.empty() && !deaf_) wanted |= POLLOUT;
    // A message without a posted receive is left in the socket, which throttles the sender.
    const bool blocked = have_header_ && !in_frame_ && receives_.empty() && !to_the_end_;
    if (!blocked) wanted |= POLLIN;
    return wanted;
}

// ---- Sending ------------------------------------------------------------------------------------

bool Connection::advance_sends() {
    bool moved = false;
    while (!sends_.empty() && !deaf_ && gone_.empty()) {
        Transfer &transfer = *sends_.front();
        header_ = {Frame::kMessage, transfer.bytes};
        iovec parts[2];
        size_t count = 0;
        if (sent_ < sizeof header_)
            parts[count++] = {reinterpret_cast<char *>(&header_) + sent_, sizeof header_ - sent_};
        const size_t at = sent_ < sizeof header_ ? 0 : sent_ - sizeof header_;
        if (transfer.bytes > at)
            parts[count++] = {static_cast<char *>(transfer.data) + at, transfer.bytes - at};
        msghdr message{};
        message.msg_iov = parts;
        message.msg_iovlen = count;
        const ssize_t sent = sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0 && (errno == EAGAIN || errno == ENOBUFS)) break;
        if (sent < 0) {  // its final message may still be readable
            deaf_ = true;
            to_the_end_ = true;
            break;
        }
        moved = true;
        sent_ += size_t(sent);
        if (sent_ < sizeof header_ + transfer.bytes) continue;
        sent_ = 0;
        sends_.pop_front();
        transfer.done = true;
    }
    return moved;
}

void Connection::tell(Frame::Kind kind, const std::string &text, double end) {
    if (!socket_) return;
    // Of the pending messages only a partially sent one is completed.
    if (!sends_.empty() && sent_ == 0) sends_.clear();
    if (!sends_.empty()) sends_.resize(1);
    while (!sends_.empty() && gone_.empty() && !deaf_) {
        advance_sends();
        pollfd polled{socket_.get(), POLLOUT, 0};
        if (!sends_.empty() && (seconds_now() >= end || poll(&polled, 1, poll_time(end, 50)) < 0))
            break;
    }
    if (sends_.empty() && !deaf_) {
        const std::string cut = text.substr(0, kLongestText);
        const Frame frame{kind, cut.size()};
        std::string out(reinterpret_cast<const char *>(&frame), sizeof frame);
        out += cut;
        send_all(socket_, out.data(), out.size(), end);
    }
    shutdown(socket_.get(), SHUT_WR);
    // Pending messages are cancelled, and their memory is released.
    sends_.clear();
    receives_.clear();
    deaf_ = true;
    if (gone_.empty()) gone_ = "this rank has left the communicator";
}

// ---- Receiving ----------------------------------------------------------------------------------

bool Connection::begin_frame() {
    if (!have_header_) {
        if (end_ - begin_ < sizeof frame_) return false;
        memcpy(&frame_, buffer_.data() + begin_, sizeof frame_);
        begin_ += sizeof frame_;
        have_header_ = true;
    }
    target_ = nullptr;
    if (frame_.kind == Frame::kMessage) {
        if (!receives_.empty()) {
            target_ = receives_.front();
            if (frame_.bytes > target_->bytes) {
                gone_ = "rank " + std::to_string(peer_) + " sent " + std::to_string(frame_.bytes) +
                        " bytes where at most " + std::to_string(target_->bytes) + " were expected";
                return false;
            }
            receives_.pop_front();
        } else if (!to_the_end_) {
            return false;
        }
    } else if ((frame_.kind != Frame::kFailure && frame_.kind != Frame::kFarewell) ||
               frame_.bytes > kLongestText) {
        gone_ = "rank " + std::to_string(peer_) + " sent what is no message";
        return false;
    }
    if (!target_) spare_.resize(size_t(frame_.bytes));
    in_frame_ = true;
    taken_ = 0;
    return true;
}

void Connection::end_frame() {
    in_frame_ = have_header_ = false;
    switch (frame_.kind) {
        case Frame::kFailure:
            told_.assign(spare_.begin(), spare_.end());
            break;
        case Frame::kFarewell:
            gone_ = "rank " + std::to_string(peer_) + " has left the communicator";
            break;
        default:
            if (target_) {
                target_->came = size_t(frame_.bytes);
                target_->done = true;
            } else {
                early_.push_back(std::move(spare_));
                spare_.clear();
            }
    }
    target_ = nullptr;
}

bool Connection::use_buffer() {
    bool used = false;
    while (gone_.empty()) {
        if (!in_frame_ && !begin_frame()) break;
        auto *to = target_ ? static_cast<unsigned char *>(target_->data) : spare_.data();
        const size_t now = std::min(end_ - begin_, left_of_frame());
        if (now) memcpy(to + taken_, buffer_.data() + begin_, now);
        begin_ += now;
        taken_ += now;
        used |= now > 0;
        if (left_of_frame() > 0) break;
        end_frame();
        used = true;
    }
    if (begin_ == end_) begin_ = end_ = 0;
    return used;
}

bool Connection::advance_receives() {
    bool moved = use_buffer();
    while (gone_.empty()) {
        const bool blocked = !in_frame_ && have_header_;  // nobody has asked for the message
        if (blocked) break;
        // The rest of the message goes to its destination; what follows it waits in the buffer.
        if (begin_ > 0) {
            memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
            end_ -= begin_;
            begin_ = 0;
        }
        iovec parts[2];
        size_t count = 0;
        const size_t wanted = in_frame_ ? left_of_frame() : 0;
        auto *to = target_ ? static_cast<unsigned char *>(target_->data) : spare_.data();
        if (wanted) parts[count++] = {to + taken_, wanted};
        parts[count++] = {buffer_.data() + end_, buffer_.size() - end_};
        msghdr message{};
        message.msg_iov = parts;
        message.msg_iovlen = count;
        const ssize_t got = recvmsg(socket_.get(), &message, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && errno == EAGAIN) break;
        if (got <= 0) {
            lose(got < 0 ? errno : 0);
            break;
        }
        moved = true;
        const size_t direct = std::min(size_t(got), wanted);
        taken_ += direct;
        end_ += size_t(got) - direct;
        if (in_frame_ && left_of_frame() == 0) end_frame();
        use_buffer();
        if (size_t(got) < wanted) break;
    }
    return moved;
}

void Connection::lose(int error) {
    gone_ = "rank " + std::to_string(peer_) + " (process " + std::to_string(process_) + ") ";
    if (error != 0 && error != ECONNRESET && error != EPIPE)
        gone_ += std::string("cannot be reached any more: ") + strerror(error) + ", and";
    gone_ += in_frame_ ? "has died or given up" : "has died";
}

// ---- All of them --------------------------------------------------------------------------------

namespace {

class TcpLinks final : public Links {
public:
    TcpLinks(int rank, std::vector<Socket> sockets, const std::vector<Member> &table)
        : rank_(rank), waker_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
        for (size_t i = 0; i < sockets.size(); ++i)
            connections_.emplace_back(std::move(sockets[i]), int(i), table[i].process);
        spins_ = std::thread::hardware_concurrency() > sockets.size() ? 200 : 2;
    }

    void begin(Transfer &transfer) override { at(transfer.peer).begin(transfer); }

    bool progress(int milliseconds) override {
        for (int i = 0; i < spins_; ++i)
            if (advance()) return true;
        return milliseconds > 0 && wait(milliseconds);
    }

    void wake() override {
        const uint64_t one = 1;
        [[maybe_unused]] const ssize_t written = write(waker_.get(), &one, sizeof one);
    }

    void tell(const std::string &reason) override {
        if (told_others_) return;
        told_others_ = true;
        const double end = seconds_now() + kFarewellTime;
        for (Connection &connection : connections_)
            connection.tell(reason.empty() ? Frame::kFarewell : Frame::kFailure, reason, end);
    }

    bool reads_late() const override { return false; }

    std::string gone(int peer) override { return at(peer).gone(); }

    std::string told() override {
        for (const Connection &connection : connections_)
            if (!connection.told().empty()) return connection.told();
        return "";
    }

private:
    Connection &at(int peer) { return connections_[size_t(peer)]; }

    bool advance() {
        bool moved = false;
        for (Connection &connection : connections_)
            if (connection.is_busy() && connection.events()) moved |= connection.advance();
        return moved;
    }

    bool wait(int milliseconds) {
        polled_.assign(1, {waker_.get(), POLLIN, 0});
        for (const Connection &connection : connections_) {
            const short events = connection.events();
            polled_.push_back({events ? connection.descriptor() : -1, events, 0});
        }
        if (poll(polled_.data(), nfds_t(polled_.size()), milliseconds) <= 0) return false;
        uint64_t count;
        if (polled_[0].revents) [[maybe_unused]]
            const ssize_t got = read(waker_.get(), &count, sizeof count);
        bool moved = false;
        for (size_t i = 0; i < connections_.size(); ++i) {
            const short events = polled_[i + 1].revents;
            if (events & (POLLRDHUP | POLLHUP | POLLERR)) connections_[i].read_to_the_end();
            if (events) moved |= connections_[i].advance();
        }
        return moved;
    }

    const int rank_;
    Socket waker_;
    std::deque<Connection> connections_;  // by rank; the entry of this rank is unused
    std::vector<pollfd> polled_;
    int spins_;
    bool told_others_ = false;
};

}  // namespace

std::unique_ptr<Links> make_tcp_links(int rank, std::vector<Socket> sockets,
                                      const std::vector<Member> &table) {
    return std::make_unique<TcpLinks>(rank, std::move(sockets), table);
}

}  // namespace infini::cpu::collectives
