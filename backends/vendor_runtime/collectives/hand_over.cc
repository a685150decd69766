#include "hand_over.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>

#include <algorithm>
#include <map>
#include <memory>
#include <thread>

namespace infini::vendor_runtime::collectives {
namespace {

using namespace cpu::collectives;

constexpr uint64_t kMagic = 0x31646976'696e6669;
constexpr double kTimeToSayHello = 5;  // seconds: time limit for unknown peers
constexpr uint32_t kMostBytes = 1 << 16;

// The first message of both sides; `bytes` of the vendor's id, or of a message, follow.
struct Message {
    uint64_t magic;
    uint64_t secret[2];
    int32_t ranks, rank;
    uint32_t bytes, is_refusal;
};

int send_gift(const Socket &socket, Message message, const Gift &gift, double end) {
    const bool refused = !gift.refusal.empty();
    message.is_refusal = refused;
    message.bytes = uint32_t(refused ? gift.refusal.size() : gift.bytes.size());
    if (const int error = send_all(socket, &message, sizeof message, end)) return error;
    return send_all(socket, refused ? gift.refusal.data() : gift.bytes.data(), message.bytes, end);
}

int receive_gift(const Socket &socket, Message *message, Gift *gift, double end) {
    if (const int error = receive_all(socket, message, sizeof *message, end)) return error;
    if (message->magic != kMagic || message->bytes > kMostBytes) return EPROTO;
    std::vector<char> bytes(message->bytes);
    if (const int error = receive_all(socket, bytes.data(), bytes.size(), end)) return error;
    if (message->is_refusal)
        gift->refusal.assign(bytes.begin(), bytes.end());
    else
        gift->bytes = std::move(bytes);
    return 0;
}

// ---- The maker's side ---------------------------------------------------------------------------

// Ends when all ranks have arrived and have received the id: the vendor's library is not called
// before, because it waits for the others without a time-out. Peers that do not know the secret are
// dropped.
void serve(const Id &id, const Socket &listening) {
    std::map<int, Socket> waiting;
    Gift gift;
    int ranks = 0;
    auto say = [&](const Socket &guest, const Gift &given) {
        send_gift(guest, {kMagic, {}, ranks, 0, 0, 0}, given, seconds_now() + kTimeToSayHello);
    };
    while (!ranks || int(waiting.size()) < ranks) {
        pollfd polled{listening.get(), POLLIN, 0};
        if (poll(&polled, 1, -1) < 0 && errno != EINTR) return;
        Socket guest = accept_guest(listening);
        if (!guest) {
            if (!listening) return;  // a forked child has none of its parent's
            continue;
        }
        Message hello{};
        Gift brought;
        if (receive_gift(guest, &hello, &brought, seconds_now() + kTimeToSayHello) ||
            !std::equal(id.secret, id.secret + 2, hello.secret))
            continue;
        if (!ranks) ranks = hello.ranks;
        if (hello.ranks != ranks || waiting.count(hello.rank)) {
            Gift no;
            no.refusal = hello.ranks != ranks
                             ? "rank " + std::to_string(hello.rank) + " says that there are " +
                                   std::to_string(hello.ranks) + " ranks, and another one " +
                                   std::to_string(ranks)
                             : "rank " + std::to_string(hello.rank) + " has joined twice";
            say(guest, no);
            continue;
        }
        if (hello.rank == 0) gift = std::move(brought);
        waiting[hello.rank] = std::move(guest);
    }
    for (auto &[rank, socket] : waiting) say(socket, gift);
}

// ---- The guests' side ---------------------------------------------------------------------------

bool visit(const Id &id, Message hello, const Gift &gift, double timeout, Gift *answer,
           std::string *problem) {
    const double end = timeout > 0 ? seconds_now() + timeout : 0;
    Socket socket = begin_connect(id.maker);
    int error = socket ? 0 : errno;
    while (!error) {
        pollfd polled{socket.get(), POLLOUT, 0};
        if (poll(&polled, 1, poll_time(end, 1000)) > 0) {
            error = connect_result(socket);
            break;
        }
        if (end != 0 && seconds_now() >= end) error = ETIMEDOUT;
    }
    Message heard{};
    memcpy(hello.secret, id.secret, sizeof hello.secret);
    if (!error) error = send_gift(socket, hello, gift, end);
    if (!error) error = receive_gift(socket, &heard, answer, end);
    if (!error) return true;
    const std::string rank = std::to_string(hello.rank);
    char seconds[32];
    snprintf(seconds, sizeof seconds, "%g s", timeout);
    if (error == ETIMEDOUT)
        *problem = "not all of " + std::to_string(hello.ranks) + " ranks came to join rank " +
                   rank + " within " + seconds;
    else
        *problem = "the process that made comm_id, at " + text_of(id.maker) +
                   ", cannot be reached by rank " + rank + ": " + strerror(error);
    return false;
}

}  // namespace

bool make(Id *id, std::string *problem) {
    uint64_t random[3];
    if (getrandom(random, sizeof random, 0) != sizeof random) {
        *problem = "the system gives no random numbers";
        return false;
    }
    *id = {kMagic, random[0], {random[1], random[2]}, {}};
    if (!own_address(&id->maker, problem)) return false;
    auto listening = std::make_shared<Socket>(listen_at(&id->maker, problem));
    if (!*listening) return false;
    std::thread([id = *id, listening] { serve(id, *listening); }).detach();
    return true;
}

bool is_made(const Id &id) { return id.magic == kMagic; }

bool give(const Id &id, int ranks, const Gift &gift, double timeout, std::string *problem) {
    Gift answer;
    if (!visit(id, {kMagic, {}, ranks, 0, 0, 0}, gift, timeout, &answer, problem)) return false;
    *problem = answer.refusal;
    return answer.refusal.empty();
}

bool take(const Id &id, int ranks, int rank, double timeout, Gift *gift, std::string *problem) {
    if (!visit(id, {kMagic, {}, ranks, rank, 0, 0}, {}, timeout, gift, problem)) return false;
    *problem = gift->refusal;
    return gift->refusal.empty();
}

}  // namespace infini::vendor_runtime::collectives
