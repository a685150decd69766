// Objects created before a fork() are recognised by their generation; see process.h.
#pragma once

#include "error.h"

namespace infini::cpu {

// The number of forks between this process and the one that opened the back end. Changes only in a
// forked child, while that has a single thread.
extern unsigned fork_generation;

// The error for such an object in the child.
inline Error made_before_fork(const char *object) {
    return fail(infinirtErrorInitializationError,
                "this %s was made before fork(); create it in the child", object);
}

}  // namespace infini::cpu
