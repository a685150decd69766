// Objects that were made before a fork() are recognised by their generation; see process.h.
#pragma once

#include "error.h"

namespace infini::cpu {

// How many forks lie between this process and the one that opened the back end. Changes only in a
// forked child, when that has one thread.
extern unsigned fork_generation;

// The error that such an object gives in the child.
inline Error made_before_fork(const char *object) {
    return fail(infinirtErrorInitializationError,
                "this %s was made before fork(); create it in the child", object);
}

}  // namespace infini::cpu
