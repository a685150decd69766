// How Python values become arguments of the C API, and results become Python values.
//
// The generated bindings take these types as parameters: Int, Code and Handle are plain numbers,
// Address is for pointers to memory in C, List is an array with its length. An exact int
// is the first case in each of them: that is the fast path of hot loops.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "enum_names.h"  // EnumName<T>::value: the name of the Python enum
#include "infinirt_runtime_api.h"

namespace infini::python {

namespace nb = nanobind;

template <class T>
struct Int {
    T value{};
    operator T() const { return value; }
};

// An enumerator, or any other number: the library rejects unknown ones.
template <class T>
struct Code {
    T value{};
    operator T() const { return value; }
};

// None is the null handle; an object with an attribute `handle` is converted to it.
template <class T>
struct Handle {
    T value{};
    operator T() const { return value; }
};

// None is null; an object with an attribute `ptr` is converted to that address; any other with
// the buffer protocol to that of its memory, which it cannot give up or move before the call
// returns.
template <bool writable>
class Address {
public:
    Address() = default;
    Address(const Address &) = delete;
    ~Address() {
        if (held_) PyBuffer_Release(&view_);
    }
    bool load(PyObject *source);

    void *get() const { return pointer_; }
    operator void *() const { return pointer_; }
    template <class T>
    T as() const {
        return reinterpret_cast<T>(pointer_);
    }

private:
    void *pointer_ = nullptr;
    bool held_ = false;
    Py_buffer view_;
};

// An address that is stored in a struct: memory of a Python object could vanish under it, so no
// buffers.
struct Stored {
    void *value = nullptr;
};

// Any iterable of `T`.
template <class T>
struct List {
    std::vector<T> items;
};

// The length of lists that C counts with one number.
size_t common_length(const char *first, size_t length, const char *second, size_t other);

// ---- Conversions -------------------------------------------------------------------------------

[[noreturn]] void throw_out_of_range(PyObject *source, const char *low, const char *high);
PyObject *index_of(PyObject *source);  // new reference; null if it is not an integer

// The number of an object: directly for the classes here, by an attribute for others.
enum class Number { Handle, Address };
bool number_of(PyObject *source, Number what, uintptr_t &value);  // false: it has none

template <class T>
bool load_int(PyObject *source, T &value) {
    if (!PyLong_Check(source)) [[unlikely]] {
        nb::object number = nb::steal(index_of(source));
        return number.is_valid() && load_int(number.ptr(), value);
    }
    using Limits = std::numeric_limits<T>;
    using Wide = std::conditional_t<std::is_signed_v<T>, long long, unsigned long long>;
    Wide wide;
    if constexpr (std::is_signed_v<T>)
        wide = PyLong_AsLongLong(source);
    else
        wide = PyLong_AsUnsignedLongLong(source);
    bool failed = wide == static_cast<Wide>(-1) && PyErr_Occurred();
    if (failed || wide < Wide{Limits::min()} || wide > Wide{Limits::max()}) [[unlikely]]
        throw_out_of_range(source, std::to_string(Limits::min()).c_str(),
                           std::to_string(Limits::max()).c_str());
    value = static_cast<T>(wide);
    return true;
}

inline bool load_pointer(PyObject *source, Number what, uintptr_t &value) {
    if (PyLong_Check(source)) [[likely]]
        return load_int(source, value);
    if (source == Py_None) {
        value = 0;
        return true;
    }
    return number_of(source, what, value) || load_int(source, value);
}

// Turns numbers into members of an enum of infinicore._rt_enums; a number without a member stays a
// number.
class EnumMembers {
public:
    explicit constexpr EnumMembers(const char *name) : name_(name) {}
    nb::object of(long value);

private:
    const char *name_;
    PyObject *members_ = nullptr;  // value -> member; kept for good
};

template <class T>
nb::object give(const T &value) {
    if constexpr (std::is_enum_v<T>) {
        static EnumMembers members(EnumName<T>::value);
        return members.of(static_cast<long>(value));
    } else if constexpr (std::is_floating_point_v<T>) {
        return nb::float_(value);
    } else if constexpr (std::is_integral_v<T>) {
        return nb::int_(value);
    } else if constexpr (std::is_same_v<T, const char *>) {
        return value ? nb::object(nb::str(value)) : nb::none();
    } else if constexpr (std::is_pointer_v<T>) {
        return nb::int_(reinterpret_cast<uintptr_t>(value));
    } else {
        return nb::cast(value);
    }
}

template <class T>
nb::object give_list(const T *items, size_t count) {
    nb::list list;
    for (size_t i = 0; i < count; ++i) list.append(give(items[i]));
    return list;
}

}  // namespace infini::python

namespace nanobind::detail {

template <class T>
struct type_caster<infini::python::Int<T>> {
    NB_TYPE_CASTER(infini::python::Int<T>, const_name("int"))
    bool from_python(handle source, uint32_t, cleanup_list *) {
        return infini::python::load_int(source.ptr(), value.value);
    }
};

template <class T>
struct type_caster<infini::python::Code<T>> {
    NB_TYPE_CASTER(infini::python::Code<T>, const_name("int"))
    bool from_python(handle source, uint32_t, cleanup_list *) {
        // Accepts the whole range of the enum's int, so that the library can reject invalid values.
        std::underlying_type_t<T> number{};
        if (!infini::python::load_int(source.ptr(), number)) return false;
        value.value = static_cast<T>(number);
        return true;
    }
};

template <class T>
struct type_caster<infini::python::Handle<T>> {
    NB_TYPE_CASTER(infini::python::Handle<T>, const_name("int"))
    bool from_python(handle source, uint32_t, cleanup_list *) {
        uintptr_t number = 0;
        if (!infini::python::load_pointer(source.ptr(), infini::python::Number::Handle, number))
            return false;
        value.value = reinterpret_cast<T>(number);
        return true;
    }
};

template <bool writable>
struct type_caster<infini::python::Address<writable>> {
    NB_TYPE_CASTER(infini::python::Address<writable>, const_name("int"))
    bool from_python(handle source, uint32_t, cleanup_list *) { return value.load(source.ptr()); }
};

template <>
struct type_caster<infini::python::Stored> {
    NB_TYPE_CASTER(infini::python::Stored, const_name("int"))
    bool from_python(handle source, uint32_t, cleanup_list *) {
        uintptr_t number = 0;
        if (!infini::python::load_pointer(source.ptr(), infini::python::Number::Address, number))
            return false;
        value.value = reinterpret_cast<void *>(number);
        return true;
    }
};

template <class T>
struct type_caster<infini::python::List<T>> {
    NB_TYPE_CASTER(infini::python::List<T>, const_name("collections.abc.Iterable"))
    bool from_python(handle source, uint32_t flags, cleanup_list *cleanup) {
        object iterator = steal(PyObject_GetIter(source.ptr()));
        if (!iterator.is_valid()) {
            PyErr_Clear();
            return false;
        }
        while (object item = steal(PyIter_Next(iterator.ptr()))) {
            if constexpr (std::is_class_v<T>) {
                make_caster<T> caster;
                if (item.is_none() || !caster.from_python(item, flags, cleanup)) return false;
                value.items.push_back(caster.operator cast_t<T &>());
            } else if constexpr (std::is_pointer_v<T>) {
                uintptr_t number = 0;
                constexpr auto what = std::is_same_v<T, void *> ? infini::python::Number::Address
                                                                : infini::python::Number::Handle;
                if (!infini::python::load_pointer(item.ptr(), what, number)) return false;
                value.items.push_back(reinterpret_cast<T>(number));
            } else {
                make_caster<std::conditional_t<std::is_enum_v<T>, infini::python::Code<T>,
                                               infini::python::Int<T>>>
                    caster;
                if (!caster.from_python(item, flags, cleanup)) return false;
                value.items.push_back(caster.value);
            }
        }
        if (PyErr_Occurred()) throw python_error();
        return true;
    }
};

}  // namespace nanobind::detail
