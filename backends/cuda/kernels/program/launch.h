// Kernels of generated text: their parameter struct, with members known when the plan is made, and
// the launch, which fills in the values of each run.
#pragma once

#include <infini/loop_nest.h>

#include <cstring>
#include <mutex>

#include "kernel.h"

namespace infini::cuda::program {

using namespace infini::program;
using LoopNest = LoopNestOf<Stage>;

// The parameter struct as bytes, and as text for the device, built by the same calls so that they
// agree.
class ParameterText {
public:
    // Adds a member, or an array of `count`. Returns its offset.
    size_t add(const std::string &type, const std::string &name, size_t bytes, size_t alignment,
               size_t count = 1);
    template <class T>
    void set(size_t offset, const T &value) {
        std::memcpy(bytes_.data() + offset, &value, sizeof value);
    }
    // With a value that is constant over all runs.
    template <class T>
    size_t add(const std::string &type, const std::string &name, const T &value) {
        const size_t offset = add(type, name, sizeof value, alignof(T));
        set(offset, value);
        return offset;
    }

    std::string text() const;
    const std::vector<char> &bytes() const { return bytes_; }

private:
    std::string members_;
    std::vector<char> bytes_;
};

constexpr int32_t kPartial = -2;

// A member of a launch's struct that is filled in by each run.
struct PointerMember {
    uint32_t offset;
    uint32_t alignment;  // that wide accesses of it need; 1: any
    int32_t pointer;     // of the run; -1: in the workspace; kPartial: see move_partials
    int64_t start;       // bytes
};
struct ScalarMember {
    uint32_t offset;
    int32_t scalar;
    ValueType type;
    bool integer;
};

// A value that all elements share, in the type of computation.
void store_shared(ValueType type, bool integer, int64_t whole, double number, char *to);

// Code that is compiled when a plan is made or, for rare cases, on first use.
class Code {
public:
    explicit Code(Source source) : source_(std::move(source)) {}
    // Throws Refusal.
    const Kernel &get(Device &device) const;

private:
    const Source source_;
    mutable std::once_flag once_;
    mutable std::shared_ptr<const Kernel> kernel_;
};

// One launch of a kernel.
class Launch {
public:
    Error run(const Arguments &arguments, const Stream &stream) const;
    // The parameter struct of a run.
    void fill(const Arguments &arguments, char *to) const;
    // Are the pointers of a run aligned as wide accesses need it?
    bool is_aligned(const Arguments &arguments) const;

    std::shared_ptr<const Code> code;
    std::vector<char> parameters;
    std::vector<PointerMember> pointers;
    std::vector<ScalarMember> scalars;
    Grid grid;
    unsigned threads = 256;
    int32_t wide =
        -1;  // offset of an int that says whether pointers are aligned; -1: there is none
};

// A sequence of launches, and another one for unaligned pointers.
struct Launches {
    Error run(const Arguments &arguments, const Stream &stream) const;

    // Partial results of a phase come after what phases spill for others: only now is it known
    // where.
    void move_partials(int64_t bytes);
    // Compiles what is usual.
    void prepare(Device &device) const;

    std::vector<Launch> usual, unaligned;
};

}  // namespace infini::cuda::program
