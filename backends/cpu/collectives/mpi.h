// Ranks that were started by MPI: how they find each other, and messages between them.
//
// Nobody needs MPI to build or to import this. It is opened when a join needs it, and ended when
// the process ends, unless the program started it itself. How it is kept: mpi_process.h.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "links.h"

namespace infini::cpu::collectives {

// Is this one of several processes of an MPI job? Starts nothing: it is the environment that tells,
// or the program's own use of MPI.
bool mpi_possible(std::string *why_not);

// False where the launcher says that all processes of the job are on this host.
bool mpi_spans_hosts();

// Waits until all ranks of an id have come, and reports who they are. All processes of the MPI job
// have to start MPI at some time, or this waits in vain.
bool mpi_table(uint64_t nonce, int ranks, int rank, const Member &mine, double timeout,
               std::vector<Member> *table, std::string *problem);

// After mpi_table. Null where two ranks are in the same process.
std::unique_ptr<Links> mpi_links(uint64_t nonce, int rank, const std::vector<Member> &table,
                                 std::string *problem);

}  // namespace infini::cpu::collectives
