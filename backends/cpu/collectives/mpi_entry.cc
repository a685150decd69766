// Functions for Python, which exchanges ids before there is a communicator.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <vector>

#include "mpi_process.h"

namespace {

using infini::cpu::collectives::Idling;
using infini::cpu::collectives::MpiProcess;

int refuse(const std::string &reason, char *problem, size_t problem_bytes) {
    if (problem && problem_bytes) snprintf(problem, problem_bytes, "%s", reason.c_str());
    return 1;
}

}  // namespace

// Starts MPI if necessary, and reports this process's rank in it. 0 is success; else `problem` says
// why.
extern "C" [[gnu::visibility("default")]] int infini_mpi_world(int *rank, int *ranks,
                                                               double timeout, char *problem,
                                                               size_t problem_bytes) {
    std::string reason;
    if (!infini::cpu::collectives::mpi_is_launched() &&
        !infini::cpu::collectives::mpi_is_initialized())
        return refuse("no launcher of MPI (mpirun, mpiexec) started this process", problem,
                      problem_bytes);
    const MpiProcess *mpi = MpiProcess::start(timeout, &reason);
    if (!mpi) return refuse(reason, problem, problem_bytes);
    *rank = mpi->rank();
    *ranks = mpi->ranks();
    return 0;
}

// Broadcasts bytes of `root` to all processes of the job; all of them call it.
extern "C" [[gnu::visibility("default")]] int infini_mpi_broadcast(void *data, size_t bytes,
                                                                   int root, double timeout,
                                                                   char *problem,
                                                                   size_t problem_bytes) {
    using Clock = std::chrono::steady_clock;
    const auto began = Clock::now();
    std::string reason;
    MpiProcess *mpi = MpiProcess::start(timeout, &reason);
    if (!mpi) return refuse(reason, problem, problem_bytes);
    if (root < 0 || root >= mpi->ranks() || bytes > MpiProcess::kMostBytes)
        return refuse("root is no process of the MPI job, or there are too many bytes", problem,
                      problem_bytes);
    if (root == mpi->rank()) {
        for (int to = 0; to < mpi->ranks(); ++to)
            if (to != root) mpi->post(to, MpiProcess::kBroadcastTag, data, bytes);
        return 0;
    }
    for (Idling idling; !mpi->take(root, MpiProcess::kBroadcastTag, data, bytes); idling.pause()) {
        const std::chrono::duration<double> waited = Clock::now() - began;
        if (timeout > 0 && waited.count() > timeout) {
            char text[128];
            snprintf(text, sizeof text,
                     "process %d of the MPI job sent nothing within %g s: process %d waited", root,
                     timeout, mpi->rank());
            return refuse(text, problem, problem_bytes);
        }
    }
    return 0;
}
