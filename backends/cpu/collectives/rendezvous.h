// How ranks on several hosts find each other: the process that makes an id listens for those who
// join with it, and sends the table of all ranks to each when the last has arrived. Ranks of the
// maker's host first read the memory named by the id, and come here only when they find there that
// others are elsewhere.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "links.h"
#include "tcp_sockets.h"

namespace infini::cpu::collectives {

// Limit of unidentified connections; more are refused.
constexpr size_t kMostStrangers = 512;

struct Id {
    uint64_t magic, nonce;
    uint64_t secret[2];  // who knows it may join
    uint64_t host;       // of the maker
    uint32_t flags;
    Address maker;  // unknown: it cannot listen, so all ranks must be on its host
};
constexpr uint64_t kIdMagic = 0x326c6363'696e6669;
constexpr uint32_t kMadeUnderMpi = 1;

// Ranks with the same number share memory. It differs between machines, boots and containers, and
// includes INFINI_CCL_HOST.
uint64_t this_host();
std::string memory_name(const Id &id);

// Makes this process listen for ranks that join with the id, and writes the address into it. False:
// it cannot.
bool expect_guests(Id *id, std::string *problem);

// The result of a join.
struct Found {
    std::vector<Member> table;
    Socket listening;  // at this rank's address in the table
};
// Joins as one of the ranks: waits until all have arrived. False: *problem names the missing ranks.
bool find_others(const Id &id, int ranks, int rank, const Member &mine, double timeout,
                 Found *found, std::string *problem);

// Connections with all other ranks of the table: each rank connects to those before it.
std::unique_ptr<Links> tcp_links(const Id &id, int rank, Found found, double timeout,
                                 std::string *problem);

// ---- The protocol -------------------------------------------------------------------------

struct Hello {
    uint64_t magic;
    uint64_t secret[2];
    int32_t ranks, rank;
    double timeout;
    Member member;
};
constexpr uint64_t kHelloMagic = 0x316f6c6c'65486363;

struct Answer {
    uint64_t magic;
    uint32_t members;     // that follow
    uint32_t text_bytes;  // or the length of an error message
};

}  // namespace infini::cpu::collectives
