// The ranks of a communicator as processes of an MPI job.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "links.h"
#include "mpi_process.h"

namespace infini::cpu::collectives {

struct MpiMembers {
    int channel = 0;             // of the communicator, the same on all ranks
    std::vector<int> processes;  // by rank: the rank in the MPI job
    // By rank: the process on its host, as in Seat.
    std::vector<int> numbers;
    std::vector<uint64_t> starts, spaces;
};

std::unique_ptr<Links> make_mpi_links(MpiProcess &mpi, int rank, const std::vector<Member> &table,
                                      MpiMembers members);

}  // namespace infini::cpu::collectives
