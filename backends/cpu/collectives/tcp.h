// Links over TCP: one connection for each pair of ranks.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "links.h"
#include "tcp_sockets.h"

namespace infini::cpu::collectives {

// The header of each message.
struct Frame {
    enum Kind : uint64_t { kMessage = 0x4d, kFailure = 0x46, kFarewell = 0x42 };
    uint64_t kind, bytes;
};

// The connection with one other rank. Never blocks.
class Connection {
public:
    Connection(Socket socket, int peer, int process);

    void begin(Transfer &transfer);
    // Makes progress. True: there was some.
    bool advance();
    // Data is in flight: try before waiting in poll().
    bool is_busy() const { return !sends_.empty() || !receives_.empty() || in_frame_; }
    // What poll() should wait for; 0: nothing.
    short events() const;
    int descriptor() const { return socket_.get(); }
    // The other side has closed: remaining data is read even without posted receives.
    void read_to_the_end() { to_the_end_ = true; }

    // Sends a final frame, after completing a partially sent message, and shuts down sending.
    void tell(Frame::Kind kind, const std::string &text, double end);

    const std::string &gone() const { return gone_; }
    const std::string &told() const { return told_; }

private:
    bool advance_sends();
    bool advance_receives();
    // Consumes bytes that arrived before a receive was posted. True: there was progress.
    bool use_buffer();
    bool begin_frame();
    void end_frame();
    void lose(int error);
    size_t left_of_frame() const { return size_t(frame_.bytes) - taken_; }

    Socket socket_;
    const int peer_, process_;
    std::string gone_, told_;

    std::deque<Transfer *> sends_;
    Frame header_{};
    size_t sent_ = 0;    // bytes of the first one, header included
    bool deaf_ = false;  // the other side receives nothing any more

    std::deque<Transfer *> receives_;
    std::deque<std::vector<unsigned char>> early_;  // messages without a posted receive
    std::vector<unsigned char> buffer_;
    size_t begin_ = 0, end_ = 0;  // what it holds
    bool in_frame_ = false, have_header_ = false, to_the_end_ = false;
    Frame frame_{};
    size_t taken_ = 0;  // bytes of the frame
    Transfer *target_ = nullptr;
    std::vector<unsigned char> spare_;  // without a target
};

// By rank; this rank's own socket is none.
std::unique_ptr<Links> make_tcp_links(int rank, std::vector<Socket> sockets,
                                      const std::vector<Member> &table);

}  // namespace infini::cpu::collectives
