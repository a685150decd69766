// How the vendor's id, which is longer than ours, gets from rank 0 to the others: our id has the
// address of whoever made it, where a thread takes the vendor's id from rank 0 and hands it out
// when all ranks have come.
#pragma once

#include <infini/collectives.h>

#include <string>
#include <vector>

#include "backends/cpu/collectives/tcp_sockets.h"

namespace infini::vendor_runtime::collectives {

struct Id {
    uint64_t magic, nonce;
    uint64_t secret[2];  // who knows it may join
    cpu::collectives::Address maker;
};
static_assert(sizeof(Id) <= INFINI_COLLECTIVE_ID_BYTES);

// Makes an id, and lets this process wait for those who come with it. False: *problem says why.
bool make(Id *id, std::string *problem);
// Is it one of ours?
bool is_made(const Id &id);

// What rank 0 has for the others: the vendor's id, or the sentence that says why there is none.
struct Gift {
    std::vector<char> bytes;
    std::string refusal;
};
// Rank 0 gives, the others take. All wait for each other. False: *problem says why.
bool give(const Id &id, int ranks, const Gift &gift, double timeout, std::string *problem);
bool take(const Id &id, int ranks, int rank, double timeout, Gift *gift, std::string *problem);

}  // namespace infini::vendor_runtime::collectives
