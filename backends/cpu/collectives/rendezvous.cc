// The maker's side: a thread that accepts guests. Anybody can connect: peers that do not begin with
// the secret of an id are dropped, and no peer can block the thread.
#include "rendezvous.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>
#include <list>
#include <map>
#include <mutex>
#include <thread>

#include "communicator.h"

namespace infini::cpu::collectives {
namespace {

constexpr double kTimeToSayHello = 10;  // seconds

struct Guest {
    Socket socket;
    double came = 0;
    Hello hello{};
    size_t heard = 0;  // bytes of it
    bool seated = false, leaving = false;
    std::string out;

    void say(const std::string &sentence) {
        const Answer answer{kHelloMagic, 0, uint32_t(sentence.size())};
        out.assign(reinterpret_cast<const char *>(&answer), sizeof answer);
        out += sentence;
        leave();
    }
    // When it has received its reply.
    void leave() {
        leaving = true;
        seated = false;
        came = seconds_now();
    }
};

// The guests with one id.
struct Party {
    Id id{};
    std::vector<Guest *> seats;      // by rank; empty: not arrived
    std::shared_ptr<Ground> notice;  // invites ranks of this host to come here
};

class Server {
public:
    Server(Socket listening, const Address &address)
        : address_(address), listening_(std::move(listening)) {}

    const Address &address() const { return address_; }
    void expect(const Id &id) {
        std::lock_guard guard(lock_);
        parties_[key(id.secret)].id = id;
    }

    void serve() {
        std::vector<pollfd> polled;
        while (true) {
            polled.assign(1, {listening_.get(), POLLIN, 0});
            for (Guest &guest : guests_)
                polled.push_back(
                    {guest.socket.get(), short(guest.out.empty() ? POLLIN : POLLOUT), 0});
            if (poll(polled.data(), nfds_t(polled.size()), guests_.empty() ? -1 : 100) < 0)
                for (pollfd &each : polled) each.revents = 0;
            size_t at = 1;
            for (Guest &guest : guests_)
                if (const short events = polled[at++].revents) attend(guest, events);
            watch_the_time();
            guests_.remove_if([](const Guest &guest) { return !guest.socket; });
            if (polled[0].revents) welcome();
        }
    }

private:
    using Key = std::pair<uint64_t, uint64_t>;
    static Key key(const uint64_t secret[2]) { return {secret[0], secret[1]}; }

    void welcome() {
        while (true) {
            Guest guest;
            guest.socket = accept_guest(listening_);
            if (!guest.socket) break;
            guest.came = seconds_now();
            guests_.push_back(std::move(guest));
        }
        if (errno == EMFILE || errno == ENFILE) {  // out of descriptors: do not spin
            const timespec moment{0, 50'000'000};
            nanosleep(&moment, nullptr);
        }
        // Too many unknown peers: drops those that have been silent longest.
        size_t strangers = 0;
        for (auto guest = guests_.rbegin(); guest != guests_.rend(); ++guest)
            if (!guest->seated && !guest->leaving && ++strangers > kMostStrangers)
                guest->socket.close();
        guests_.remove_if([](const Guest &guest) { return !guest.socket; });
    }

    void attend(Guest &guest, short events) {
        if (!guest.out.empty()) {
            if (!(events & POLLOUT)) return dismiss(guest);
            const ssize_t sent =
                ::send(guest.socket.get(), guest.out.data(), guest.out.size(), MSG_NOSIGNAL);
            if (sent < 0 && errno != EAGAIN && errno != EINTR) return dismiss(guest);
            if (sent > 0) guest.out.erase(0, size_t(sent));
            if (guest.out.empty()) dismiss(guest);
            return;
        }
        char more;
        void *to = guest.seated ? &more : reinterpret_cast<char *>(&guest.hello) + guest.heard;
        const size_t room = guest.seated ? 1 : sizeof guest.hello - guest.heard;
        const ssize_t got = ::recv(guest.socket.get(), to, room, 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (guest.seated) {
            // Registered guests send nothing: this one has disconnected or is not ours.
            const int rank = guest.hello.rank;
            const std::string who = "rank " + std::to_string(rank) + " (process " +
                                    std::to_string(guest.hello.member.process) + ") has died";
            auto party = find(guest);
            dismiss(guest);
            if (party) fail(*party, who, rank);
            return;
        }
        if (got <= 0) return dismiss(guest);
        guest.heard += size_t(got);
        // The first bytes show whether it is one of ours.
        if (guest.heard >= sizeof guest.hello.magic && guest.hello.magic != kHelloMagic)
            return dismiss(guest);
        if (guest.heard == sizeof guest.hello) seat(guest);
    }

    Party *find(const Guest &guest) {
        std::lock_guard guard(lock_);
        auto at = parties_.find(key(guest.hello.secret));
        return at == parties_.end() ? nullptr : &at->second;
    }

    void seat(Guest &guest) {
        Party *party = find(guest);
        const Hello &hello = guest.hello;
        if (!party || hello.ranks < 1 || hello.ranks > kMostRanks || hello.rank < 0 ||
            hello.rank >= hello.ranks)
            return dismiss(guest);
        if (party->seats.empty()) {
            party->seats.resize(size_t(hello.ranks));
            std::string nobody_asks;
            party->notice = open_ground(memory_name(party->id), hello.ranks, &nobody_asks);
            if (party->notice) party->notice->world.send_elsewhere();
        }
        const int ranks = int(party->seats.size());
        if (ranks != hello.ranks)
            return guest.say("other ranks joined as " + std::to_string(ranks) + " ranks, not " +
                             std::to_string(hello.ranks));
        Guest *&taken = party->seats[size_t(hello.rank)];
        if (taken)
            return guest.say("rank " + std::to_string(hello.rank) + " has been taken by process " +
                             std::to_string(taken->hello.member.process));
        taken = &guest;
        guest.seated = true;
        if (std::find(party->seats.begin(), party->seats.end(), nullptr) == party->seats.end())
            hand_out(*party);
    }

    void hand_out(Party &party) {
        const Answer answer{kHelloMagic, uint32_t(party.seats.size()), 0};
        std::string out(reinterpret_cast<const char *>(&answer), sizeof answer);
        for (Guest *guest : party.seats)
            out.append(reinterpret_cast<const char *>(&guest->hello.member), sizeof(Member));
        for (Guest *guest : party.seats) {
            guest->out = out;
            guest->leave();
        }
        clear(party);
        std::lock_guard guard(lock_);
        parties_.erase(key(party.id.secret));
    }

    // All get the same reply; a later attempt starts over.
    void fail(Party &party, const std::string &what, int culprit) {
        for (size_t rank = 0; rank < party.seats.size(); ++rank)
            if (Guest *guest = party.seats[rank]; guest && int(rank) != culprit)
                guest->say(what + " while rank " + std::to_string(rank) +
                           " waited in CommInitRank");
        if (party.notice) party.notice->world.fail(what);
        clear(party);
    }

    void clear(Party &party) {
        if (party.notice) shm_unlink(memory_name(party.id).c_str());
        party.notice.reset();
        party.seats.clear();
    }

    void watch_the_time() {
        const double now = seconds_now();
        for (Guest &guest : guests_) {
            if (!guest.seated && now > guest.came + kTimeToSayHello) guest.socket.close();
            const double timeout = guest.hello.timeout;
            if (!guest.seated || !(timeout > 0) || now < guest.came + timeout) continue;
            Party *party = find(guest);
            if (!party) continue;
            const auto missing = std::find(party->seats.begin(), party->seats.end(), nullptr);
            char text[96];
            snprintf(text, sizeof text,
                     "rank %d did not come within %g s:", int(missing - party->seats.begin()),
                     timeout);
            const std::string what = text;
            for (size_t rank = 0; rank < party->seats.size(); ++rank)
                if (Guest *other = party->seats[rank])
                    other->say(what + " rank " + std::to_string(guest.hello.rank) +
                               " waited in CommInitRank");
            if (party->notice)
                party->notice->world.fail(what + " rank " + std::to_string(guest.hello.rank) +
                                          " waited in CommInitRank");
            clear(*party);
        }
    }

    void dismiss(Guest &guest) {
        if (guest.seated)
            if (Party *party = find(guest))
                for (Guest *&seat : party->seats)
                    if (seat == &guest) seat = nullptr;
        guest.seated = false;
        guest.socket.close();
    }

    const Address address_;
    Socket listening_;
    std::mutex lock_;  // of the next
    std::map<Key, Party> parties_;
    std::list<Guest> guests_;
};

// The server of this process. It lives as long as the process; a child of fork starts with none.
struct Current {
    std::mutex lock;
    Server *server = nullptr;

    static Current &get() {
        static auto *current = [] {
            Socket::watch_forks();  // before this: locks are taken in the opposite order
            pthread_atfork([] { get().lock.lock(); }, [] { get().lock.unlock(); },
                           [] {
                               get().server = nullptr;
                               get().lock.unlock();
                           });
            return new Current;
        }();
        return *current;
    }
};

Server *start_server(std::string *problem) {
    Address address;
    if (!own_address(&address, problem)) return nullptr;
    Socket listening = listen_at(&address, problem);
    if (!listening) return nullptr;
    auto *server = new Server(std::move(listening), address);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for the program's threads
    std::thread([server] { server->serve(); }).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return server;
}

}  // namespace

bool expect_guests(Id *id, std::string *problem) {
    Current &current = Current::get();
    std::lock_guard guard(current.lock);
    if (!current.server) current.server = start_server(problem);
    if (!current.server) return false;
    id->maker = current.server->address();
    current.server->expect(*id);
    return true;
}

}  // namespace infini::cpu::collectives
