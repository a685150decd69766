// Operations that failed in their streams. They are reported by every host wait for a device of
// that type until the communicator is closed, and by the process's exit status.
#pragma once

#include "comm.h"

namespace infini::ccl {

// From now on failures of the communicator are reported; called when it is created.
void report_failures_of(const Comm &comm);

// An operation of the communicator has failed in its stream.
void note_failure(const CommPointer &comm);

// The communicator is closed and its failure was reported: host waits succeed again.
void forget_failure(const CommPointer &comm);

}  // namespace infini::ccl
