// Views: other layouts of the same memory. Arguments are checked here, so the resulting layouts are
// inside the memory by construction.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>

#include "view_of.h"

using namespace nanobind::literals;

namespace infini::python {
namespace {

// Dimensions given one by one or as one sequence: permute(0, 2, 1), permute((0, 2, 1)).
std::vector<long long> integers(const nb::args &args, const char *function) {
    nb::handle items = args;
    if (args.size() == 1 && !PyIndex_Check(nb::handle(args[0]).ptr())) items = args[0];
    std::vector<long long> values;
    for (nb::handle item : items) {
        nb::object number = nb::steal(PyNumber_Index(item.ptr()));
        if (!number.is_valid()) {
            PyErr_Clear();
            raise(PyExc_TypeError, "%s: expected integers, got %R", function, item.ptr());
        }
        values.push_back(PyLong_AsLongLong(number.ptr()));
        if (PyErr_Occurred()) throw nb::python_error();
    }
    return values;
}

// ---- Shapes -------------------------------------------------------------------------------------

// Strides of a tensor seen with another shape; false when that needs a copy.
bool restride(const Tensor &tensor, const Shape &shape, Strides &strides) {
    const Shape &old = tensor->shape();
    const Strides &steps = tensor->strides();
    strides.assign(shape.size(), 1);
    if (std::find(shape.begin(), shape.end(), 0u) != shape.end()) {
        strides = infinicore::contiguous_strides(shape);
        return true;
    }
    // Runs of contiguous old dimensions are matched with runs of new ones, from the last dimension.
    auto next = std::ptrdiff_t(shape.size()) - 1;
    Stride base = 1;
    size_t run = 1, covered = 1;
    bool any = false;
    for (auto d = std::ptrdiff_t(old.size()) - 1; d >= 0; --d) {
        if (!any) base = steps[size_t(d)];
        any = true;
        run *= old[size_t(d)];
        const bool ends =
            d == 0 || (old[size_t(d - 1)] != 1 && steps[size_t(d - 1)] != Stride(run) * base);
        if (!ends) continue;
        while (next >= 0 && (covered < run || shape[size_t(next)] == 1)) {
            strides[size_t(next)] = base * Stride(covered);
            covered *= shape[size_t(next)];
            --next;
        }
        if (covered != run) return false;
        run = covered = 1;
        any = false;
    }
    for (; next >= 0; --next) {
        if (shape[size_t(next)] != 1) return false;
        strides[size_t(next)] = 1;
    }
    return true;
}

Shape wanted_shape(const Tensor &tensor, const std::vector<long long> &sizes,
                   const char *function) {
    const size_t numel = tensor->numel();
    Shape shape;
    std::ptrdiff_t open = -1;
    size_t known = 1;
    for (size_t i = 0; i < sizes.size(); ++i) {
        if (sizes[i] == -1 && open < 0) {
            open = std::ptrdiff_t(i);
            shape.push_back(1);
            continue;
        }
        if (sizes[i] < 0)
            raise(PyExc_ValueError, "%s: a size is %lld: expected 0 or more, or one -1", function,
                  sizes[i]);
        shape.push_back(size_t(sizes[i]));
        if (__builtin_mul_overflow(known, size_t(sizes[i]), &known))
            raise(PyExc_ValueError, "%s: the shape has too many elements", function);
    }
    if (open >= 0) {
        if (known == 0 || numel % known != 0)
            raise(PyExc_RuntimeError,
                  "%s: %zu elements can't be divided into a shape with -1 and %zu others", function,
                  numel, known);
        shape[size_t(open)] = numel / known;
        known *= shape[size_t(open)];
    }
    if (known != numel)
        raise(PyExc_RuntimeError, "%s: the shape has %zu elements, the tensor %zu", function, known,
              numel);
    return shape;
}

nb::object try_view(const Tensor &tensor, const nb::args &args) {
    Shape shape = wanted_shape(tensor, integers(args, "reshape"), "reshape");
    Strides strides;
    if (!restride(tensor, shape, strides)) return nb::none();
    return view(tensor, std::move(shape), std::move(strides));
}

// The same bytes as elements of another type; the last dimension's size is scaled accordingly.
nb::object view_dtype(const Tensor &tensor, DataType dtype) {
    const size_t old = tensor->element_size(), now = infinicore::dsize(dtype);
    Shape shape = tensor->shape();
    Strides strides = tensor->strides();
    if (old != now) {
        if (shape.empty() || strides.back() != 1)
            raise(PyExc_RuntimeError,
                  "view: elements of %zu bytes become elements of %zu: expected a last dimension "
                  "without gaps",
                  old, now);
        const size_t bytes = shape.back() * old;
        bool fits = bytes % now == 0 && tensor->offset() % now == 0;
        for (size_t i = 0; i + 1 < strides.size(); ++i) {
            const Stride step = strides[i] * Stride(old);
            fits = fits && step % Stride(now) == 0;
            strides[i] = step / Stride(now);
        }
        if (!fits)
            raise(PyExc_RuntimeError,
                  "view: sizes, strides and offset are no multiples of the %zu bytes of the new "
                  "elements",
                  now);
        shape.back() = bytes / now;
    }
    return wrap(Tensor(
        std::make_shared<TensorImpl>(std::move(shape), std::move(strides), dtype,
                                     infinicore::TensorData{tensor->offset(), tensor->memory()})));
}

nb::object view_shape(const Tensor &tensor, const nb::args &args) {
    if (args.size() == 1 && is_dtype(args[0])) return view_dtype(tensor, dtype_from(args[0]));
    Shape shape = wanted_shape(tensor, integers(args, "view"), "view");
    Strides strides;
    if (!restride(tensor, shape, strides))
        raise(PyExc_RuntimeError,
              "view: the tensor's strides don't allow this shape without a copy: use reshape");
    return view(tensor, std::move(shape), std::move(strides));
}

nb::object permute(const Tensor &tensor, const nb::args &args) {
    std::vector<long long> dims = integers(args, "permute");
    const size_t rank = tensor->ndim();
    if (dims.size() != rank)
        raise(PyExc_ValueError, "permute: %zu dims are given: expected all %zu", dims.size(), rank);
    Shape shape(rank);
    Strides strides(rank);
    std::vector<bool> used(rank);
    for (size_t i = 0; i < rank; ++i) {
        size_t d = dimension(dims[i], rank, "permute");
        if (used[d]) raise(PyExc_ValueError, "permute: dim %zu is given twice", d);
        used[d] = true;
        shape[i] = tensor->shape()[d];
        strides[i] = tensor->strides()[d];
    }
    return view(tensor, std::move(shape), std::move(strides));
}

nb::object transpose(const Tensor &tensor, long long dim0, long long dim1) {
    Shape shape = tensor->shape();
    Strides strides = tensor->strides();
    if (shape.empty() && dim0 >= -1 && dim0 <= 0 && dim1 >= -1 && dim1 <= 0)
        return view(tensor, shape, strides);
    size_t a = dimension(dim0, shape.size(), "transpose");
    size_t b = dimension(dim1, shape.size(), "transpose");
    std::swap(shape[a], shape[b]);
    std::swap(strides[a], strides[b]);
    return view(tensor, std::move(shape), std::move(strides));
}

nb::object unsqueeze(const Tensor &tensor, long long dim) {
    size_t at = dimension(dim, tensor->ndim() + 1, "unsqueeze");
    Shape shape = tensor->shape();
    Strides strides = tensor->strides();
    Stride step = at < shape.size() ? strides[at] * Stride(shape[at]) : 1;
    shape.insert(shape.begin() + std::ptrdiff_t(at), 1);
    strides.insert(strides.begin() + std::ptrdiff_t(at), step);
    return view(tensor, std::move(shape), std::move(strides));
}

nb::object squeeze(const Tensor &tensor, nb::object dim) {
    std::vector<bool> drop(tensor->ndim(), dim.is_none());
    auto mark = [&](nb::handle each) {
        if (tensor->ndim() == 0) return;
        drop[dimension(integer_from(each, "squeeze"), tensor->ndim(), "squeeze")] = true;
    };
    if (PyIndex_Check(dim.ptr()))
        mark(dim);
    else if (!dim.is_none())
        for (nb::handle each : dim) mark(each);
    Shape shape;
    Strides strides;
    for (size_t d = 0; d < tensor->ndim(); ++d) {
        if (drop[d] && tensor->shape()[d] == 1) continue;
        shape.push_back(tensor->shape()[d]);
        strides.push_back(tensor->strides()[d]);
    }
    return view(tensor, std::move(shape), std::move(strides));
}

nb::object expand(const Tensor &tensor, const nb::args &args) {
    std::vector<long long> sizes = integers(args, "expand");
    const size_t rank = tensor->ndim();
    if (sizes.size() < rank)
        raise(PyExc_RuntimeError, "expand: %zu sizes are given: expected at least %zu",
              sizes.size(), rank);
    Shape shape(sizes.size());
    Strides strides(sizes.size(), 0);
    const size_t front = sizes.size() - rank;
    for (size_t i = 0; i < sizes.size(); ++i) {
        const bool is_new = i < front;
        const size_t old = is_new ? 1 : tensor->shape()[i - front];
        if (sizes[i] == -1 && !is_new) {
            shape[i] = old;
        } else if (sizes[i] < 0) {
            raise(PyExc_RuntimeError, "expand: size %zu is %lld: expected 0 or more", i, sizes[i]);
        } else {
            shape[i] = size_t(sizes[i]);
        }
        if (shape[i] != old && old != 1)
            raise(PyExc_RuntimeError, "expand: size %zu is %zu: expected %zu, as the tensor has it",
                  i, shape[i], old);
        if (!is_new && shape[i] == old) strides[i] = tensor->strides()[i - front];
    }
    // An element count that exceeds any memory would overflow.
    infinicore::detail::extent_of("expand", shape, strides, tensor->dtype());
    return view(tensor, std::move(shape), std::move(strides));
}

nb::object narrow(const Tensor &tensor, long long dim, long long start, long long length) {
    size_t d = dimension(dim, tensor->ndim(), "narrow");
    auto size = (long long)(tensor->shape()[d]);
    if (start < -size || start > size)
        raise(PyExc_IndexError, "narrow: start is %lld: expected %lld to %lld", start, -size, size);
    if (start < 0) start += size;
    if (length < 0 || length > size - start)
        raise(PyExc_RuntimeError, "narrow: length is %lld: expected 0 to %lld", length,
              size - start);
    Shape shape = tensor->shape();
    shape[d] = size_t(length);
    return view(tensor, std::move(shape), tensor->strides(), start * tensor->strides()[d]);
}

nb::object as_strided(const Tensor &tensor, nb::handle size, nb::handle stride,
                      std::optional<long long> storage_offset) {
    Shape shape = shape_from(size, "as_strided");
    Strides strides = strides_from(stride, "as_strided");
    std::ptrdiff_t offset = 0;
    const auto bytes = std::ptrdiff_t(tensor->element_size());
    if (storage_offset &&
        (__builtin_mul_overflow(*storage_offset, bytes, &offset) ||
         __builtin_sub_overflow(offset, std::ptrdiff_t(tensor->offset()), &offset)))
        raise(PyExc_ValueError,
              "as_strided: storage_offset is %lld: expected one inside the memory",
              *storage_offset);
    return wrap(tensor->view_as(std::move(shape), std::move(strides), tensor->dtype(), offset));
}

nb::object view_as(const Tensor &tensor, nb::handle size, nb::handle stride, std::ptrdiff_t offset,
                   nb::handle dtype) {
    return wrap(tensor->view_as(shape_from(size, "view"), strides_from(stride, "view"),
                                dtype_from(dtype), offset));
}

nb::object select(const Tensor &tensor, long long dim, long long index) {
    size_t d = dimension(dim, tensor->ndim(), "select");
    auto size = (long long)(tensor->shape()[d]);
    if (index < -size || index >= size)
        raise(PyExc_IndexError, "select: index is %lld: expected %lld to %lld", index, -size,
              size - 1);
    Shape shape = tensor->shape();
    Strides strides = tensor->strides();
    const std::ptrdiff_t offset = (index < 0 ? index + size : index) * strides[d];
    shape.erase(shape.begin() + std::ptrdiff_t(d));
    strides.erase(strides.begin() + std::ptrdiff_t(d));
    return view(tensor, std::move(shape), std::move(strides), offset);
}

}  // namespace

void bind_views(nb::module_ &m) {
    m.def("try_view", try_view, "tensor"_a, "args"_a);
    m.def("view_as", view_as, "tensor"_a, "size"_a, "stride"_a, "offset"_a, "dtype"_a);
    nb::handle type(reinterpret_cast<PyObject *>(tensor_type));
    auto def = [&](const char *name, auto function, auto... extra) {
        nb::cpp_function_def(function, nb::scope(type), nb::name(name), nb::is_method(), extra...);
    };
    def("view", view_shape, "args"_a);
    def("permute", permute, "args"_a);
    def("transpose", transpose, "dim0"_a, "dim1"_a);
    def("unsqueeze", unsqueeze, "dim"_a);
    def("squeeze", squeeze, "dim"_a.none() = nb::none());
    def("expand", expand, "args"_a);
    def("narrow", narrow, "dim"_a, "start"_a, "length"_a);
    def("select", select, "dim"_a, "index"_a);
    def("as_strided", as_strided, "size"_a, "stride"_a, "storage_offset"_a.none() = nb::none());
    // The same with the sequence as a keyword.
    def(
        "view",
        [](const Tensor &tensor, nb::handle shape) {
            return view_shape(tensor, nb::borrow<nb::args>(nb::make_tuple(shape)));
        },
        nb::kw_only(), "shape"_a);
    def(
        "permute",
        [](const Tensor &tensor, nb::handle dims) {
            return permute(tensor, nb::borrow<nb::args>(nb::make_tuple(dims)));
        },
        nb::kw_only(), "dims"_a);
    def(
        "expand",
        [](const Tensor &tensor, nb::handle size) {
            return expand(tensor, nb::borrow<nb::args>(nb::make_tuple(size)));
        },
        nb::kw_only(), "size"_a);
}

}  // namespace infini::python
