// The side of those who join with an id.
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "communicator.h"
#include "rendezvous.h"

namespace infini::cpu::collectives {
namespace {

constexpr double kGrace = 5;  // seconds: the maker has the time-out
constexpr size_t kLongestSentence = 1024;

void mix(uint64_t *hash, const void *data, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i)
        *hash = (*hash ^ static_cast<const unsigned char *>(data)[i]) * 0x100000001b3;
}

// Connects to the maker. 0, or an errno.
int visit(const Address &maker, double end, Socket *socket) {
    *socket = begin_connect(maker);
    if (!*socket) return errno;
    while (true) {
        pollfd polled{socket->get(), POLLOUT, 0};
        if (poll(&polled, 1, poll_time(end, 1000)) > 0) return connect_result(*socket);
        if (end != 0 && seconds_now() >= end) return ETIMEDOUT;
    }
}

}  // namespace

uint64_t this_host() {
    uint64_t hash = 0xcbf29ce484222325;
    char text[64] = "";
    if (FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r")) {
        mix(&hash, text, fread(text, 1, sizeof text, file));
        fclose(file);
    }
    struct stat status{};
    if (stat("/dev/shm", &status) == 0) mix(&hash, &status.st_dev, sizeof status.st_dev);
    const char *given = getenv("INFINI_CCL_HOST");
    if (given) mix(&hash, given, strlen(given));
    return hash;
}

std::string memory_name(const Id &id) {
    char name[64];
    snprintf(name, sizeof name, "/infini-ccl-%016" PRIx64, id.nonce);
    return name;
}

bool find_others(const Id &id, int ranks, int rank, const Member &mine, double timeout,
                 Found *found, std::string *problem) {
    const double end = timeout > 0 ? seconds_now() + timeout : 0;
    const std::string maker = "the process that made comm_id, at " + text_of(id.maker) + ",";
    auto refuse = [&](int error) {
        char text[160];
        if (error == ETIMEDOUT && timeout > 0)
            snprintf(text, sizeof text, " did not answer rank %d within %g s", rank, timeout);
        else
            snprintf(text, sizeof text, " cannot be reached by rank %d: %s", rank, strerror(error));
        *problem = maker + text;
        return false;
    };
    if (!id.maker.is_known()) {
        *problem =
            "comm_id was made by a process that listens nowhere: all ranks have to be on its host";
        return false;
    }
    Socket socket;
    if (const int error = visit(id.maker, end, &socket)) return refuse(error);

    // The local address of the connection to the maker is the one at which others reach this rank.
    Address here{};
    socklen_t length = sizeof here;
    if (getenv("INFINI_CCL_ADDRESS")) {
        if (!own_address(&here, problem)) return false;
    } else if (getsockname(socket.get(), &here.any, &length) != 0) {
        return refuse(errno);
    }
    found->listening = listen_at(&here, problem);
    if (!found->listening) return false;

    Hello hello{kHelloMagic, {id.secret[0], id.secret[1]}, ranks, rank, timeout, mine};
    memcpy(hello.member.address, &here, sizeof here);
    if (const int error = send_all(socket, &hello, sizeof hello, end)) return refuse(error);
    Answer answer{};
    const double last = end == 0 ? 0 : end + kGrace;
    if (const int error = receive_all(socket, &answer, sizeof answer, last)) {
        if (error == ETIMEDOUT) return refuse(error);
        *problem = maker + " sent rank " + std::to_string(rank) +
                   " away: it has ended, or the id has been used before";
        return false;
    }
    if (answer.magic == kHelloMagic && answer.text_bytes > 0 &&
        answer.text_bytes <= kLongestSentence) {
        std::string text(answer.text_bytes, ' ');
        if (receive_all(socket, text.data(), text.size(), last) != 0) return refuse(ECONNRESET);
        *problem = text;
        return false;
    }
    if (answer.magic != kHelloMagic || answer.members != uint32_t(ranks)) return refuse(EPROTO);
    found->table.resize(size_t(ranks));
    if (const int error =
            receive_all(socket, found->table.data(), found->table.size() * sizeof(Member), last))
        return refuse(error);
    return true;
}

}  // namespace infini::cpu::collectives
