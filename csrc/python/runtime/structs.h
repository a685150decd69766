// Structs of the C API as Python classes: fields to read and write, made from keywords, from and to
// bytes.
#pragma once

#include <cstddef>
#include <cstring>
#include <initializer_list>

#include "call.h"
#include "raise_error.h"

namespace infini::python {

// Common to all structs: the size is that of the class, and a new one begins as `initial`.
void add_struct_methods(nb::handle cls, const char *name,
                        std::initializer_list<const char *> fields, const void *initial);

template <class S>
nb::class_<S> struct_class(nb::module_ &m, const char *name,
                           std::initializer_list<const char *> fields) {
    static_assert(std::is_trivially_copyable_v<S>);
    static const S initial{};
    nb::class_<S> cls(m, name);
    add_struct_methods(cls, name, fields, &initial);
    return cls;
}

// ---- Fields, by their C type --------------------------------------------------------------------

// The location of a field: the offset is data, so that code is compiled once per type and not once
// per field of each struct.
struct Place {
    nb::handle cls;
    size_t offset;

    template <class T>
    T &of(nb::handle self) const {
        if (!nb::isinstance(self, cls))
            raise_error(PyExc_TypeError, "expected a %U, got %R",
                        nb::str(cls.attr("__name__")).ptr(), self.ptr());
        return *reinterpret_cast<T *>(nb::inst_ptr<char>(self) + offset);
    }
};

template <class Get, class Set, class... Extra>
void add_property(nb::handle cls, const char *name, const Get &get, const Set &set,
                  const Extra &...extra) {
    const nb::object getter = nb::cpp_function(get, nb::scope(cls), nb::is_method(),
                                               nb::is_getter(), nb::rv_policy::reference_internal);
    const nb::object setter = nb::cpp_function(set, nb::scope(cls), nb::is_method(), extra...);
    cls.attr(name) = nb::handle(reinterpret_cast<PyObject *>(&PyProperty_Type))(getter, setter);
}

template <class T>
void array_field(const Place &place, const char *name) {
    using Item = std::remove_extent_t<T>;
    constexpr size_t count = std::extent_v<T>;
    constexpr bool bytes = sizeof(Item) == 1;
    auto get = [place](nb::handle self) -> nb::object {
        const Item *items = place.of<T>(self);
        if constexpr (bytes && count >= 128)
            return nb::str(reinterpret_cast<const char *>(items),
                           strnlen(reinterpret_cast<const char *>(items), count));
        else if constexpr (bytes)
            return nb::bytes(items, count);
        else
            return nb::tuple(give_list(items, count));
    };
    auto set = [place, name](nb::handle self, nb::handle value) {
        Item items[count]{};
        if constexpr (bytes) {
            nb::object data = nb::borrow(value);
            if (nb::isinstance<nb::str>(value)) data = value.attr("encode")();
            nb::bytes given(data);
            if (given.size() > count)
                raise_error(PyExc_ValueError, "%s: expected at most %zu bytes, got %zu", name,
                            count, given.size());
            std::memcpy(items, given.data(), given.size());
        } else {
            auto given = nb::cast<List<Item>>(value);
            common_length(name, count, "the value", given.items.size());
            std::copy(given.items.begin(), given.items.end(), items);
        }
        std::memcpy(place.of<T>(self), items, sizeof items);
    };
    add_property(place.cls, name, get, set);
}

// field<int>(cls, "x", offsetof(S, x)).
template <class T>
void field(nb::handle cls, const char *name, size_t offset) {
    const Place place{cls, offset};
    auto get = [place](nb::handle self) { return give(place.of<T>(self)); };
    if constexpr (std::is_array_v<T>) {
        array_field<T>(place, name);
    } else if constexpr (std::is_class_v<T> || std::is_union_v<T>) {
        // A view into the struct, so that a.b.c = x works.
        auto view = [place](nb::handle self) -> T & { return place.of<T>(self); };
        add_property(cls, name, view,
                     [place](nb::handle self, const T &value) { place.of<T>(self) = value; });
    } else if constexpr (std::is_enum_v<T>) {
        add_property(cls, name, get,
                     [place](nb::handle self, Code<T> value) { place.of<T>(self) = value; });
    } else if constexpr (std::is_pointer_v<T>) {
        auto set = [place](nb::handle self, Stored value) {
            place.of<T>(self) = reinterpret_cast<T>(value.value);
        };
        add_property(cls, name, get, set, nb::arg("value").none());
    } else if constexpr (std::is_floating_point_v<T>) {
        add_property(
            cls, name, [place](nb::handle self) { return place.of<T>(self); },
            [place](nb::handle self, T value) { place.of<T>(self) = value; });
    } else {
        add_property(cls, name, get,
                     [place](nb::handle self, Int<T> value) { place.of<T>(self) = value; });
    }
}

}  // namespace infini::python
