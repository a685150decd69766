// Calls of operators from C++, used by the functions of infinicore::op.
#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "infinicore/tensor.hpp"
#include "rows.h"

namespace infinicore::detail {

// What a call needs to know about an operator's tensors: one letter for each.
struct CallRules {
    const char *roles;    // i read, o written, b both
    const char *layouts;  // d dense, 1 the last stride is 1, . any strides
    const char *over;     // of a written one: the tensor that it may overwrite, as a letter; . none
    int tensor_count;
    bool is_map;     // elementwise: a result may overwrite any input of its layout
    bool is_varied;  // its scalars differ from call to call, so steps are not cached
};

extern const CallRules kCallRules[];  // in the order of kRows

// One of an operator's tensors in a call.
class Given {
public:
    Given() = default;  // absent
    Given(const Tensor &tensor) : tensors_(&tensor), count_(tensor ? 1 : 0) {}
    Given(const std::optional<Tensor> &tensor)
        : tensors_(tensor ? &*tensor : nullptr), count_(tensor && *tensor ? 1 : 0) {}
    Given(const std::vector<Tensor> &list)
        : tensors_(list.data()), count_(list.size()), is_list_(true) {}
    // A result that the call allocates unless the tensor is given.
    static Given result(Tensor &made) {
        Given given(made);
        given.made_ = &made;
        return given;
    }

    size_t count() const { return count_; }
    bool is_list() const { return is_list_; }
    bool is_made() const { return made_ && count_ == 0; }
    const TensorImpl *get(size_t index = 0) const {
        return count_ ? tensors_[index].impl().get() : nullptr;
    }
    const Tensor &tensor(size_t index = 0) const { return tensors_[index]; }
    const Tensor &make(Tensor tensor) const { return *made_ = std::move(tensor); }

private:
    const Tensor *tensors_ = nullptr;
    Tensor *made_ = nullptr;
    size_t count_ = 0;
    bool is_list_ = false;
};

// An attribute or scalar; lists and strings belong to the caller.
struct GivenValue {
    Value value{};
    size_t count = 0;
};

inline GivenValue integer(int64_t value) {
    GivenValue given;
    given.value.i = value;
    return given;
}
inline GivenValue number(double value) {
    GivenValue given;
    given.value.f = value;
    return given;
}
// An empty list has no address: optional attributes are then omitted.
template <class T>
GivenValue list(const std::vector<T> &values) {
    GivenValue given;
    given.value.list = const_cast<T *>(values.data());
    given.count = values.size();
    return given;
}
inline GivenValue text(const std::string &value) {
    GivenValue given;
    given.value.list = const_cast<char *>(value.data());
    given.count = value.size();
    return given;
}

// Runs an operator in the stream of its tensors' device, or records it. Tensors and attributes are
// in the order of the create function, `bare` are those of the run function's pointers that have no
// descriptor. Inputs that broadcast are expanded; results that were not given are allocated.
INFINI_EXPORT void call(int op, int run, const Given *tensors,
                        const GivenValue *attributes = nullptr, const GivenValue *scalars = nullptr,
                        const Given *bare = nullptr);

// A client's own memories may overlap.
bool memories_meet(Memory &a, Memory &b);

}  // namespace infinicore::detail
