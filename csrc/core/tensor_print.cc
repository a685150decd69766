// Tensors as text and as binary files.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <ostream>

#include "layout.h"
#include "numbers.h"
#include "print.h"
#include "runtime.h"

namespace infinicore {

using namespace detail;

namespace detail {
namespace {

// ---- Numbers ------------------------------------------------------------------------------------

template <class... Values>
std::string formatted(const char *format, Values... values) {
    char text[512];
    int length = std::snprintf(text, sizeof text, format, values...);
    return std::string(text, size_t(std::clamp(length, 0, int(sizeof text) - 1)));
}

// How all real numbers of a tensor are written: whole ones as "3.", others with a fixed number of
// digits, and with exponents if the magnitudes differ widely.
class RealFormat {
public:
    RealFormat(const std::vector<double> &values, const PrintOptions &options)
        : precision_(options.precision) {
        double least = INFINITY, most = 0;
        for (double value : values) {
            if (!std::isfinite(value) || value == 0) continue;
            if (value != std::ceil(value)) whole_ = false;
            least = std::min(least, std::abs(value));
            most = std::max(most, std::abs(value));
        }
        if (most > 0) scientific_ = most / least > 1000 || most > 1e8 || (!whole_ && least < 1e-4);
        if (options.sci_mode >= 0) scientific_ = options.sci_mode == 1;
    }

    std::string operator()(double value) const {
        if (std::isnan(value)) return "nan";
        if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
        if (scientific_) return formatted("%.*e", precision_, value);
        if (whole_) return formatted("%.0f.", value);
        return formatted("%.*f", precision_, value);
    }

private:
    int precision_;
    bool whole_ = true, scientific_ = false;
};

void pad(std::vector<std::string> &texts) {
    size_t width = 0;
    for (const std::string &text : texts) width = std::max(width, text.size());
    for (std::string &text : texts) text.insert(0, width - text.size(), ' ');
}

std::vector<std::string> texts_of_reals(const std::vector<double> &values,
                                        const PrintOptions &options) {
    RealFormat format(values, options);
    std::vector<std::string> texts;
    for (double value : values) texts.push_back(format(value));
    return texts;
}

// The elements of a contiguous host tensor, padded to a common width.
std::vector<std::string> texts_of(const TensorImpl &tensor, const PrintOptions &options) {
    DataType dtype = tensor.dtype();
    size_t count = tensor.numel(), bytes = tensor.element_size();
    const std::byte *data = tensor.data();
    std::vector<std::string> texts(count);
    NumberKind kind = kind_of(dtype);
    if (kind == NumberKind::Real || kind == NumberKind::Complex) {
        size_t parts = kind == NumberKind::Complex ? 2 : 1;
        std::vector<double> values[2];
        for (size_t i = 0; i < count; ++i)
            for (size_t part = 0; part < parts; ++part)
                values[part].push_back(real_value(dtype, data + i * bytes + part * (bytes / 2)));
        texts = texts_of_reals(values[0], options);
        if (parts == 2) {
            pad(texts);
            std::vector<std::string> imaginary = texts_of_reals(values[1], options);
            for (size_t i = 0; i < count; ++i)
                texts[i] += (imaginary[i][0] == '-' ? "" : "+") + imaginary[i] + "j";
        }
    } else {
        for (size_t i = 0; i < count; ++i) {
            const std::byte *from = data + i * bytes;
            texts[i] = kind == NumberKind::Boolean  ? (read_as<uint8_t>(from) ? "True" : "False")
                       : kind == NumberKind::Signed ? std::to_string(signed_value(dtype, from))
                                                    : std::to_string(unsigned_value(dtype, from));
        }
    }
    pad(texts);
    return texts;
}

// ---- Brackets -----------------------------------------------------------------------------------

struct Layouter {
    const std::vector<std::string> &texts;
    const Shape &shape;                  // of what is shown
    const std::vector<bool> &shortened;  // dimensions of which the middle is left out
    const PrintOptions &options;
    size_t next = 0;

    size_t edge() const { return size_t(options.edge_items); }

    std::string row(size_t indent) {
        size_t size = shape.back();
        std::vector<std::string> words;
        for (size_t i = 0; i < size; ++i) {
            if (shortened.back() && i == edge()) words.emplace_back(" ...");
            words.push_back(texts[next++]);
        }
        if (shortened.back() && edge() >= size) words.emplace_back(" ...");
        size_t room = size_t(options.line_width) > indent ? size_t(options.line_width) - indent : 1;
        size_t width = words.empty() ? 1 : texts.empty() ? 4 : texts[0].size() + 2;
        size_t in_line = std::max<size_t>(1, room / width), shown = 0;
        std::string text = "[";
        for (const std::string &word : words) {
            if (shown > 0) text += shown % in_line ? ", " : ",\n" + std::string(indent + 1, ' ');
            text += word;
            ++shown;
        }
        return text + "]";
    }

    std::string block(size_t dim, size_t indent) {
        if (dim + 1 == shape.size()) return row(indent);
        std::string text = "[", gap = ",";
        gap.append(shape.size() - dim - 1, '\n').append(indent + 1, ' ');
        for (size_t i = 0; i < shape[dim]; ++i) {
            if (shortened[dim] && i == edge()) text.append(i ? gap : "").append("...");
            if (i || (shortened[dim] && edge() == 0)) text += gap;
            text += block(dim + 1, indent + 1);
        }
        return text + "]";
    }
};

// The elements to print, in host memory: the first and the last ones of abbreviated dimensions.
Tensor shown_part(const Tensor &tensor, const std::vector<bool> &shortened, size_t edge) {
    Shape shape = tensor->shape();
    for (size_t i = 0; i < shape.size(); ++i)
        if (shortened[i]) shape[i] = 2 * edge;
    Tensor shown = Tensor::empty(shape, tensor->dtype(), Device::cpu(), false);
    if (shown->numel() == 0) return shown;
    std::vector<size_t> dims;
    for (size_t i = 0; i < shape.size(); ++i)
        if (shortened[i]) dims.push_back(i);
    for (size_t corner = 0; corner >> dims.size() == 0; ++corner) {
        std::vector<TensorSliceParams> from, to;
        for (size_t i = 0; i < dims.size(); ++i) {
            bool last = corner >> i & 1;
            from.push_back({dims[i], last ? tensor->shape()[dims[i]] - edge : 0, edge});
            to.push_back({dims[i], last ? edge : 0, edge});
        }
        shown->narrow(to)->copy_from(tensor->narrow(from));
    }
    return shown;
}

// Options are per process; each is read atomically.
struct {
    std::atomic<int> line_width{80}, threshold{1000}, edge_items{3}, precision{4}, sci_mode{-1};
} settings;

void set(const char *function, std::atomic<int> &option, int value, int least, int most) {
    if (value < least || value > most)
        fail(function, "the value is " + std::to_string(value) + ": expected " +
                           std::to_string(least) + " to " + std::to_string(most));
    option.store(value, std::memory_order_relaxed);
}

}  // namespace

PrintOptions print_settings() {
    return {settings.line_width.load(), settings.threshold.load(), settings.edge_items.load(),
            settings.precision.load(), settings.sci_mode.load()};
}

std::string text_of_values(const Tensor &tensor, size_t indent, const PrintOptions &options) {
    if (thread_state().recorder)
        fail("print",
             "values cannot be looked at while a graph is being recorded: they do not "
             "exist yet");
    const Shape &shape = tensor->shape();
    auto edge = size_t(options.edge_items);
    std::vector<bool> shortened(shape.size());
    if (tensor->numel() > size_t(options.threshold))
        for (size_t i = 0; i < shape.size(); ++i) shortened[i] = shape[i] > 2 * edge;
    Tensor shown = shown_part(tensor, shortened, edge);
    DeviceRuntime &host = runtime_of(Device::cpu(), "print");
    {
        RuntimeScope scope(host);
        check(infinirtStreamSynchronize(stream_of(host)), "print");
    }
    std::vector<std::string> texts = texts_of(*shown, options);
    if (shape.empty()) return texts.at(0);
    return Layouter{texts, shown->shape(), shortened, options}.block(0, indent);
}

}  // namespace detail

namespace print_options {
void set_line_width(int characters) {
    set("set_line_width", settings.line_width, characters, 1, 1 << 20);
}
void set_threshold(int elements) {
    set("set_threshold", settings.threshold, elements, 0, INT32_MAX);
}
void set_edge_items(int count) { set("set_edge_items", settings.edge_items, count, 0, 1 << 20); }
void set_precision(int digits) { set("set_precision", settings.precision, digits, 0, 60); }
void set_sci_mode(int mode) { set("set_sci_mode", settings.sci_mode, mode, -1, 1); }
}  // namespace print_options

std::ostream &operator<<(std::ostream &stream, const Tensor &tensor) {
    if (!tensor) return stream << "tensor()";
    PrintOptions options = print_settings();
    std::string text = "tensor(";
    bool empty = tensor->numel() == 0;
    text += empty ? "[]" : text_of_values(tensor, text.size(), options);
    std::vector<std::string> remarks{"dtype=" + toString(tensor->dtype()),
                                     "device=" + tensor->device().toString()};
    if (empty && tensor->ndim() != 1)
        remarks.insert(remarks.begin(), "size=" + text_of(tensor->shape()));
    size_t in_line = text.size() - (text.rfind('\n') + 1);  // npos + 1 is 0
    for (const std::string &remark : remarks) {
        bool fits = in_line + remark.size() + 2 < size_t(options.line_width);
        text += fits ? ", " : ",\n       ";
        text += remark;
        in_line = (fits ? in_line + 2 : 7) + remark.size();
    }
    return stream << text << ")";
}

std::string TensorImpl::info() const {
    return "Tensor: shape " + text_of(shape()) + " strides " + text_of(strides()) +
           " dtype=" + toString(dtype()) + " device=" + device().toString();
}

void TensorImpl::debug() const {
    std::cout << info() << "\n"
              << Tensor(std::const_pointer_cast<TensorImpl>(shared_from_this())) << std::endl;
}

void TensorImpl::debug(const std::string &filename) const {
    Tensor host = contiguous()->to(Device::cpu());
    {
        DeviceScope scope(runtime_of(Device::cpu(), "debug"));
        context::syncStream();
    }
    std::ofstream file(filename, std::ios::binary);
    size_t bytes = host->nbytes();
    if (bytes > 0) file.write(reinterpret_cast<const char *>(host->data()), std::streamsize(bytes));
    file.close();
    if (!file) fail("debug", "the file " + filename + " can't be written");
}

}  // namespace infinicore
