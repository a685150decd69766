// Checks for tests of libinfinicore. (check.h belongs to the other face of the runtime.)
#pragma once

#include <cstdio>
#include <cstdlib>

#define CHECK(condition)                                                                       \
    do {                                                                                       \
        if (!(condition)) {                                                                    \
            std::fprintf(stderr, "%s:%d: CHECK(%s) failed\n", __FILE__, __LINE__, #condition); \
            std::exit(1);                                                                      \
        }                                                                                      \
    } while (0)

// Runs each test of a program in turn and says which.
#define RUN(test)                   \
    do {                            \
        std::printf("%s\n", #test); \
        std::fflush(stdout);        \
        test();                     \
    } while (0)
