// Type casters for tensors, devices and element types in functions bound with pybind11.
//
// Included by types.hpp, hence by every header. It does not include pybind11, whose names are only
// declared here, and used when a caster is instantiated. So it works with any version and any order
// of headers, and does not affect programs without pybind11.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "types.hpp"

namespace infinicore {

class Tensor;
namespace nn {
class Parameter;
}

namespace python {

// Converts an object of the Python package (a PyObject *) to a T, and a T to a new reference. Both
// are called with the GIL held, and do not copy a tensor's elements.
template <typename T>
struct Conversion {
    bool (*load)(void *object, T &value) noexcept;  // false: not an object of this type
    void *(*make)(const T &value) noexcept;         // null: a Python exception is set
};

struct Conversions : Conversion<Tensor>,
                     Conversion<Device>,
                     Conversion<Device::Type>,
                     Conversion<DataType> {};

// Null until Python has imported the package's extension module, which sets them.
INFINI_EXPORT const Conversions *conversions() noexcept;
INFINI_EXPORT void set_conversions(const Conversions *conversions) noexcept;
[[noreturn]] INFINI_EXPORT void throw_no_conversions();

// A type whose members are looked up when the template around it is instantiated.
template <typename T, typename>
struct Later {
    using type = T;
};

}  // namespace python
}  // namespace infinicore

#ifdef PYBIND11_NAMESPACE
namespace PYBIND11_NAMESPACE {
#else
namespace pybind11 __attribute__((visibility("hidden"))) {
#endif

class handle;
class module_;
class none;

namespace detail {

// Declared without the default arguments that pybind11 gives them in its own declarations.
template <size_t N, typename... Ts>
struct descr;
template <typename T, typename SFINAE>
class type_caster;
template <typename T, typename SFINAE>  // from pybind11 3 on, enums have a caster of their own
struct type_caster_enum_type_enabled;

template <typename SFINAE>
struct type_caster_enum_type_enabled<infinicore::DataType, SFINAE> : std::false_type {};
template <typename SFINAE>
struct type_caster_enum_type_enabled<infinicore::Device::Type, SFINAE> : std::false_type {};

// The caster of a T that Python sees as a `Known`: the same type, or a class derived from it.
template <typename T, typename Known, typename SFINAE>
class infinicore_caster {
    template <typename Name>
    using later = typename infinicore::python::Later<Name, SFINAE>::type;
    using Handle = later<handle>;

public:
    template <typename Wanted>
    using cast_op_type =
        std::conditional_t<std::is_pointer_v<std::remove_reference_t<Wanted>>, T *,
                           std::conditional_t<std::is_rvalue_reference_v<Wanted>, T &&, T &>>;

    bool load(Handle object, bool /* may convert */) {
        if (!object.ptr()) return false;
        if constexpr (std::is_same_v<T, Known>) {
            return conversion().load(object.ptr(), value_);
        } else {
            later<Known> known;
            if (!conversion().load(object.ptr(), known)) return false;
            value_ = T(std::move(known));
            return true;
        }
    }
    operator T *() { return &value_; }
    operator T &() { return value_; }
    operator T &&() && { return std::move(value_); }

    template <typename Policy>
    static Handle cast(const T &value, Policy, Handle /* parent */) {
        using Object = std::decay_t<decltype(std::declval<Handle &>().ptr())>;
        return Handle(static_cast<Object>(conversion().make(value)));
    }
    template <typename Policy>
    static Handle cast(const T *value, Policy policy, Handle parent) {
        if (!value) return later<none>().release();
        return cast(*value, policy, parent);
    }

private:
    static const infinicore::python::Conversion<Known> &conversion() {
        using namespace infinicore::python;
        if (!conversions()) {
            later<module_>::import("infinicore.lib");
            if (!conversions()) throw_no_conversions();
        }
        return *conversions();
    }

    T value_{};
};

#define INFINICORE_PYBIND11_CASTER(T, KNOWN, NAME)                                 \
    template <typename SFINAE>                                                     \
    class type_caster<T, SFINAE> : public infinicore_caster<T, KNOWN, SFINAE> {    \
        static constexpr size_t kLength = sizeof(NAME) - 1 + 0 * sizeof(SFINAE *); \
                                                                                   \
    public:                                                                        \
        static constexpr auto name = descr<kLength>(NAME); /* in signatures */     \
    };
INFINICORE_PYBIND11_CASTER(infinicore::Tensor, infinicore::Tensor, "infinicore.Tensor")
INFINICORE_PYBIND11_CASTER(infinicore::nn::Parameter, infinicore::Tensor, "infinicore.Tensor")
INFINICORE_PYBIND11_CASTER(infinicore::Device, infinicore::Device,
                           "infinicore.lib._infinicore.Device")
INFINICORE_PYBIND11_CASTER(infinicore::Device::Type, infinicore::Device::Type,
                           "infinicore.lib._infinicore.Device.Type")
INFINICORE_PYBIND11_CASTER(infinicore::DataType, infinicore::DataType,
                           "infinicore.lib._infinicore.DataType")
#undef INFINICORE_PYBIND11_CASTER

}  // namespace detail
}  // namespace pybind11
