// Ownership: a plan owns its description. The library keeps what running work needs, so a plan may
// be destroyed at any time. Tensors are kept until the stream is done with them
// (`infinicore._rt._hold`), and the workspace is allocated and freed in the order of the stream.
#include "plan.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "../runtime/raise_error.h"
#include "description.h"
#include "dtypes.h"
#include "infini/ext.h"
#include "infini/op_ext.h"
#include "infinirt_runtime_api.h"
#include "values.h"
#include "view.h"

using namespace nanobind::literals;

namespace infini::python {
namespace {

using infinicore::detail::allocate_workspace, infinicore::detail::Description;

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

void *stream_of(nb::handle stream) {
    if (stream.is_none()) return nullptr;
    nb::object number = PyLong_Check(stream.ptr()) ? nb::borrow(stream) : stream.attr("handle");
    return reinterpret_cast<void *>(nb::cast<uintptr_t>(number));
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

InfiniTarget target_of_thread() {
    InfiniTarget target;
    check(infiniTargetOfThread("infinicore.op", &target));
    return target;
}

bool is_host(const InfiniTarget &target) { return std::strcmp(target.kind, "cpu") == 0; }

void check_device(const View &view, const InfiniTarget &target) {
    if (view.foreign && !is_host(target))
        throw nb::value_error(
            "a tensor lies in memory of the host, which the current device does not use: copy it "
            "to infinicore.rt.Memory");
    if (view.device >= 0 && (is_host(target) || view.device != target.index))
        raise_error(PyExc_ValueError,
                    "a tensor lies on device %d of its type, and the current device is %s:%d: "
                    "choose another with infinicore.rt",
                    view.device, target.kind, target.index);
}

InfiniTensor contract_tensor(const View &view) {
    return {view.dtype, int(view.ndim()), view.shape(), view.strides()};
}

// Compiling code for a device may take long, so the GIL is released. The host compiles nothing, and
// its calls are short.
void describe(const Row &row, const InfiniTarget &target, const InfiniTensor *tensors,
              const size_t *counts, const Values &values, Description &made) {
    infiniStatus_t status;
    {
        std::optional<nb::gil_scoped_release> released;
        if (!is_host(target)) released.emplace();
        status = made.make(row, target, tensors, counts, values.data(), values.counts().data());
    }
    check(status);
}

// Runs an operator, and keeps `data` until it has finished. Without a stream it runs in the stream
// of the tensors' lender, and has finished on return.
void execute(const RunRow &row, const InfiniTarget &target, const Description &described,
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
        std::shared_ptr<void> cached;
        const size_t bytes = described->workspace;
        auto handle = static_cast<infinirtStream_t>(queue);
        if (bytes > 0 && stream.is_none())
            workspace = (cached = allocate_workspace(target, bytes, queue)).get();
        else if (bytes > 0)  // a stream may be captured, and its graph then owns the memory
            error = infinirtMallocAsync(&workspace, bytes, handle);
        status = error ? INFINI_STATUS_INTERNAL_ERROR
                       : row.call(described->descriptor, workspace, bytes, pointers, values.data(),
                                  queue);
        if (status != INFINI_STATUS_SUCCESS) message = infiniGetLastErrorMessage();
        if (workspace && !cached) infinirtFreeAsync(workspace, handle);
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

// For operators whose tensors all have the same shape, and whose run function takes them in the
// order of the create function: no Python objects are created. False, with nothing done: the
// tensors need the full checks.
bool run_map(int index, nb::handle tensors, nb::handle attributes, nb::handle scalars,
             nb::handle stream) {
    constexpr size_t kMost = 8;
    const Row &row = row_at(index);
    size_t count = nb::len(tensors);
    if (count > kMost || count != std::strlen(row.tensors)) return false;
    View inspected[kMost];
    InfiniTensor given[kMost];
    size_t counts[kMost];
    void *pointers[kMost], *lender = nullptr;
    const View *first = nullptr;
    const InfiniTarget target = target_of_thread();
    for (size_t i = 0; i < count; ++i) {
        nb::object object = tensors[i];
        const View *view = &inspected[i];
        if (nb::isinstance<View>(object))
            view = &nb::cast<const View &>(object);
        else if (!inspected[i].try_inspect(object))
            return false;
        if (!first) first = view;
        bool written = row.runs[0].pointers[i] == 'w';
        if (!view->same_shape(*first) || (written && view->readonly)) return false;
        check_device(*view, target);
        given[i] = contract_tensor(*view);
        counts[i] = 1;
        pointers[i] = view->data;
        if (view->stream) lender = view->stream;
    }
    Description described;
    describe(row, target, given, counts, Values(row.attributes, attributes), described);
    execute(row.runs[0], target, described, pointers, Values(row.runs[0].scalars, scalars), stream,
            tensors, lender);
    return true;
}

// ---- Describing ---------------------------------------------------------------------------------

class Plan {
public:
    Plan(int index, nb::handle tensors, nb::handle attributes);
    Plan(const Plan &) = delete;

    // Pointers and scalars in the order of the run function. Returns what it wrote to the host.
    nb::object run(int number, nb::handle data, nb::handle scalars, nb::handle stream);

    size_t workspace_size() const { return described_->workspace; }
    const char *name() const { return row_.name; }

private:
    struct Layout {
        int dtype;
        std::vector<int64_t> shape, strides;

        explicit Layout(const View &view)
            : dtype(view.dtype),
              shape(view.shape(), view.shape() + view.ndim()),
              strides(view.strides(), view.strides() + view.ndim()) {}
        bool matches(const View &view) const {
            return dtype == view.dtype && shape.size() == view.ndim() &&
                   std::equal(shape.begin(), shape.end(), view.shape()) &&
                   std::equal(strides.begin(), strides.end(), view.strides());
        }
    };
    struct Arguments;

    void *address(nb::handle object, const RunRow &run, size_t place, size_t item, Arguments &into);

    const Row &row_;
    Description described_;
    std::vector<std::vector<Layout>> layouts_;  // by declared tensor
};

Plan::Plan(int index, nb::handle tensors, nb::handle attributes) : row_(row_at(index)) {
    const size_t count = std::strlen(row_.tensors);
    if (nb::len(tensors) != count) throw nb::value_error("a wrong number of tensors");
    const InfiniTarget target = target_of_thread();
    std::vector<InfiniTensor> given;
    std::vector<size_t> counts(count, 1);
    layouts_.resize(count);
    auto add = [&](size_t tensor, nb::handle object) {
        const View &view = nb::cast<const View &>(object);
        check_device(view, target);
        layouts_[tensor].emplace_back(view);
        given.push_back(contract_tensor(view));
    };
    for (size_t i = 0; i < count; ++i) {
        nb::object tensor = tensors[i];
        if (tensor.is_none()) {
            given.push_back({});
        } else if (row_.tensors[i] == 'a') {
            counts[i] = nb::len(tensor);
            for (nb::handle each : tensor) add(i, each);
        } else {
            add(i, tensor);
        }
    }
    describe(row_, target, given.data(), counts.data(), Values(row_.attributes, attributes),
             described_);
}

// ---- Running ------------------------------------------------------------------------------------

struct Plan::Arguments {
    std::vector<void *> pointers;
    std::deque<std::vector<void *>> arrays;
    std::deque<View> inspected;
    uint64_t host[4] = {};  // what is written to the host
    size_t host_count = 0;
    void *lender = nullptr;  // the stream of a tensor's lender
    InfiniTarget target = target_of_thread();
};

void *Plan::address(nb::handle object, const RunRow &run, size_t place, size_t item,
                    Arguments &into) {
    if (object.is_none()) return nullptr;
    if (PyLong_Check(object.ptr())) return reinterpret_cast<void *>(nb::cast<uintptr_t>(object));
    View *view;
    if (nb::isinstance<View>(object)) {
        view = &nb::cast<View &>(object);
    } else {
        view = &into.inspected.emplace_back();
        view->inspect(object, run.name);
    }
    check_device(*view, into.target);
    bool written = run.pointers[place] == 'w';
    if (written && view->readonly)
        raise_error(PyExc_ValueError, "%s: argument %zu is written, but is read-only", run.name,
                    place);
    int tensor = run.tensors[place];
    if (tensor >= 0 && item < layouts_[tensor].size() && !layouts_[tensor][item].matches(*view)) {
        const Layout &known = layouts_[tensor][item];
        std::string expected =
            text(known.dtype, known.shape.data(), known.strides.data(), known.shape.size());
        std::string got = text(view->dtype, view->shape(), view->strides(), view->ndim());
        raise_error(PyExc_ValueError, "%s: argument %zu was described as %s, got %s", run.name,
                    place, expected.c_str(), got.c_str());
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
            raise_error(PyExc_ValueError, "%s: argument %zu was described as %zu tensors, got %zu",
                        row.name, i, layouts_[tensor].size(), array.size());
        }
        arguments.pointers.push_back(array.data());
    }
    if (arguments.pointers.size() != count || next != given)
        raise_error(PyExc_TypeError, "%s: expected %zu tensors, got %zu", row.name,
                    count - arguments.host_count, given);
    Values values(row.scalars, scalars);
    execute(row, arguments.target, described_, arguments.pointers.data(), values, stream, data,
            arguments.lender);
    if (arguments.host_count == 0) return nb::none();
    nb::list written;
    for (size_t i = 0; i < arguments.host_count; ++i) written.append(arguments.host[i]);
    return written;
}

}  // namespace

void bind_plan(nb::module_ &m) {
    nb::list names;
    for (int i = 0; i < kRowCount; ++i) names.append(kRows[i].name);
    m.attr("operator_names") = names;
    // Results that a run function has allocated in memory of the host: by new[], or by malloc.
    m.def("free_host", [](uintptr_t address, bool by_new) {
        if (by_new)
            delete[] reinterpret_cast<int64_t *>(address);
        else
            std::free(reinterpret_cast<void *>(address));
    });
    m.def("plan_cache_counts", [] {
        size_t kept, hits, misses;
        infiniopGetPlanCacheCounts(&kept, &hits, &misses);
        return nb::make_tuple(kept, hits, misses);
    });
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
