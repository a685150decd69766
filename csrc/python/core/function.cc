// Functions: callables that remember, for each signature they were called with, the recipe for it.
//
// A signature is the layout of every tensor and the value of everything else. For a new one the
// body is run over tensors without data; what it does is recorded, fused, and kept as a recipe.
#include <nanobind/stl/string.h>
#include <structmember.h>

#include <cstring>
#include <string>
#include <unordered_map>

#include "../../core/out_of_memory.h"
#include "alias_map.h"
#include "explain.h"
#include "index_check.h"
#include "parameters.h"
#include "runtime.h"
#include "signature.h"

using namespace nanobind::literals;

namespace infini::python {

// The arguments of a body while it is traced.
using infinicore::detail::thread_state;

// For a scope, this thread's operations are recorded.
class TraceScope {
public:
    explicit TraceScope(Recorder &recorder) : before_(thread_state().recorder) {
        thread_state().recorder = &recorder;
    }
    ~TraceScope() { thread_state().recorder = before_; }
    TraceScope(const TraceScope &) = delete;

private:
    Recorder *before_;
};

// Tensors without data in place of a call's tensors and numbers.
class TracedArguments {
public:
    TracedArguments(const Device &device, const AliasMap &aliases)
        : device_(device), aliases_(aliases) {}

    nb::object in_for(PyObject *value, bool is_operand) {
        if (is_tensor(value)) {
            const TensorImpl &tensor = *tensor_of(value);
            auto memory =
                std::make_shared<OpenMemory>(tensor.memory()->size(), tensor.device(),
                                             OpenMemory::Role::Argument, int(metas.size()), true);
            aliases_.tell(*memory);
            metas.emplace_back(std::make_shared<TensorImpl>(
                tensor.shape(), tensor.strides(), tensor.dtype(),
                infinicore::TensorData{tensor.offset(), std::move(memory)}));
            return wrap(metas.back());
        }
        if (is_operand && (PyFloat_Check(value) || PyLong_Check(value))) {
            const DataType dtype = PyBool_Check(value)    ? DataType::BOOL
                                   : PyFloat_Check(value) ? DataType::F64
                                                          : DataType::I64;
            return number(numbers_++, dtype, device_);
        }
        if (PyTuple_Check(value) || PyList_Check(value)) {
            nb::list items;
            for (nb::handle item : nb::handle(value)) items.append(in_for(item.ptr(), false));
            return PyTuple_Check(value) ? nb::object(nb::tuple(items)) : nb::object(items);
        }
        return nb::borrow(value);
    }
    static nb::object number(int index, DataType dtype, const Device &device) {
        auto memory = std::make_shared<OpenMemory>(infinicore::dsize(dtype), device,
                                                   OpenMemory::Role::Number, index, true);
        memory->dtype = dtype;
        return wrap(Tensor(std::make_shared<TensorImpl>(
            Shape{}, Strides{}, dtype, infinicore::TensorData{0, std::move(memory)})));
    }

    std::vector<Tensor> metas;

private:
    Device device_;
    const AliasMap &aliases_;
    int numbers_ = 0;
};

namespace {

using infinicore::detail::thread_state;

constexpr size_t kMostRecipes = 1024;

// Shared: a call keeps its recipe while another one drops them all.
using Recipes =
    std::unordered_map<std::string, std::shared_ptr<const Recipe>, SignatureHash, std::equal_to<>>;

// ---- Functions ----------------------------------------------------------------------------------

struct Function {
    PyObject_HEAD vectorcallfunc vectorcall;
    PyObject *dict;
    PyObject *body;
    std::string *name;
    std::vector<Parameter> *parameters;
    size_t positional;
    size_t out;  // the parameter of this name; one past the last if there is none
    struct {
        bool is_wanted;
        size_t input, dim, index;  // parameters
    } index_check;
    Recipes *recipes;
    size_t traces;
    unsigned epoch;
};

// How often the state that all recipes depend on, such as the default float type, has changed.
unsigned epoch = 0;

// Destroying a recipe may call Python, which may call this function, so the table is emptied first.
void forget_recipes(Function &self) {
    Recipes gone;
    gone.swap(*self.recipes);
}

nb::object call_body(const Function &self, PyObject *const *values) {
    const std::vector<Parameter> &parameters = *self.parameters;
    nb::object names = nb::none();
    const size_t named = parameters.size() - self.positional;
    if (named) {
        names = nb::steal(PyTuple_New(Py_ssize_t(named)));
        for (size_t i = 0; i < named; ++i) {
            PyObject *name = parameters[self.positional + i].name;
            Py_INCREF(name);
            PyTuple_SetItem(names.ptr(), Py_ssize_t(i), name);
        }
    }
    PyObject *result =
        PyObject_Vectorcall(self.body, values, self.positional, named ? names.ptr() : nullptr);
    if (!result) throw nb::python_error();
    return nb::steal(result);
}

// ---- Tracing ------------------------------------------------------------------------------------

nb::object trace(Function &self, PyObject *const *bound, Signature &signature,
                 const CallArguments &arguments, const AliasMap &aliases) {
    const std::vector<Parameter> &parameters = *self.parameters;
    Recorder recorder(true);
    const Device device = arguments.tensors.empty() ? infinicore::detail::current_runtime().device
                                                    : tensor_of(arguments.tensors[0])->device();
    // Other threads run while code is compiled for it, and may give an object another tensor.
    std::vector<Tensor> before;
    for (size_t i = 0; i < arguments.tensors.size(); ++i)
        before.push_back(tensor_of(arguments.tensors[i]));
    const auto is_changed = [&] {
        for (size_t i = 0; i < before.size(); ++i)
            if (&*tensor_of(arguments.tensors[i]) != &*before[i]) return true;
        return false;
    };
    TracedArguments traced(device, aliases);
    std::vector<nb::object> held;
    std::vector<PyObject *> values;
    for (size_t i = 0; i < parameters.size(); ++i) {
        held.push_back(traced.in_for(bound[i], parameters[i].is_operand));
        values.push_back(held.back().ptr());
    }
    ++self.traces;
    auto recipe = std::make_shared<Recipe>();
    bool complete;
    {
        nb::object result;
        {
            TraceScope scope(recorder);
            AliasScope meets(aliases);
            result = call_body(self, values.data());
        }
        complete = recipe->make(recorder, traced.metas, result);
    }
    if (!complete) return call_body(self, bound);
    for (PyObject *object : signature.objects) recipe->keeps.push_back(nb::borrow(object));
    if (self.recipes->size() >= kMostRecipes) forget_recipes(self);
    self.recipes->insert_or_assign(std::string(signature.bytes()), recipe);
    return is_changed() ? call_body(self, bound) : recipe->run(arguments);
}

// The graph that is recorded has the tensors of calls as its inputs.
void note_arguments(PyObject *const *bound, size_t count) {
    Recorder &recorder = *infinicore::detail::recorded_graph();
    for (size_t i = 0; i < count; ++i) {
        if (is_tensor(bound[i])) recorder.note_given(tensor_of(bound[i]));
        if (!PyList_Check(bound[i]) && !PyTuple_Check(bound[i])) continue;
        for (nb::handle each : nb::borrow(bound[i]))
            if (is_tensor(each.ptr())) recorder.note_given(tensor_of(each.ptr()));
    }
}

nb::object call(Function &self, PyObject *const *args, size_t count, PyObject *keywords) {
    PyObject *bound[kMostParameters];
    if (!bind_arguments(*self.parameters, self.positional, *self.name, args, count, keywords,
                        bound))
        throw nb::python_error();
    const Recorder *recorder = thread_state().recorder;
    if (recorder && recorder->traced) return call_body(self, bound);
    if (recorder) [[unlikely]]
        note_arguments(bound, self.parameters->size());
    else if (self.index_check.is_wanted)
        check_index_along(self.name->substr(self.name->find_first_not_of('_')),
                          bound[self.index_check.input], bound[self.index_check.dim],
                          bound[self.index_check.index]);

    Signature signature;
    // Calls nest only through bodies, which have arguments of their own.
    CallArguments arguments;
    const std::vector<Parameter> &parameters = *self.parameters;
    size_t before_out = 0, behind_out = 0;
    for (size_t i = 0; i < parameters.size(); ++i) {
        if (i == self.out) before_out = arguments.tensors.size();
        if (!signature.add(bound[i], parameters[i].is_operand, arguments))
            return call_body(self, bound);
        if (i == self.out) behind_out = arguments.tensors.size();
    }
    AliasMap aliases;
    if (behind_out != before_out) {
        aliases.find(arguments, before_out, behind_out);
        if (!aliases.codes().empty())
            signature.mark(aliases.codes().data(), aliases.codes().size());
    }
    if (const uint32_t modes = infiniGetModes()) [[unlikely]] {
        const uint32_t words[] = {~0u, modes};  // codes of aliases are small
        signature.mark(words, sizeof words);
    }
    if (self.epoch != epoch) [[unlikely]] {
        forget_recipes(self);
        self.epoch = epoch;
    }
    auto found = self.recipes->find(signature.bytes());
    if (found != self.recipes->end()) [[likely]] {
        std::shared_ptr<const Recipe> recipe = found->second;
        return recipe->run(arguments);
    }
    return trace(self, bound, signature, arguments, aliases);
}

PyObject *vectorcall(PyObject *self, PyObject *const *args, size_t flags, PyObject *keywords) {
    try {
        return call(*reinterpret_cast<Function *>(self), args, size_t(PyVectorcall_NARGS(flags)),
                    keywords)
            .release()
            .ptr();
    } catch (nb::python_error &error) {
        error.restore();
    } catch (nb::builtin_exception &error) {
        PyErr_SetString(PyExc_RuntimeError, error.what());
    } catch (const std::bad_alloc &) {
        PyErr_NoMemory();
    } catch (const infinicore::detail::OutOfMemory &error) {
        PyErr_SetString(PyExc_MemoryError, error.what());
    } catch (const std::exception &error) {
        PyErr_SetString(PyExc_RuntimeError, error.what());
    }
    explain_error(self, args, flags, keywords);
    return nullptr;
}

// ---- The type -----------------------------------------------------------------------------------

PyObject *function_type = nullptr;

PyObject *bind_method(PyObject *self, PyObject *object, PyObject *) {
    if (!object || object == Py_None) {
        Py_INCREF(self);
        return self;
    }
    static PyObject *method_type = nullptr;
    if (!method_type)
        method_type = nb::object(nb::module_::import_("types").attr("MethodType")).release().ptr();
    return PyObject_CallFunctionObjArgs(method_type, self, object, nullptr);
}

PyObject *represent(PyObject *self) {
    return PyUnicode_FromFormat("<function %s>", reinterpret_cast<Function *>(self)->name->c_str());
}

// A body may hold its own function; the garbage collector handles such cycles.
int traverse(PyObject *object, visitproc visit, void *arg) {
    auto *self = reinterpret_cast<Function *>(object);
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->dict);
    Py_VISIT(self->body);
    return 0;
}

int clear(PyObject *object) {
    auto *self = reinterpret_cast<Function *>(object);
    Py_CLEAR(self->dict);
    // A remaining reference may still call it.
    PyObject *body = std::exchange(self->body, nb::none().release().ptr());
    Py_XDECREF(body);
    return 0;
}

void forget(PyObject *object) {
    PyObject_GC_UnTrack(object);
    auto *self = reinterpret_cast<Function *>(object);
    Py_XDECREF(self->dict);
    Py_XDECREF(self->body);
    for (Parameter &parameter : *self->parameters) {
        Py_XDECREF(parameter.name);
        Py_XDECREF(parameter.preset);
    }
    delete self->name;
    delete self->parameters;
    delete self->recipes;
    PyTypeObject *type = Py_TYPE(object);
    auto free_object = reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free));
    free_object(object);
    Py_DECREF(reinterpret_cast<PyObject *>(type));
}

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Function, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(Function, dict), READONLY, nullptr},
    {"__wrapped__", T_OBJECT, offsetof(Function, body), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyGetSetDef attributes[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void *>(PyVectorcall_Call)},
                       {Py_tp_dealloc, reinterpret_cast<void *>(forget)},
                       {Py_tp_traverse, reinterpret_cast<void *>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void *>(clear)},
                       {Py_tp_repr, reinterpret_cast<void *>(represent)},
                       {Py_tp_descr_get, reinterpret_cast<void *>(bind_method)},
                       {Py_tp_members, members},
                       {Py_tp_getset, attributes},
                       {0, nullptr}};

PyType_Spec spec = {"infinicore._core.Function", sizeof(Function), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_HAVE_GC |
                        Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
                    slots};

// parameters: (name, default or `missing`, is operand, is keyword-only)
nb::object make_function(const std::string &name, nb::handle body, nb::list parameters,
                         nb::handle missing) {
    if (parameters.size() > kMostParameters) throw nb::value_error("too many parameters");
    auto *type = reinterpret_cast<PyTypeObject *>(function_type);
    auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
    auto *made = reinterpret_cast<Function *>(allocate(type, 0));
    if (!made) throw nb::python_error();
    made->vectorcall = vectorcall;
    made->name = new std::string(name);
    made->parameters = new std::vector<Parameter>;
    made->recipes = new Recipes;
    made->epoch = epoch;
    made->body = nb::borrow(body).release().ptr();
    made->positional = 0;
    for (nb::handle each : parameters) {
        auto text = nb::cast<std::string>(nb::object(each[0]));
        nb::object preset = each[1];
        const bool keyword_only = nb::cast<bool>(nb::object(each[3]));
        made->parameters->push_back({PyUnicode_InternFromString(text.c_str()),
                                     preset.is(missing) ? nullptr : preset.release().ptr(),
                                     nb::cast<bool>(nb::object(each[2])), keyword_only});
        made->positional += !keyword_only;
    }
    made->out = find_named(*made->parameters, "out");
    return nb::steal(reinterpret_cast<PyObject *>(made));
}

Function &function_of(nb::handle object) {
    if (Py_TYPE(object.ptr()) != reinterpret_cast<PyTypeObject *>(function_type))
        throw nb::type_error("expected a function of infinicore");
    return *reinterpret_cast<Function *>(object.ptr());
}

}  // namespace

// A number of the traced call as an element of another type.
static nb::object number_as(const Tensor &tensor, nb::handle dtype) {
    auto *open = dynamic_cast<OpenMemory *>(tensor->memory().get());
    if (!open || open->role != OpenMemory::Role::Number)
        throw nb::value_error("expected a number of a traced call");
    return TracedArguments::number(open->index, dtype_from(dtype), tensor->device());
}

// Calls check their index, which is not part of the signature.
static void check_index_of(nb::handle function) {
    Function &made = function_of(function);
    const auto named = [&](const char *name) {
        const size_t at = find_named(*made.parameters, name);
        if (at == made.parameters->size()) throw nb::value_error("expected input, dim and index");
        return at;
    };
    made.index_check = {true, named("input"), named("dim"), named("index")};
}

void bind_functions(nb::module_ &m) {
    function_type = PyType_FromSpec(&spec);
    if (!function_type) throw nb::python_error();
    m.attr("Function") = nb::borrow(function_type);
    m.def("make_function", make_function, "name"_a, "body"_a, "parameters"_a, "missing"_a);
    m.def("number_as", number_as, "number"_a, "dtype"_a);
    m.def("out_meets", out_meets, "out"_a, "other"_a);
    m.def("add_identity_type", [](nb::handle type) { Signature::add_identity_type(type.ptr()); });
    m.def("check_index_of", check_index_of, "function"_a);
    m.def("recipe_count", [](nb::handle f) { return function_of(f).recipes->size(); });
    m.def("trace_count", [](nb::handle f) { return function_of(f).traces; });
    m.def("forget_recipes", [](nb::handle f) { forget_recipes(function_of(f)); });
    m.def("forget_all_recipes", [] { ++epoch; });
    m.def("is_tracing", [] {
        const Recorder *recorder = thread_state().recorder;
        return recorder && recorder->traced;
    });
}

}  // namespace infini::python
