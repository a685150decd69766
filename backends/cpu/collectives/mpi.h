// Ranks that were started by MPI: how they find each other, and messages between them.
//
// MPI is not needed to build or import this. It is opened when a join needs it, and finalized when
// the process ends, unless the program initialized it itself. See mpi_process.h.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "links.h"

namespace infini::cpu::collectives {

// Whether this is one of several processes of an MPI job, according to the environment or the
// program's own use of MPI. Does not initialize MPI.
bool mpi_possible(std::string *why_not);

// False where the launcher says that all processes of the job are on this host.
bool mpi_spans_hosts();

// Waits until all ranks of an id have joined, and returns their table. All processes of the MPI job
// must initialize MPI at some time, or this waits in vain.
bool mpi_table(uint64_t nonce, int ranks, int rank, const Member &mine, double timeout,
               std::vector<Member> *table, std::string *problem);

// After mpi_table. Null where two ranks are in the same process.
std::unique_ptr<Links> mpi_links(uint64_t nonce, int rank, const std::vector<Member> &table,
                                 std::string *problem);

}  // namespace infini::cpu::collectives
