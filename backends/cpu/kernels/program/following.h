// A map that follows a kernel: evaluated for runs of the kernel's result while they are at hand.
#pragma once

#include "program/runner.h"

namespace infini::cpu::program {

class Following {
public:
    static constexpr int64_t kMost = 128;  // elements of a run

    // Of an operation whose program is an epilogue; its tensor 0, of two or three dimensions, is the
    // kernel's result. Null: the map is not of its shape, or not of floats.
    static std::unique_ptr<Following> make(const Operation &operation);

    // What all threads of a run share.
    struct Run {
        Run(const Following &following, const Arguments &arguments);
        const Following &following;
        SharedValues shared;
        char *bases[kMostOperands];
    };

    // `n` values of the result, from [member, row, column] on: rows of all members may be counted
    // through. Computes and writes what the program does.
    void operator()(const Run &run, const float *values, int64_t member, int64_t row,
                    int64_t column, int64_t n) const;

private:
    enum class Access : uint8_t { kUnused, kResult, kDirect, kSplat, kBuffer };
    struct Operand {
        Access access = Access::kUnused;
        bool reads = false, writes = false;
        int buffer = -1;
        int64_t strides[3] = {0, 0, 0};
    };

    Layout layout_;
    std::vector<Operand> operands_;  // by slot
    int64_t rows_ = 1;               // of a member
    int buffers_ = 0;
};

}  // namespace infini::cpu::program
