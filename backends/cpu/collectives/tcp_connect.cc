// From a table of ranks to a connection with each. Unknown peers that connect meanwhile are
// dropped.
#include <errno.h>
#include <poll.h>
#include <string.h>

#include <algorithm>
#include <list>

#include "rendezvous.h"
#include "tcp.h"

namespace infini::cpu::collectives {
namespace {

// The first message on a connection, and its echo, in which the two ranks are exchanged.
struct Greeting {
    uint64_t magic;
    uint64_t secret[2];
    int32_t from, to;
};
constexpr uint64_t kGreetingMagic = 0x31676e69'74656572;
constexpr double kTimeToGreet = 10;  // seconds

class Connector {
public:
    Connector(const Id &id, int rank, const Found &found, double timeout)
        : id_(id),
          me_(rank),
          found_(found),
          timeout_(timeout),
          end_(timeout > 0 ? seconds_now() + timeout : 0),
          made_(found.table.size()) {}

    bool run(std::string *problem) {
        for (int i = 0; i < me_; ++i) {
            Call call;
            call.rank = i;
            call.socket = begin_connect(address_of(i));
            if (!call.socket) return refuse(i, errno, problem);
            calls_.push_back(std::move(call));
        }
        while (true) {
            int missing = -1;
            for (int i = 0; i < int(made_.size()) && missing < 0; ++i)
                if (i != me_ && !made_[size_t(i)]) missing = i;
            if (missing < 0) return true;
            if (end_ != 0 && seconds_now() >= end_) {
                char text[128];
                snprintf(text, sizeof text,
                         "rank %d did not come within %g s: rank %d waited in CommInitRank",
                         missing, timeout_, me_);
                *problem = text;
                return false;
            }
            if (!step(problem)) return false;
        }
    }

    std::vector<Socket> take() { return std::move(made_); }

private:
    struct Call {
        Socket socket;
        int rank = -1;  // the one called; -1: this side was
        bool greeted = false;
        double came = 0;
        Greeting heard{};
        size_t heard_bytes = 0;
    };

    Address address_of(int rank) const {
        Address address;
        memcpy(&address, found_.table[size_t(rank)].address, sizeof address);
        return address;
    }

    bool refuse(int rank, int error, std::string *problem) const {
        *problem = "rank " + std::to_string(me_) + " cannot reach rank " + std::to_string(rank) +
                   " at " + text_of(address_of(rank)) + ": " + strerror(error);
        return false;
    }

    bool step(std::string *problem) {
        std::vector<pollfd> polled{{found_.listening.get(), POLLIN, 0}};
        for (const Call &call : calls_)
            polled.push_back(
                {call.socket.get(), short(call.rank >= 0 && !call.greeted ? POLLOUT : POLLIN), 0});
        if (poll(polled.data(), nfds_t(polled.size()), poll_time(end_, 200)) < 0) return true;
        size_t at = 1;
        for (Call &call : calls_)
            if (polled[at++].revents && !attend(call, problem)) return false;
        for (Call &call : calls_)
            if (call.rank < 0 && seconds_now() > call.came + kTimeToGreet) call.socket.close();
        calls_.remove_if([](const Call &call) { return !call.socket; });
        if (polled[0].revents) welcome();
        return true;
    }

    void welcome() {
        while (calls_.size() < kMostStrangers + made_.size()) {
            Call call;
            call.socket = accept_guest(found_.listening);
            if (!call.socket) return;
            call.came = seconds_now();
            calls_.push_back(std::move(call));
        }
    }

    // False: a rank that is needed cannot be reached.
    bool attend(Call &call, std::string *problem) {
        if (call.rank >= 0 && !call.greeted) {
            if (const int error = connect_result(call.socket))
                return refuse(call.rank, error, problem);
            if (!greet(call.socket, call.rank)) return refuse(call.rank, errno, problem);
            call.greeted = true;
            return true;
        }
        const ssize_t got =
            recv(call.socket.get(), reinterpret_cast<char *>(&call.heard) + call.heard_bytes,
                 sizeof call.heard - call.heard_bytes, 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
        if (got <= 0) {
            const int error = got < 0 ? errno : ECONNRESET;
            call.socket.close();
            return call.rank < 0 || refuse(call.rank, error, problem);
        }
        call.heard_bytes += size_t(got);
        if (call.heard_bytes < sizeof call.heard) return true;
        const Greeting &heard = call.heard;
        const bool ours = heard.magic == kGreetingMagic && heard.secret[0] == id_.secret[0] &&
                          heard.secret[1] == id_.secret[1] && heard.to == me_;
        const bool expected =
            ours &&
            (call.rank >= 0 ? heard.from == call.rank
                            : heard.from > me_ && heard.from < int(made_.size()) &&
                                  !made_[size_t(heard.from)] && greet(call.socket, heard.from));
        if (expected) {
            made_[size_t(heard.from)] = std::move(call.socket);
            return true;
        }
        call.socket.close();
        return call.rank < 0 || refuse(call.rank, EPROTO, problem);
    }

    // A fresh connection accepts so little immediately.
    bool greet(const Socket &socket, int to) const {
        const Greeting greeting{kGreetingMagic, {id_.secret[0], id_.secret[1]}, me_, to};
        const ssize_t sent = send(socket.get(), &greeting, sizeof greeting, MSG_NOSIGNAL);
        return sent == ssize_t(sizeof greeting);
    }

    const Id &id_;
    const int me_;
    const Found &found_;
    const double timeout_, end_;
    std::vector<Socket> made_;
    std::list<Call> calls_;
};

}  // namespace

std::unique_ptr<Links> tcp_links(const Id &id, int rank, Found found, double timeout,
                                 std::string *problem) {
    Connector connector(id, rank, found, timeout);
    if (!connector.run(problem)) return nullptr;
    std::vector<Socket> sockets = connector.take();
    for (const Socket &socket : sockets)
        if (socket) make_prompt(socket);
    return make_tcp_links(rank, std::move(sockets), found.table);
}

}  // namespace infini::cpu::collectives
