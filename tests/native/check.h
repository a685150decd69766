// Shared by the native tests: checks that name the failing expression, and latches.
#pragma once

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "infini/ext.h"
// Tests of infinicore's C++ interface include the other runtime header.
#ifndef INFINIRT_H
#include "infinirt_runtime_api.h"
#endif

#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            std::fprintf(stderr, "%s:%d: CHECK(%s) failed; last message: %s\n", __FILE__, \
                         __LINE__, #condition, infiniGetLastErrorMessage());              \
            std::exit(1);                                                                 \
        }                                                                                 \
    } while (0)

#define CHECK_EQ(left, right)                                                                   \
    do {                                                                                        \
        long long left_ = static_cast<long long>(left), right_ = static_cast<long long>(right); \
        if (left_ != right_) {                                                                  \
            std::fprintf(stderr, "%s:%d: %s is %lld, expected %s = %lld; last message: %s\n",   \
                         __FILE__, __LINE__, #left, left_, #right, right_,                      \
                         infiniGetLastErrorMessage());                                          \
            std::exit(1);                                                                       \
        }                                                                                       \
    } while (0)

#define OK(call) CHECK_EQ(call, infinirtSuccess)
#define FAILS(call, code) CHECK_EQ(call, code)

// A stream runs up to the latch and waits there until it is opened: asynchrony without sleeping.
class Latch {
public:
    void open() {
        open_.store(true);
        open_.notify_all();
    }
    bool reached() const { return reached_.load(); }
    void wait_reached() const { reached_.wait(false); }

    // As a host function; data is the latch.
    static void hold(void *self) {
        auto *latch = static_cast<Latch *>(self);
        latch->reached_.store(true);
        latch->reached_.notify_all();
        latch->open_.wait(false);
    }

private:
    std::atomic<bool> open_{false}, reached_{false};
};

// Runs each test of a program in turn and prints its name.
#define RUN(test)                   \
    do {                            \
        std::printf("%s\n", #test); \
        std::fflush(stdout);        \
        test();                     \
    } while (0)
