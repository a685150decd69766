// Kernels of generated text: their parameter struct, with members that are known when planning, and
// the launch, which sets the values of each run.
#pragma once

#include <infini/loop_nest.h>

#include <cstring>
#include <mutex>

#include "kernel.h"

namespace infini::cuda::program {

using namespace infini::program;
using LoopNest = LoopNestOf<Stage>;

// The parameter struct as bytes and as source text, built by the same calls so that they agree.
class ParameterText {
public:
    // Adds a member, or an array of `count`. Returns its offset.
    size_t add(const std::string &type, const std::string &name, size_t bytes, size_t alignment,
               size_t count = 1);
    template <class T>
    void set(size_t offset, const T &value) {
        std::memcpy(bytes_.data() + offset, &value, sizeof value);
    }
    // With a constant value.
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

// A member of a launch's struct that each run sets.
struct PointerMember {
    uint32_t offset;
    uint32_t alignment;  // required by wide accesses; 1: none
    int32_t pointer;     // pointer index; -1: in the workspace; kPartial: see move_partials
    int64_t start;       // in bytes
};
struct ScalarMember {
    uint32_t offset;
    int32_t scalar;
    ValueType type;
    bool integer;
};

// A value shared by all elements, in the compute type.
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
    // Whether the pointers of a run are sufficiently aligned for wide accesses.
    bool is_aligned(const Arguments &arguments) const;

    std::shared_ptr<const Code> code;
    std::vector<char> parameters;
    std::vector<PointerMember> pointers;
    std::vector<ScalarMember> scalars;
    Grid grid;
    unsigned threads = 256;
    int32_t wide =
        -1;  // offset of an int that tells whether the pointers are aligned; -1: there is none
};

// A sequence of launches, and another one for unaligned pointers.
struct Launches {
    Error run(const Arguments &arguments, const Stream &stream) const;

    // Moves a phase's partial results after the spilled tensors, whose total size is only now
    // known.
    void move_partials(int64_t bytes);
    // Compiles the usual kernels.
    void prepare(Device &device) const;

    std::vector<Launch> usual, unaligned;
};

}  // namespace infini::cuda::program
