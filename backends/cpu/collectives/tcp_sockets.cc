#include "tcp_sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <set>

namespace infini::cpu::collectives {
namespace {

// All sockets of this process. Never destroyed: threads may outlive the program's statics.
struct Open {
    std::mutex lock;
    std::set<int> descriptors;

    static Open &get() {
        static auto *open = [] {
            pthread_atfork([] { get().lock.lock(); }, [] { get().lock.unlock(); },
                           [] {
                               for (int descriptor : get().descriptors) ::close(descriptor);
                               get().descriptors.clear();
                               ++forks;
                               get().lock.unlock();
                           });
            return new Open;
        }();
        return *open;
    }
};

void copy_address(Address *to, const sockaddr *from) {
    memset(to, 0, sizeof *to);
    memcpy(to, from, from->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in));
    to->set_port(0);
}

bool resolve(const char *name, Address *address) {
    addrinfo hints{}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    if (getaddrinfo(name, nullptr, &hints, &found) != 0) return false;
    bool known = false;
    for (addrinfo *at = found; at && !known; at = at->ai_next)
        if (at->ai_family == AF_INET || at->ai_family == AF_INET6) {
            copy_address(address, at->ai_addr);
            known = true;
        }
    freeaddrinfo(found);
    return known;
}

// The address of an interface; without a name, of the first one that others can reach.
bool address_of_interface(const char *name, Address *address) {
    ifaddrs *all = nullptr;
    if (getifaddrs(&all) != 0) return false;
    bool found = false;
    for (int family : {AF_INET, AF_INET6}) {
        for (ifaddrs *at = all; at && !found; at = at->ifa_next) {
            if (!at->ifa_addr || at->ifa_addr->sa_family != family || !(at->ifa_flags & IFF_UP))
                continue;
            if (name ? strcmp(name, at->ifa_name) != 0 : (at->ifa_flags & IFF_LOOPBACK) != 0)
                continue;
            copy_address(address, at->ifa_addr);
            // Link-local addresses are useless without the link.
            if (family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&address->v6.sin6_addr) && !name)
                continue;
            found = true;
        }
    }
    freeifaddrs(all);
    return found;
}

// The local address from which a packet to `other` would be sent; nothing is sent.
bool address_towards(Address other, Address *address) {
    other.set_port(9);
    const int probe = ::socket(other.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (probe < 0) return false;
    socklen_t length = sizeof *address;
    memset(address, 0, sizeof *address);
    const bool known = ::connect(probe, &other.any, other.length()) == 0 &&
                       getsockname(probe, &address->any, &length) == 0;
    ::close(probe);
    address->set_port(0);
    return known;
}

}  // namespace

void Address::set_port(uint16_t port) {
    if (any.sa_family == AF_INET6)
        v6.sin6_port = htons(port);
    else
        v4.sin_port = htons(port);
}

std::string text_of(const Address &address) {
    char text[INET6_ADDRSTRLEN] = "?";
    if (address.any.sa_family == AF_INET6) {
        inet_ntop(AF_INET6, &address.v6.sin6_addr, text, sizeof text);
        return "[" + std::string(text) + "]:" + std::to_string(ntohs(address.v6.sin6_port));
    }
    inet_ntop(AF_INET, &address.v4.sin_addr, text, sizeof text);
    return std::string(text) + ":" + std::to_string(ntohs(address.v4.sin_port));
}

Socket::Socket(int descriptor) : descriptor_(descriptor) {
    if (descriptor < 0) return;
    Open &open = Open::get();
    std::lock_guard guard(open.lock);
    open.descriptors.insert(descriptor);
    generation_ = forks.load();
}

Socket &Socket::operator=(Socket &&other) noexcept {
    if (this != &other) {
        close();
        descriptor_ = std::exchange(other.descriptor_, -1);
        generation_ = other.generation_;
    }
    return *this;
}

void Socket::close() {
    if (descriptor_ < 0) return;
    Open &open = Open::get();
    std::lock_guard guard(open.lock);
    // A forked child has closed the inherited descriptor, and the number may have been reused.
    if (generation_ == forks.load() && open.descriptors.erase(descriptor_)) ::close(descriptor_);
    descriptor_ = -1;
}

void Socket::watch_forks() { Open::get(); }

bool own_address(Address *address, std::string *problem) {
    const char *given = getenv("INFINI_CCL_ADDRESS");
    if (given && *given) {
        if (address_of_interface(given, address) || resolve(given, address)) return true;
        *problem = "INFINI_CCL_ADDRESS is " + std::string(given) +
                   ": expected an address, a name or an interface of this host";
        return false;
    }
    const char *master = getenv("MASTER_ADDR");
    Address other;
    if (master && *master && resolve(master, &other) && address_towards(other, address))
        return true;
    // The interface of the default route leads to the others; these addresses are reserved for
    // documentation.
    for (const char *outside : {"192.0.2.1", "2001:db8::1"})
        if (resolve(outside, &other) && address_towards(other, address)) return true;
    if (address_of_interface(nullptr, address)) return true;
    memset(address, 0, sizeof *address);
    address->v4.sin_family = AF_INET;
    address->v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return true;
}

Socket listen_at(Address *address, std::string *problem) {
    Socket made(::socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    socklen_t length = sizeof *address;
    address->set_port(0);
    if (made && ::bind(made.get(), &address->any, address->length()) == 0 &&
        ::listen(made.get(), 1024) == 0 && getsockname(made.get(), &address->any, &length) == 0)
        return made;
    *problem = "cannot listen at " + text_of(*address) + ": " + strerror(errno);
    return Socket();
}

Socket begin_connect(const Address &address) {
    Socket made(::socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!made) return made;
    if (::connect(made.get(), &address.any, address.length()) != 0 && errno != EINPROGRESS &&
        errno != EINTR) {
        const int error = errno;
        made.close();
        errno = error;
    }
    return made;
}

int connect_result(const Socket &socket) {
    int error = 0;
    socklen_t length = sizeof error;
    if (getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0) return errno;
    return error;
}

Socket accept_guest(const Socket &listening) {
    return Socket(::accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

void make_prompt(const Socket &socket) {
    const int yes = 1, idle = 30, interval = 10, count = 3;
    setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    setsockopt(socket.get(), SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
    setsockopt(socket.get(), IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(socket.get(), IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
    setsockopt(socket.get(), IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
}

namespace {

template <class Move>
int move_all(const Socket &socket, size_t bytes, double end, short events, const Move &move) {
    for (size_t at = 0; at < bytes;) {
        const ssize_t moved = move(at);
        if (moved > 0) {
            at += size_t(moved);
            continue;
        }
        if (moved == 0) return ECONNRESET;
        if (errno == EINTR) continue;
        if (errno != EAGAIN) return errno;
        pollfd polled{socket.get(), events, 0};
        if (end != 0 && seconds_now() >= end) return ETIMEDOUT;
        poll(&polled, 1, poll_time(end, 1000));
    }
    return 0;
}

}  // namespace

int send_all(const Socket &socket, const void *data, size_t bytes, double end) {
    return move_all(socket, bytes, end, POLLOUT, [&](size_t at) {
        return ::send(socket.get(), static_cast<const char *>(data) + at, bytes - at, MSG_NOSIGNAL);
    });
}

int receive_all(const Socket &socket, void *data, size_t bytes, double end) {
    return move_all(socket, bytes, end, POLLIN, [&](size_t at) {
        return ::recv(socket.get(), static_cast<char *>(data) + at, bytes - at, 0);
    });
}

double seconds_now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

int poll_time(double end, int most) {
    if (end == 0) return most;
    return int(std::clamp((end - seconds_now()) * 1000 + 1, 0.0, double(most)));
}

}  // namespace infini::cpu::collectives
