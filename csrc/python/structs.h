// Structs of the C API as Python classes: fields to read and write, made from keywords, from and to
// bytes.
#pragma once

#include <cstring>
#include <initializer_list>

#include "call.h"

namespace infini::python {

nb::object struct_repr(nb::handle self);
nb::object struct_reduce(nb::handle self);
void set_fields(nb::handle self, const nb::kwargs &fields);

template <class S>
nb::class_<S> struct_class(nb::module_ &m, const char *name,
                           std::initializer_list<const char *> names) {
    nb::class_<S> cls(m, name);
    cls.def(nb::new_([](const nb::kwargs &fields) {
        S value{};
        set_fields(nb::cast(&value, nb::rv_policy::reference), fields);
        return value;
    }));
    nb::list listed;
    for (const char *field : names) listed.append(nb::str(field));
    cls.attr("_fields_") = nb::tuple(listed);
    cls.def("__repr__", [](nb::handle self) { return struct_repr(self); });
    cls.def("__bytes__", [](const S &self) { return nb::bytes(&self, sizeof self); });
    cls.def_static(
        "from_bytes",
        [name](const nb::bytes &data) {
            if (data.size() != sizeof(S)) {
                PyErr_Format(PyExc_ValueError, "%s: expected %zu bytes, got %zu", name, sizeof(S),
                             data.size());
                throw nb::python_error();
            }
            S value{};
            std::memcpy(static_cast<void *>(&value), data.data(), sizeof value);
            return value;
        },
        nb::arg("data"));
    cls.def("__reduce__", [](nb::handle self) { return struct_reduce(self); });
    return cls;
}

// ---- Fields, by their C type --------------------------------------------------------------------

template <class S, class T>
void array_field(nb::class_<S> &cls, const char *name, T S::*member) {
    using Item = std::remove_extent_t<T>;
    constexpr size_t count = std::extent_v<T>;
    constexpr bool bytes = sizeof(Item) == 1;
    auto get = [member](const S &self) -> nb::object {
        const Item *items = self.*member;
        if constexpr (bytes && count >= 128)
            return nb::str(reinterpret_cast<const char *>(items),
                           strnlen(reinterpret_cast<const char *>(items), count));
        else if constexpr (bytes)
            return nb::bytes(items, count);
        else
            return nb::tuple(give_list(items, count));
    };
    auto set = [member, name](S &self, nb::handle value) {
        Item items[count]{};
        if constexpr (bytes) {
            nb::object data = nb::borrow(value);
            if (nb::isinstance<nb::str>(value)) data = value.attr("encode")();
            nb::bytes given(data);
            if (given.size() > count) {
                PyErr_Format(PyExc_ValueError, "%s: expected at most %zu bytes, got %zu", name,
                             count, given.size());
                throw nb::python_error();
            }
            std::memcpy(items, given.data(), given.size());
        } else {
            auto given = nb::cast<List<Item>>(value);
            common_length(name, count, "the value", given.items.size());
            std::copy(given.items.begin(), given.items.end(), items);
        }
        std::memcpy(self.*member, items, sizeof items);
    };
    cls.def_prop_rw(name, get, set);
}

template <class S, class T>
void field(nb::class_<S> &cls, const char *name, T S::*member) {
    auto get = [member](const S &self) { return give(self.*member); };
    if constexpr (std::is_array_v<T>) {
        array_field(cls, name, member);
    } else if constexpr (std::is_class_v<T> || std::is_union_v<T>) {
        cls.def_rw(name, member);  // a view into the struct, so that a.b.c = x works
    } else if constexpr (std::is_enum_v<T>) {
        cls.def_prop_rw(name, get, [member](S &self, Code<T> value) { self.*member = value; });
    } else if constexpr (std::is_pointer_v<T>) {
        auto set = [member](S &self, Stored value) {
            self.*member = reinterpret_cast<T>(value.value);
        };
        cls.def_prop_rw(name, get, set, nb::for_setter(nb::arg().none()));
    } else if constexpr (std::is_floating_point_v<T>) {
        cls.def_rw(name, member);
    } else {
        cls.def_prop_rw(name, get, [member](S &self, Int<T> value) { self.*member = value; });
    }
}

}  // namespace infini::python
