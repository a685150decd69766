#include "kernels/program/launch.h"

#include <algorithm>
#include <cmath>

namespace infini::cuda::program {

size_t ParameterText::add(const std::string &type, const std::string &name, size_t bytes,
                          size_t alignment, size_t count) {
    const size_t offset = (bytes_.size() + alignment - 1) / alignment * alignment;
    bytes_.resize(offset + bytes * count);
    members_ += "    " + type + " " + name;
    if (count > 1) members_ += "[" + std::to_string(count) + "]";
    members_ += ";\n";
    return offset;
}

std::string ParameterText::text() const { return "struct Params {\n" + members_ + "};"; }

namespace {

constexpr double kTwo63 = 9223372036854775808.0;

// Truncates, with saturation; 0 for NaN.
int64_t to_integer(double x) {
    if (!(x == x)) return 0;
    if (x >= kTwo63) return INT64_MAX;
    return x <= -kTwo63 ? INT64_MIN : int64_t(x);
}
uint64_t to_unsigned(double x) {
    if (x < 0) return uint64_t(to_integer(x));
    if (!(x == x)) return 0;
    return x >= 2 * kTwo63 ? UINT64_MAX : uint64_t(x);
}

template <class T>
void put(char *to, T value) {
    std::memcpy(to, &value, sizeof value);
}

}  // namespace

void store_shared(ValueType type, bool integer, int64_t whole, double number, char *to) {
    switch (type) {
        case kFloat:
            return put(to, integer ? float(double(whole)) : float(number));
        case kDouble:
            return put(to, integer ? double(whole) : number);
        case kInt64:
            return put(to, integer ? whole : to_integer(number));
        default:
            return put(to, integer ? uint64_t(whole) : to_unsigned(number));
    }
}

const Kernel &Code::get(Device &device) const {
    std::call_once(once_, [&] { kernel_ = device.compile(source_); });
    return *kernel_;
}

namespace {
struct Bytes {
    alignas(16) char data[4096];
};

char *address(const PointerMember &member, const Arguments &arguments) {
    char *base =
        member.pointer < 0 ? arguments.workspace() : arguments.pointer<char>(member.pointer);
    return base + member.start;
}
}  // namespace

bool Launch::is_aligned(const Arguments &arguments) const {
    for (const PointerMember &member : pointers)
        if (reinterpret_cast<uintptr_t>(address(member, arguments)) & (member.alignment - 1))
            return false;
    return true;
}

void Launch::fill(const Arguments &arguments, char *to) const {
    std::memcpy(to, parameters.data(), parameters.size());
    uintptr_t off = 0;
    for (const PointerMember &member : pointers) {
        char *const at = address(member, arguments);
        off |= reinterpret_cast<uintptr_t>(at) & (member.alignment - 1);
        put(to + member.offset, at);
    }
    for (const ScalarMember &member : scalars) {
        const int64_t whole = member.integer ? arguments.integer(member.scalar) : 0;
        const double number = member.integer ? 0 : arguments.number(member.scalar);
        store_shared(member.type, member.integer, whole, number, to + member.offset);
    }
    if (wide >= 0) put(to + wide, int32_t(off == 0));
}

Error Launch::run(const Arguments &arguments, const Stream &stream) const try {
    Bytes bytes;
    fill(arguments, bytes.data);
    return code->get(stream.device).launch(stream, grid, threads, bytes);
} catch (const Refusal &) {
    return infinirtErrorInvalidKernelImage;
}

void Launches::move_partials(int64_t bytes) {
    for (std::vector<Launch> *launches : {&usual, &unaligned})
        for (Launch &launch : *launches)
            for (PointerMember &member : launch.pointers)
                if (member.pointer == kPartial) member.pointer = -1, member.start += bytes;
}

void Launches::prepare(Device &device) const {
    for (const std::vector<Launch> *launches : {&usual, &unaligned})
        for (const Launch &launch : *launches)
            if (launch.parameters.size() > sizeof(Bytes))
                throw Refusal{INFINI_STATUS_NOT_IMPLEMENTED, "a program has too many operands"};
    for (const Launch &launch : usual) launch.code->get(device);
}

Error Launches::run(const Arguments &arguments, const Stream &stream) const {
    bool aligned = true;
    if (!unaligned.empty())
        for (const Launch &launch : usual) aligned = aligned && launch.is_aligned(arguments);
    for (const Launch &launch : aligned ? usual : unaligned)
        if (Error error = launch.run(arguments, stream)) return error;
    return infinirtSuccess;
}

}  // namespace infini::cuda::program
