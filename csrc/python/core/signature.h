// The arguments of a call as bytes: the key of recipes.
#pragma once

#include <cstring>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "recipe.h"

namespace infini::python {

// Objects with an identity (element types, devices) represent
// themselves by their address.
class Signature {
public:
    // False: the arguments contain an object whose value cannot be determined.
    bool add(PyObject *value, bool is_operand, CallArguments &arguments, int depth = 0) {
        if (value == Py_None) return put_tag('N');
        // Subclass checks are slow, so numbers skip them.
        const PyTypeObject *type = Py_TYPE(value);
        const bool is_number =
            type == &PyLong_Type || type == &PyFloat_Type || type == &PyBool_Type;
        if (!is_number && is_tensor(value)) {
            const TensorImpl &tensor = *tensor_of(value);
            const Device device = tensor.device();
            const size_t rank = tensor.ndim();
            struct {
                char tag;
                uint8_t dtype, type, index;
                uint32_t rank;
            } head{'T', uint8_t(tensor.dtype()), uint8_t(device.getType()),
                   uint8_t(device.getIndex()), uint32_t(rank)};
            put(&head, sizeof head);
            put_pairs(tensor.shape().data(), tensor.strides().data(), rank);
            arguments.tensors.push_back(value);
            return true;
        }
        if (PyBool_Check(value)) {
            if (is_operand) return put_number('b', value, arguments);
            return put_tag(value == Py_True ? 't' : 'f');
        }
        if (PyLong_Check(value)) {
            int overflow = 0;
            const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
            if (overflow) return false;
            if (is_operand) return put_number('i', value, arguments);
            put_tag('I');
            put(&number, sizeof number);
            return true;
        }
        if (PyFloat_Check(value)) {
            if (is_operand) return put_number('d', value, arguments);
            const double number = PyFloat_AsDouble(value);
            put_tag('D');
            put(&number, sizeof number);
            return true;
        }
        if (PyUnicode_Check(value)) {
            Py_ssize_t length = 0;
            const char *text = PyUnicode_AsUTF8AndSize(value, &length);
            if (!text) {
                PyErr_Clear();  // half of a pair of characters
                return false;
            }
            put_tag('s');
            put(&length, sizeof length);
            put(text, size_t(length));
            return true;
        }
        if (PyTuple_Check(value) || PyList_Check(value)) {
            if (depth == kMostDepth) return false;  // a list may contain itself
            const bool is_tuple = PyTuple_Check(value);
            const Py_ssize_t count = is_tuple ? PyTuple_Size(value) : PyList_Size(value);
            put_tag(is_tuple ? '(' : '[');
            put(&count, sizeof count);
            for (Py_ssize_t i = 0; i < count; ++i) {
                PyObject *item = is_tuple ? PyTuple_GetItem(value, i) : PyList_GetItem(value, i);
                // Another thread may change the list meanwhile.
                if (!is_tuple) arguments.held.push_back(nb::borrow(item));
                if (!add(item, false, arguments, depth + 1)) return false;
            }
            return true;
        }
        if (is_identity(value)) {
            put_tag('o');
            put(&value, sizeof value);
            objects.push_back(value);
            return true;
        }
        return false;
    }
    // Other state that the recipe depends on.
    void mark(const void *bytes, size_t count) {
        put_tag('M');
        put(bytes, count);
    }
    std::string_view bytes() const { return {data_, size_}; }
    static void add_identity_type(PyObject *type) {
        identity_types().insert(reinterpret_cast<PyTypeObject *>(nb::borrow(type).release().ptr()));
    }

    std::vector<PyObject *> objects;

private:
    static constexpr int kMostDepth = 16;

    static std::unordered_set<PyTypeObject *> &identity_types() {
        static auto *types = new std::unordered_set<PyTypeObject *>;
        return *types;
    }
    static bool is_identity(PyObject *value) { return identity_types().contains(Py_TYPE(value)); }
    bool put_number(char tag, PyObject *value, CallArguments &arguments) {
        arguments.numbers.push_back(value);
        return put_tag(tag);
    }
    bool put_tag(char tag) {
        put(&tag, 1);
        return true;
    }
    void put(const void *bytes, size_t count) {
        reserve(count);
        std::memcpy(data_ + size_, bytes, count);
        size_ += count;
    }
    // Size and stride of each dimension in turn: a loop over few words, where copies of an unknown
    // length would be calls.
    void put_pairs(const size_t *sizes, const std::ptrdiff_t *strides, size_t rank) {
        reserve(rank * sizeof(size_t) * 2);
        char *to = data_ + size_;
        for (size_t i = 0; i < rank; ++i, to += sizeof(size_t) * 2) {
            std::memcpy(to, sizes + i, sizeof(size_t));
            std::memcpy(to + sizeof(size_t), strides + i, sizeof(size_t));
        }
        size_ += rank * sizeof(size_t) * 2;
    }
    void reserve(size_t count) {
        if (size_ + count <= capacity_) [[likely]]
            return;
        std::vector<char> more((size_ + count) * 2);
        std::memcpy(more.data(), data_, size_);
        more_.swap(more);
        data_ = more_.data();
        capacity_ = more_.size();
    }

    char usual_[512];
    char *data_ = usual_;
    size_t size_ = 0, capacity_ = sizeof usual_;
    std::vector<char> more_;
};

struct SignatureHash {
    using is_transparent = void;
    size_t operator()(std::string_view bytes) const {
        // Words are mixed with a multiplication each: keys are short, and this is most of a
        // look-up.
        uint64_t hash = bytes.size() * 0x9E3779B97F4A7C15u;
        size_t i = 0;
        for (; i + 8 <= bytes.size(); i += 8) {
            uint64_t word;
            std::memcpy(&word, bytes.data() + i, 8);
            hash = (hash ^ word) * 0xD6E8FEB86659FD93u;
            hash ^= hash >> 32;
        }
        uint64_t rest = 0;
        std::memcpy(&rest, bytes.data() + i, bytes.size() - i);
        hash = (hash ^ rest) * 0xD6E8FEB86659FD93u;
        return hash ^ hash >> 32;
    }
};

}  // namespace infini::python
