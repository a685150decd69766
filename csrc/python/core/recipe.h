// The compiled form of a function call for arguments of given layouts: steps over locations. Made
// once by tracing the function's body, and run by every later call.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "recorder.h"
#include "tensor_object.h"

namespace infini::python {

// An array that needs no allocation while it is small.
template <class T, size_t kUsual>
class Small {
public:
    void push_back(T value) {
        if (size_ < kUsual)
            usual_[size_] = std::move(value);
        else
            more_.push_back(std::move(value));
        ++size_;
    }
    size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    const T &operator[](size_t i) const { return i < kUsual ? usual_[i] : more_[i - kUsual]; }

private:
    std::array<T, kUsual> usual_;
    std::vector<T> more_;
    size_t size_ = 0;
};

using infinicore::Memory;
using infinicore::detail::Node;
using infinicore::detail::Recorder;
using infinicore::detail::Step;

// A location relative to the arguments of a call.
struct Source {
    enum Kind : uint8_t { Absent, Argument, Number, Fresh, Constant };
    Kind kind = Absent;
    int index = 0;
    std::ptrdiff_t offset = 0;  // bytes
};

// The tensors and numbers of a call, in the order in which the arguments hold them.
struct CallArguments {
    Small<PyObject *, 8> tensors;
    Small<PyObject *, 4> numbers;
    std::vector<nb::object> held;  // what lists hold of them
};

// The memories allocated for a call.
using Memories = Small<std::shared_ptr<Memory>, 6>;

class Recipe {
public:
    // `metas` represented the tensors of the call; `result` is what the body returned. False: the
    // result cannot be rebuilt without the body.
    bool make(Recorder &recorder, const std::vector<Tensor> &metas, nb::handle result);

    nb::object run(const CallArguments &arguments) const;

    std::vector<nb::object> keeps;  // objects that the key refers to by address

private:
    struct Work {
        std::shared_ptr<const Step> step;
        std::vector<Source> locations;
    };
    struct Result {
        Source source;
        bool is_argument = false;  // the very tensor that was given
        std::shared_ptr<const infinicore::TensorMetaData> meta;
        nb::object value;  // if it is not a tensor
    };
    struct WrittenNumber {
        int index;
        DataType dtype;
    };

    Source source_of(const infinicore::detail::Location &place, const std::vector<Tensor> &metas);
    bool add_result(nb::handle object, const std::vector<Tensor> &metas);
    std::vector<Work> work_of(const std::vector<Node> &nodes, const std::vector<Tensor> &metas);
    void record(const CallArguments &arguments, Memories &memories) const;
    nb::object build(const CallArguments &arguments, const Memories &memories) const;
    nb::object build_one(const Result &result, const CallArguments &arguments,
                         const Memories &memories) const;
    std::shared_ptr<Memory> written(const WrittenNumber &number,
                                    const CallArguments &arguments) const;

    infinicore::detail::DeviceRuntime *runtime_ = nullptr;
    std::vector<Work> work_;
    std::vector<Work> recorded_;  // the same before fusing: a graph fuses more, and can be saved
    // Memories of a call: first those allocated for it, then its numbers, then constants.
    std::vector<size_t> fresh_;
    size_t fresh_count_ = 0;  // of a run; a recording has those that were fused away, too
    std::vector<WrittenNumber> numbers_;
    std::vector<std::shared_ptr<Memory>> constants_;
    std::vector<Result> results_;
    nb::object container_;  // a tuple's or list's type; none: one result
    size_t most_locations_ = 0;
};

}  // namespace infini::python
