#include "plan.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "dtypes.h"
#include "infini/ext.h"
#include "infinirt_runtime_api.h"
#include "keep.h"
#include "values.h"

using namespace nanobind::literals;

namespace infini::python {
namespace {

[[noreturn]] void throw_status(infiniStatus_t status, const char *message) {
    nb::object type = nb::module_::import_("infinicore.op._error").attr("InfiniOPError");
    nb::object error = type(int(status), nb::str(message));
    PyErr_SetObject(type.ptr(), error.ptr());
    throw nb::python_error();
}

[[noreturn]] void throw_runtime(infinirtError_t code) {
    nb::object type = nb::module_::import_("infinicore.rt._error").attr("InfiniRTError");
    nb::object error =
        type(int(code), infinirtGetErrorName(code), nb::str(infiniGetLastErrorMessage()));
    PyErr_SetObject(type.ptr(), error.ptr());
    throw nb::python_error();
}

// The message belongs to this thread's last failing call, which is the one that gave the code.
void check(infiniStatus_t status) {
    if (status != INFINI_STATUS_SUCCESS) [[unlikely]]
        throw_status(status, infiniGetLastErrorMessage());
}

// A thread's workspace for calls that are over when they return: kept from call to call, since
// fresh memory costs more than most operators.
class Scratch {
public:
    ~Scratch() { free(); }
    infinirtError_t get(size_t bytes, void **memory) {
        int device = 0;
        if (infinirtError_t error = infinirtGetDevice(&device)) return error;
        const char *kind = infinirtGetDeviceKind();
        if (bytes > bytes_ || device != device_ || kind != kind_) {
            free();
            if (infinirtError_t error = infinirtMalloc(&memory_, bytes)) return error;
            infiniKeep(memory_);
            bytes_ = bytes;
            device_ = device;
            kind_ = kind;
        }
        *memory = memory_;
        return infinirtSuccess;
    }

private:
    void free() {
        if (!memory_) return;
        infiniLetGo(memory_);
        infinirtFree(memory_);
        memory_ = nullptr;
        bytes_ = 0;
    }

    void *memory_ = nullptr;
    size_t bytes_ = 0;
    int device_ = 0;
    const char *kind_ = nullptr;
};

// One handle for each device that was used; they stay.
infiniopHandle_t handle_of_thread() {
    static auto &handles = *new std::map<std::pair<std::string, int>, infiniopHandle_t>;
    static std::pair<const char *, int> last;
    static infiniopHandle_t last_handle = nullptr;
    int device = 0;
    if (infinirtError_t error = infinirtGetDevice(&device)) throw_runtime(error);
    const char *kind = infinirtGetDeviceKind();
    if (last_handle && last == std::pair(kind, device)) [[likely]]
        return last_handle;
    infiniopHandle_t &handle = handles[{kind, device}];
    if (!handle) check(infiniopCreateHandle(&handle));
    last = {kind, device};
    return last_handle = handle;
}

void *stream_of(nb::handle stream) {
    if (stream.is_none()) return nullptr;
    nb::object number = PyLong_Check(stream.ptr()) ? nb::borrow(stream) : stream.attr("handle");
    return reinterpret_cast<void *>(nb::cast<uintptr_t>(number));
}

struct Descriptors {
    std::vector<infiniopTensorDescriptor_t> made;
    ~Descriptors() {
        for (infiniopTensorDescriptor_t each : made) infiniopDestroyTensorDescriptor(each);
    }
};

void *make_descriptor(const View &view, Descriptors &all) {
    // On the stack, whose pages the library has probed before: probing new ones takes longer
    // than all the rest.
    constexpr size_t kMost = 64;
    size_t shape[kMost];
    ptrdiff_t strides[kMost];
    infiniopTensorDescriptor_t made = nullptr;
    size_t ndim = view.ndim();
    std::copy_n(view.shape(), std::min(ndim, kMost), shape);
    std::copy_n(view.strides(), std::min(ndim, kMost), strides);
    check(infiniopCreateTensorDescriptor(&made, ndim, shape, strides, infiniDtype_t(view.dtype)));
    all.made.push_back(made);
    return made;
}

std::string text(int dtype, const int64_t *shape, const int64_t *strides, size_t ndim) {
    auto list = [&](const int64_t *values) {
        std::string made;
        for (size_t i = 0; i < ndim; ++i) made += (i ? ", " : "") + std::to_string(values[i]);
        return made;
    };
    return std::string(name_of(dtype)) + " [" + list(shape) + "] with strides [" + list(strides) +
           "]";
}

const Row &row_at(int index) {
    if (index < 0 || index >= kRowCount) throw nb::index_error("no such operator");
    return kRows[index];
}

void check_place(const View &view, bool on_host) {
    if (view.foreign && !on_host)
        throw nb::value_error(
            "a tensor lies in memory of the host, which the current device does not use: copy it "
            "to infinicore.rt.Memory");
    if (view.device < 0) return;
    int device = 0;
    if (infinirtError_t error = infinirtGetDevice(&device)) throw_runtime(error);
    if (on_host || view.device != device) {
        PyErr_Format(PyExc_ValueError,
                     "a tensor lies on device %d of its kind, and the current device is %s:%d: "
                     "choose another with infinicore.rt",
                     view.device, infinirtGetDeviceKind(), device);
        throw nb::python_error();
    }
}

bool on_host() { return std::strcmp(infinirtGetDeviceKind(), "cpu") == 0; }

// A device may have code compiled for it, which takes long: others go on meanwhile. The host has
// none, and its calls are short.
void create(const Row &row, infiniopHandle_t handle, InfiniopDescriptor **made, void *const *given,
            const Values &values, bool host) {
    infiniStatus_t status;
    {
        std::optional<nb::gil_scoped_release> released;
        if (!host) released.emplace();
        status = row.create(handle, made, given, values.data());
    }
    check(status);
}

// Runs a descriptor, and keeps `data` until that is done. Without a stream it runs in that of the
// tensors' lender, and has been done on return.
void execute(const RunRow &row, InfiniopDescriptor *descriptor, size_t workspace_size,
             void *const *pointers, const Values &values, nb::handle stream, nb::handle data,
             void *lender) {
    void *queue = stream.is_none() ? lender : stream_of(stream);
    infinirtError_t error = infinirtSuccess;
    infiniStatus_t status;
    std::string message;
    {
        // The work may run in this thread, or wait for streams that call Python.
        nb::gil_scoped_release released;
        void *workspace = nullptr;
        auto handle = static_cast<infinirtStream_t>(queue);
        static thread_local Scratch scratch;
        if (workspace_size > 0)
            error = queue ? infinirtMallocAsync(&workspace, workspace_size, handle)
                          : scratch.get(workspace_size, &workspace);
        status =
            error ? INFINI_STATUS_INTERNAL_ERROR
                  : row.call(descriptor, workspace, workspace_size, pointers, values.data(), queue);
        if (status != INFINI_STATUS_SUCCESS) message = infiniGetLastErrorMessage();
        if (workspace && queue) infinirtFreeAsync(workspace, handle);
        if (stream.is_none() && status == INFINI_STATUS_SUCCESS)
            error = infinirtStreamSynchronize(handle);
    }
    if (error) throw_runtime(error);
    if (status != INFINI_STATUS_SUCCESS) throw_status(status, message.c_str());
    if (!stream.is_none() && queue) {
        static const nb::handle hold =
            nb::object(nb::module_::import_("infinicore._rt").attr("_hold")).release();
        hold(stream, data);
    }
}

// For operators whose tensors have all one shape, and whose run function takes them in the order of
// the create function: no Python objects are made on the way. False, with nothing done: the tensors
// need a closer look.
bool run_map(int index, nb::handle tensors, nb::handle attributes, nb::handle scalars,
             nb::handle stream) {
    constexpr size_t kMost = 8;
    const Row &row = row_at(index);
    size_t count = nb::len(tensors);
    if (count > kMost || count != std::strlen(row.tensors)) return false;
    View looked_at[kMost];
    Descriptors all;
    void *pointers[kMost], *given[kMost];
    const View *first = nullptr;
    void *lender = nullptr;
    infiniopHandle_t handle = handle_of_thread();
    bool host = on_host();
    for (size_t i = 0; i < count; ++i) {
        nb::object object = tensors[i];
        const View *view = &looked_at[i];
        if (nb::isinstance<View>(object))
            view = &nb::cast<const View &>(object);
        else if (!looked_at[i].try_look_at(object))
            return false;
        if (!first) first = view;
        bool written = row.runs[0].pointers[i] == 'w';
        if (!view->same_shape(*first) || (written && view->readonly)) return false;
        check_place(*view, host);
        given[i] = make_descriptor(*view, all);
        pointers[i] = view->data;
        if (view->stream) lender = view->stream;
    }
    struct Described {
        const Row &row;
        InfiniopDescriptor *descriptor = nullptr;
        ~Described() {
            if (descriptor) row.destroy(descriptor);
        }
    } described{row};
    size_t workspace = 0;
    create(row, handle, &described.descriptor, given, Values(row.attributes, attributes), host);
    if (row.workspace) check(row.workspace(described.descriptor, &workspace));
    Values values(row.runs[0].scalars, scalars);
    execute(row.runs[0], described.descriptor, workspace, pointers, values, stream, tensors,
            lender);
    return true;
}

}  // namespace

// ---- Describing ---------------------------------------------------------------------------------

bool Plan::Layout::matches(const View &view) const {
    return dtype == view.dtype && shape.size() == view.ndim() &&
           std::equal(shape.begin(), shape.end(), view.shape()) &&
           std::equal(strides.begin(), strides.end(), view.strides());
}

Plan::Plan(int index, nb::handle tensors, nb::handle attributes) : row_(row_at(index)) {
    size_t count = std::strlen(row_.tensors);
    if (nb::len(tensors) != count) throw nb::value_error("a wrong number of tensors");
    infiniopHandle_t handle = handle_of_thread();
    bool host = on_host();
    Descriptors all;
    std::vector<void *> given(count, nullptr);
    std::deque<std::vector<void *>> arrays;
    layouts_.resize(count);
    auto describe = [&](size_t tensor, nb::handle object) {
        auto &view = nb::cast<View &>(object);
        check_place(view, host);
        layouts_[tensor].push_back({view.dtype,
                                    {view.shape(), view.shape() + view.ndim()},
                                    {view.strides(), view.strides() + view.ndim()}});
        return make_descriptor(view, all);
    };
    for (size_t i = 0; i < count; ++i) {
        nb::object tensor = tensors[i];
        if (tensor.is_none()) continue;
        if (row_.tensors[i] == 'a') {
            std::vector<void *> &array = arrays.emplace_back();
            for (nb::handle each : tensor) array.push_back(describe(i, each));
            given[i] = array.data();
        } else {
            given[i] = describe(i, tensor);
        }
    }
    Values values(row_.attributes, attributes);
    create(row_, handle, &descriptor_, given.data(), values, host);
    if (row_.workspace) check(row_.workspace(descriptor_, &workspace_));
}

// ---- Running ------------------------------------------------------------------------------------

struct Plan::Arguments {
    std::vector<void *> pointers;
    std::deque<std::vector<void *>> arrays;
    std::deque<View> looked_at;
    uint64_t host[4] = {};  // what is written to the host
    size_t host_count = 0;
    void *lender = nullptr;  // the stream of a tensor's lender
};

void *Plan::address(nb::handle object, const RunRow &run, size_t place, size_t item,
                    Arguments &into) {
    if (object.is_none()) return nullptr;
    if (PyLong_Check(object.ptr())) return reinterpret_cast<void *>(nb::cast<uintptr_t>(object));
    View *view;
    if (nb::isinstance<View>(object)) {
        view = &nb::cast<View &>(object);
    } else {
        view = &into.looked_at.emplace_back();
        view->look_at(object, run.name);
    }
    check_place(*view, on_host());
    bool written = run.pointers[place] == 'w';
    if (written && view->readonly) {
        PyErr_Format(PyExc_ValueError, "%s: argument %zu is written, but is read-only", run.name,
                     place);
        throw nb::python_error();
    }
    int tensor = run.tensors[place];
    if (tensor >= 0 && item < layouts_[tensor].size() && !layouts_[tensor][item].matches(*view)) {
        const Layout &known = layouts_[tensor][item];
        std::string expected =
            text(known.dtype, known.shape.data(), known.strides.data(), known.shape.size());
        std::string got = text(view->dtype, view->shape(), view->strides(), view->ndim());
        PyErr_Format(PyExc_ValueError, "%s: argument %zu was described as %s, got %s", run.name,
                     place, expected.c_str(), got.c_str());
        throw nb::python_error();
    }
    if (view->stream) into.lender = view->stream;
    return view->data;
}

nb::object Plan::run(int number, nb::handle data, nb::handle scalars, nb::handle stream) {
    if (number < 0 || number >= row_.run_count) throw nb::index_error("no such run function");
    const RunRow &row = row_.runs[number];
    size_t count = std::strlen(row.pointers);
    Arguments arguments;
    arguments.pointers.reserve(count);
    size_t next = 0, given = nb::len(data);
    for (size_t i = 0; i < count; ++i) {
        if (row.pointers[i] == 'h') {
            arguments.pointers.push_back(&arguments.host[arguments.host_count++]);
            continue;
        }
        if (next >= given) break;
        nb::object object = data[next++];
        if (row.pointers[i] != 'a') {
            arguments.pointers.push_back(address(object, row, i, 0, arguments));
            continue;
        }
        std::vector<void *> &array = arguments.arrays.emplace_back();
        for (nb::handle each : object)
            array.push_back(address(each, row, i, array.size(), arguments));
        if (int tensor = row.tensors[i]; tensor >= 0 && array.size() != layouts_[tensor].size()) {
            PyErr_Format(PyExc_ValueError, "%s: argument %zu was described as %zu tensors, got %zu",
                         row.name, i, layouts_[tensor].size(), array.size());
            throw nb::python_error();
        }
        arguments.pointers.push_back(array.data());
    }
    if (arguments.pointers.size() != count || next != given) {
        PyErr_Format(PyExc_TypeError, "%s: expected %zu tensors, got %zu", row.name,
                     count - arguments.host_count, given);
        throw nb::python_error();
    }
    Values values(row.scalars, scalars);
    execute(row, descriptor_, workspace_, arguments.pointers.data(), values, stream, data,
            arguments.lender);
    if (arguments.host_count == 0) return nb::none();
    nb::list written;
    for (size_t i = 0; i < arguments.host_count; ++i) written.append(arguments.host[i]);
    return written;
}

void bind_plan(nb::module_ &m) {
    m.def("run_map", run_map, "index"_a, "tensors"_a, "attributes"_a, "scalars"_a,
          "stream"_a.none());
    nb::class_<Plan>(m, "Plan")
        .def(nb::init<int, nb::handle, nb::handle>(), "index"_a, "tensors"_a, "attributes"_a)
        .def("_run", &Plan::run, "number"_a, "data"_a, "scalars"_a, "stream"_a.none())
        .def_prop_ro("name", &Plan::name, "The operator's name.")
        .def_prop_ro("workspace_size", &Plan::workspace_size,
                     "Bytes of memory that a run uses besides its tensors.");
}

}  // namespace infini::python
