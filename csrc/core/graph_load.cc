// Loads a graph from a file.
#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "graph_file.h"
#include "graph_state.h"
#include "layout.h"

namespace infinicore::graph {

using detail::Row;
using detail::RunRow;
using detail::Value;
using detail::Values;

namespace {

// Every length and every number is checked before use, because the file is not trusted.
class Reader {
public:
    explicit Reader(const std::string &path) : path_(path), file_(path, std::ios::binary) {
        if (!file_) throw std::invalid_argument(at("file") + std::strerror(errno));
        file_.seekg(0, std::ios::end);
        left_ = uint64_t(file_.tellg());
        file_.seekg(0);
    }

    [[noreturn]] void fail(const std::string &field, const std::string &sentence) const {
        throw std::invalid_argument(at(field) + sentence);
    }

    void bytes(void *data, uint64_t count, const std::string &field) {
        if (count > left_)
            fail(field, "expected " + std::to_string(count) + " more bytes, the file has " +
                            std::to_string(left_));
        file_.read(static_cast<char *>(data), std::streamsize(count));
        if (!file_) fail(field, "it could not be read");
        left_ -= count;
    }
    uint64_t number(const std::string &field) {
        uint64_t value;
        bytes(&value, sizeof value, field);
        return value;
    }
    uint64_t number(const std::string &field, uint64_t below) {
        const uint64_t value = number(field);
        if (value >= below)
            fail(field, "it is " + std::to_string(value) + ": expected less than " +
                            std::to_string(below));
        return value;
    }
    // A count of entries, each of at least this many bytes.
    uint64_t count(const std::string &field, uint64_t each) {
        return number(field, left_ / each + 1);
    }
    std::string text(const std::string &field) {
        std::string value(count(field, 1), 0);
        bytes(value.data(), value.size(), field);
        return value;
    }
    uint64_t left() const { return left_; }

private:
    std::string at(const std::string &field) const {
        return "Graph.load: " + path_ + ": " + field + ": ";
    }
    std::string path_;
    std::ifstream file_;
    uint64_t left_ = 0;
};

class Loader {
public:
    Loader(const std::string &path, detail::DeviceRuntime &runtime)
        : file_(path), runtime_(runtime) {}

    std::shared_ptr<Graph> load() try { return read(); } catch (const std::invalid_argument &) {
        throw;
    } catch (const std::bad_alloc &) {
        throw;
    } catch (const std::exception &error) {
        file_.fail("contents", error.what());
    }

private:
    std::shared_ptr<Graph> read() {
        char magic[8];
        file_.bytes(magic, sizeof magic, "magic");
        if (std::memcmp(magic, kMagic, sizeof magic))
            file_.fail("magic", "expected a file that Graph.save wrote");
        if (const uint64_t version = file_.number("version"); version != kVersion)
            file_.fail("version", "it is " + std::to_string(version) + ": expected " +
                                      std::to_string(kVersion));
        memories_.resize(file_.count("memories", 24));
        for (size_t i = 0; i < memories_.size(); ++i) read_memory(i);
        auto made = std::make_shared<Graph>();
        std::vector<NamedTensor> inputs, outputs;
        {
            Recording recording;
            for (auto &memory : memories_)
                if (!memory.data)
                    memory.data = recording.recorder->allocate(memory.size, runtime_.device);
            const uint64_t steps = file_.count("steps", 40);
            for (uint64_t n = 0; n < steps; ++n) read_step("step " + std::to_string(n));
            inputs = read_named("input");
            outputs = read_named("output");
            if (file_.left()) file_.fail("end", std::to_string(file_.left()) + " bytes follow it");
            for (const auto &memory : memories_)
                if (memory.kind == Kind::Constant)
                    recording.recorder->constants.push_back(memory.data);
            memories_.clear();  // memory without other holders now belongs to the graph
            made->state().build(recording.take());
        }
        made->state().inputs = std::move(inputs);
        made->state().outputs = std::move(outputs);
        return made;
    }

    struct Loaded {
        std::shared_ptr<Memory> data;
        size_t size = 0;
        Kind kind = Kind::Inside;
    };

    // While it lives, steps of this thread are recorded.
    struct Recording {
        Recording() {
            if (detail::thread_state().recorder)
                throw std::runtime_error("Graph.load: this thread is recording a graph already");
            detail::thread_state().recorder = recorder.get();
        }
        ~Recording() { detail::thread_state().recorder = nullptr; }
        detail::Recorder take() {
            detail::thread_state().recorder = nullptr;
            return std::move(*recorder);
        }
        std::unique_ptr<detail::Recorder> recorder = std::make_unique<detail::Recorder>(false);
    };

    void read_memory(size_t index) {
        const std::string field = "memory " + std::to_string(index);
        Loaded &memory = memories_[index];
        memory.size = file_.number(field + ", size", kMostBytes);
        memory.kind = Kind(file_.number(field + ", kind", 3));
        const uint64_t chunks = file_.count(field + ", chunks", 16);
        if (memory.kind == Kind::Inside) {
            inside_ += memory.size;
            if (inside_ >= kMostBytes) file_.fail(field + ", size", "all memories are too large");
            if (chunks) file_.fail(field, "it is the graph's own: expected no contents");
            return;
        }
        Tensor whole = Tensor::empty({memory.size}, DataType::U8, runtime_.device);
        memory.data = whole->memory();
        if (memory.size == 0) return;
        Tensor host = runtime_.is_cpu() ? whole
                                        : Tensor::empty({memory.size}, DataType::U8,
                                                        Device(Device::Type::CPU, 0));
        context::syncStream();  // the memory may have been used before
        uint64_t from = 0;
        for (uint64_t i = 0; i < chunks; ++i) {
            const uint64_t offset = file_.number(field + ", offset", memory.size);
            const uint64_t bytes = file_.number(field + ", bytes", memory.size - offset + 1);
            if (offset < from) file_.fail(field + ", offset", "chunks overlap");
            std::memset(host->data() + from, 0, offset - from);
            file_.bytes(host->data() + offset, bytes, field + ", contents");
            from = offset + bytes;
        }
        if (chunks && from != memory.size)
            file_.fail(field + ", contents", "they end before the memory does");
        if (!chunks) return;  // the graph writes it first
        if (host.impl() == whole.impl()) return;
        whole->copy_from(host);
        context::syncStream();
    }

    Values read_values(const std::string &field, const char *kinds) {
        Values made;
        for (size_t i = 0; kinds[i]; ++i) {
            const std::string name = field + " " + std::to_string(i);
            const size_t each = element_bytes(kinds[i]);
            made.counts.push_back(0);
            Value value{};
            if (!each) {
                value.i = int64_t(file_.number(name));
                if (kinds[i] == '-' && value.i) file_.fail(name, "expected 0");
            } else if (const uint64_t count = file_.number(name); count != kAbsent) {
                if (count > file_.left() / each)
                    file_.fail(name, "a list of " + std::to_string(count) +
                                         " elements is longer than the file");
                auto list = std::make_shared<std::vector<int64_t>>(count + 1);  // text ends with 0
                file_.bytes(list->data(), count * each, name);
                value.list = list->data();
                made.counts.back() = count;
                made.kept.push_back(std::move(list));
            }
            made.values.push_back(value);
        }
        return made;
    }

    Tensor read_tensor(const std::string &field) {
        if (!file_.number(field + ", presence", 2)) return {};
        const uint64_t code = file_.number(field + ", dtype", INT32_MAX);
        if (!is_dtype(code)) file_.fail(field + ", dtype", std::to_string(code) + " is none");
        const uint64_t ndim = file_.number(field + ", dimensions", detail::kMostDimensions + 1);
        Shape shape;
        Strides strides;
        for (uint64_t d = 0; d < ndim; ++d)
            shape.push_back(file_.number(field + ", shape", kMostBytes));
        if (file_.number(field + ", strides") != ndim)
            file_.fail(field + ", strides", "expected as many as sizes");
        for (uint64_t d = 0; d < ndim; ++d)
            strides.push_back(Stride(file_.number(field + ", strides")));
        const auto [memory, offset] = read_location(field);
        if (offset % dsize(DataType(code)))
            file_.fail(field + ", offset", "it is no multiple of an element's size");
        if (!memory) file_.fail(field + ", memory", "a tensor without a memory");
        const Tensor whole(std::make_shared<TensorImpl>(Shape{memory->size()}, Strides{1},
                                                        DataType::U8, TensorData{0, memory}));
        try {
            return whole->view_as(shape, strides, DataType(code), std::ptrdiff_t(offset));
        } catch (const std::exception &error) {
            file_.fail(field, error.what());
        }
    }

    detail::Location read_location(const std::string &field) {
        const uint64_t memory = file_.number(field + ", memory");
        const uint64_t offset = file_.number(field + ", offset", kMostBytes);
        if (memory == kAbsent) return {};
        if (memory >= memories_.size())
            file_.fail(field + ", memory", std::to_string(memory) + ": the file has " +
                                               std::to_string(memories_.size()));
        const auto &data = memories_[memory].data;
        if (offset > data->size())
            file_.fail(field + ", offset", std::to_string(offset) + ": the memory has " +
                                               std::to_string(data->size()) + " bytes");
        return {data, offset};
    }

    void read_step(const std::string &field) {
        const std::string name = file_.text(field + ", operator");
        const Row *row = detail::find_row(name);
        if (!row) file_.fail(field + ", operator", "no operator is called \"" + name + "\"");
        const std::string what = field + " (" + name + ")";
        const auto run = int(file_.number(what + ", run function", uint64_t(row->run_count)));
        const RunRow &running = row->runs[run];
        if (std::string reason = unsafe_reason(*row, run); !reason.empty())
            file_.fail(what, reason);
        Values attributes = read_values(what + ", attribute", row->attributes);
        Values scalars = read_values(what + ", scalar", running.scalars);
        std::vector<Tensor> held;
        std::vector<std::vector<const TensorImpl *>> tensors;
        for (size_t i = 0; row->tensors[i]; ++i) {
            const std::string tensor = what + ", tensor " + std::to_string(i);
            const uint64_t count = file_.count(tensor + ", count", 8);
            auto &group = tensors.emplace_back();
            for (uint64_t k = 0; k < count; ++k)
                group.push_back(held.emplace_back(read_tensor(tensor)).impl().get());
        }
        std::vector<const TensorImpl *> arguments;
        for (size_t i = 0; running.pointers[i]; ++i) {
            const auto &group = tensors[size_t(running.tensors[i])];
            arguments.insert(arguments.end(), group.begin(), group.end());
        }
        try {
            detail::perform(
                detail::describe(*row, run, tensors, std::move(attributes), std::move(scalars)),
                arguments);
        } catch (const std::exception &error) {
            file_.fail(what, error.what());
        }
    }

    std::vector<NamedTensor> read_named(const std::string &kind) {
        std::vector<NamedTensor> made;
        const uint64_t count = file_.count(kind + "s", 16);
        for (uint64_t i = 0; i < count; ++i) {
            const std::string field = kind + " " + std::to_string(i);
            std::string name = file_.text(field + ", name");
            Tensor tensor = read_tensor(field);
            if (!tensor) file_.fail(field, "it is absent");
            for (const NamedTensor &other : made)
                if (other.name == name) file_.fail(field + ", name", "another has it, too");
            made.push_back({std::move(name), std::move(tensor)});
        }
        return made;
    }

    static bool is_dtype(uint64_t code) {
        return code <= uint64_t(DataType::BF16) && dsize(DataType(code)) > 0;
    }

    static constexpr uint64_t kMostBytes = uint64_t{1} << 60;

    Reader file_;
    detail::DeviceRuntime &runtime_;
    std::vector<Loaded> memories_;
    uint64_t inside_ = 0;  // bytes of the graph's own memories
};

}  // namespace

std::shared_ptr<Graph> Graph::load(const std::string &path, const Device &device) {
    detail::DeviceRuntime &runtime = detail::runtime_of(device, "Graph.load");
    detail::DeviceScope scope(runtime);
    return Loader(path, runtime).load();
}

}  // namespace infinicore::graph
