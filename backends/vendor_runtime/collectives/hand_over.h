// How the vendor's id, which is longer than ours, gets from rank 0 to the others: our id contains
// the address of its maker, where a thread receives the vendor's id from rank 0 and distributes it
// when all ranks have arrived.
#pragma once

#include <infini/collectives.h>

#include <string>
#include <vector>

#include "backends/cpu/collectives/tcp_sockets.h"

namespace infini::vendor_runtime::collectives {

struct Id {
    uint64_t magic, nonce;
    uint64_t secret[2];  // peers that know it may join
    cpu::collectives::Address maker;
};
static_assert(sizeof(Id) <= INFINI_COLLECTIVE_ID_BYTES);

// Creates an id, and makes this process listen for ranks with it. False: *problem has the reason.
bool make(Id *id, std::string *problem);
// Whether it is one of ours.
bool is_made(const Id &id);

// Rank 0's message for the others: the vendor's id, or the reason why there is none.
struct Gift {
    std::vector<char> bytes;
    std::string refusal;
};
// Sends the id from rank 0 to the others. All wait for each other. False: *problem has the reason.
bool give(const Id &id, int ranks, const Gift &gift, double timeout, std::string *problem);
bool take(const Id &id, int ranks, int rank, double timeout, Gift *gift, std::string *problem);

}  // namespace infini::vendor_runtime::collectives
