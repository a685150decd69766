// Sockets: finding the local address, and helpers for all users of sockets.
#pragma once

#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>

#include <atomic>
#include <string>
#include <utility>

namespace infini::cpu::collectives {

// An address with a port, as it travels in ids and tables.
union Address {
    sockaddr any;
    sockaddr_in v4;
    sockaddr_in6 v6;

    socklen_t length() const { return any.sa_family == AF_INET6 ? sizeof v6 : sizeof v4; }
    bool is_known() const { return any.sa_family == AF_INET || any.sa_family == AF_INET6; }
    void set_port(uint16_t port);
};
static_assert(sizeof(Address) == 28);

std::string text_of(const Address &address);

// The number of forks since sockets were tracked that led to this process.
inline std::atomic<unsigned> forks{0};

// A descriptor that is closed with its owner, and in the child when the process forks: a connection
// must end with the process that uses it, even if children exist.
class Socket {
public:
    Socket() = default;
    explicit Socket(int descriptor);
    Socket(Socket &&other) noexcept { *this = std::move(other); }
    Socket &operator=(Socket &&other) noexcept;
    ~Socket() { close(); }

    void close();
    // Installs the fork handlers if necessary: for code whose own handlers must come after them.
    static void watch_forks();
    // -1: none. A forked child has none of its parent's.
    int get() const { return generation_ == forks.load() ? descriptor_ : -1; }
    explicit operator bool() const { return get() >= 0; }

private:
    int descriptor_ = -1;
    unsigned generation_ = 0;  // of the process, counted by forks
};

// The address at which other hosts find this process: INFINI_CCL_ADDRESS (an address, a name or an
// interface), else the one from which MASTER_ADDR is reached, else that of the default route, else
// the first of the host, else the loopback.
bool own_address(Address *address, std::string *problem);

// Listens at an address, on a port of the system's choice, which is filled in.
Socket listen_at(Address *address, std::string *problem);
// Begins to connect; errno says why there is no socket.
Socket begin_connect(const Address &address);
// How that ended: 0, or an errno.
int connect_result(const Socket &socket);
// The next connection of a listening socket; none: nobody is waiting.
Socket accept_guest(const Socket &listening);
// Disables Nagle's algorithm, and enables detection of dead hosts.
void make_prompt(const Socket &socket);

// All of a message before `end`, on seconds_now()'s clock (0: for ever). 0, or an errno.
int send_all(const Socket &socket, const void *data, size_t bytes, double end);
int receive_all(const Socket &socket, void *data, size_t bytes, double end);

// Seconds on a monotonic clock.
double seconds_now();
// Until when, in milliseconds for poll(): `end` 0 is for ever.
int poll_time(double end, int most);

}  // namespace infini::cpu::collectives
