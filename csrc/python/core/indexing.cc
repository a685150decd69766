// Basic indexing: integers, slices, None and `...`.
#include "view_of.h"

using namespace nanobind::literals;

namespace infini::python {
namespace {

// A key of integers, slices, None and `...`, applied dimension by dimension.
class Indexing {
public:
    explicit Indexing(const Tensor &tensor) : tensor_(tensor) {}

    // False: the key needs more than a view.
    bool apply(PyObject *key) {
        if (!PyTuple_Check(key)) {
            if (!plain(key)) return false;
            take(key);
        } else {
            const Py_ssize_t count = PyTuple_Size(key);
            size_t used = 0;
            bool has_ellipsis = false;
            for (Py_ssize_t i = 0; i < count; ++i) {
                PyObject *item = PyTuple_GetItem(key, i);
                if (!plain(item)) return false;
                if (item == Py_Ellipsis) {
                    if (has_ellipsis)
                        raise(PyExc_IndexError, "an index can only have a single ellipsis ('...')");
                    has_ellipsis = true;
                }
                used += item != Py_None && item != Py_Ellipsis;
            }
            if (used > tensor_->ndim())
                raise(PyExc_IndexError, "too many indices: %zu for a tensor of %zu dimensions",
                      used, tensor_->ndim());
            rest_ = tensor_->ndim() - used;
            for (Py_ssize_t i = 0; i < count; ++i) take(PyTuple_GetItem(key, i));
        }
        keep(tensor_->ndim() - dim_);
        return true;
    }
    nb::object result() { return view(tensor_, std::move(shape_), std::move(strides_), offset_); }

private:
    static bool plain(PyObject *item) {
        if (item == Py_None || item == Py_Ellipsis || PySlice_Check(item)) return true;
        if (PyLong_Check(item)) return !PyBool_Check(item);
        if (!PyIndex_Check(item) || is_tensor(item)) return false;
        // Arrays have to be asked whether they are a single integer.
        nb::object number = nb::steal(PyNumber_Index(item));
        if (!number.is_valid()) PyErr_Clear();
        return number.is_valid();
    }
    void keep(size_t count) {
        for (; count > 0; --count, ++dim_) {
            shape_.push_back(tensor_->shape()[dim_]);
            strides_.push_back(tensor_->strides()[dim_]);
        }
    }
    void take(PyObject *item) {
        if (item == Py_None) {
            shape_.push_back(1);
            strides_.push_back(dim_ < tensor_->ndim()
                                   ? tensor_->strides()[dim_] * Stride(tensor_->shape()[dim_])
                                   : 1);
            return;
        }
        if (item == Py_Ellipsis) return keep(rest_);
        if (dim_ >= tensor_->ndim())
            raise(PyExc_IndexError, "too many indices: 1 for a tensor of %zu dimensions",
                  tensor_->ndim());
        const auto size = Py_ssize_t(tensor_->shape()[dim_]);
        const Stride stride = tensor_->strides()[dim_];
        if (PySlice_Check(item)) {
            Py_ssize_t start, stop, step;
            if (PySlice_Unpack(item, &start, &stop, &step) < 0) throw nb::python_error();
            const Py_ssize_t count = PySlice_AdjustIndices(size, &start, &stop, step);
            shape_.push_back(size_t(count));
            strides_.push_back(stride * step);
            if (count > 0) offset_ += start * stride;
        } else {
            Py_ssize_t index = PyNumber_AsSsize_t(item, PyExc_IndexError);
            if (index == -1 && PyErr_Occurred()) throw nb::python_error();
            if (index < -size || index >= size)
                raise(PyExc_IndexError, "index %zd is out of bounds for dimension %zu of size %zd",
                      index, dim_, size);
            offset_ += (index < 0 ? index + size : index) * stride;
        }
        ++dim_;
    }

    const Tensor &tensor_;
    size_t dim_ = 0, rest_ = 0;
    Shape shape_;
    Strides strides_;
    std::ptrdiff_t offset_ = 0;
};

// The view that a key selects; None when it takes more than a view.
nb::object basic_index(const Tensor &tensor, nb::handle key) {
    Indexing indexing(tensor);
    return indexing.apply(key.ptr()) ? indexing.result() : nb::none();
}

nb::object get_item(nb::handle self, nb::handle key) {
    if (!is_tensor(self.ptr()))
        raise(PyExc_TypeError, "__getitem__: expected a tensor, got %S",
              reinterpret_cast<PyObject *>(Py_TYPE(self.ptr())));
    Indexing indexing(tensor_of(self.ptr()));
    if (indexing.apply(key.ptr())) return indexing.result();
    static const nb::handle advanced =
        nb::object(nb::module_::import_("infinicore._indexing").attr("get")).release();
    return advanced(self, key);
}

}  // namespace

void bind_indexing(nb::module_ &m) {
    m.def("basic_index", basic_index, "tensor"_a, "key"_a.none());
    nb::cpp_function_def(get_item, nb::scope(reinterpret_cast<PyObject *>(tensor_type)),
                         nb::name("__getitem__"), nb::is_method(), "key"_a.none());
}

}  // namespace infini::python
