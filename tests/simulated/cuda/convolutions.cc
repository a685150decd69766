// Convolutions of the libcudnn look-alike, computed by their definition.
#include "primitives.h"

namespace primitives {
namespace {

std::vector<int64_t> integers(const Object &object, int name) {
    std::vector<int64_t> values;
    const auto found = object.values.find(name);
    if (found == object.values.end()) return values;
    for (size_t i = 0; i < found->second.bytes.size() / 8; ++i)
        values.push_back(object.get<int64_t>(name, i));
    return values;
}

int64_t product(const std::vector<int64_t> &sizes, size_t first) {
    int64_t all = 1;
    for (size_t i = first; i < sizes.size(); ++i) all *= sizes[i];
    return all;
}

}  // namespace

Convolution::Convolution(const Object &operation)
    : is_transposed(operation.kind == kGradientOperation) {
    const int first = is_transposed ? 706 : 700;
    const Shared what = operation.object(first + 2);
    w = operation.object(first + 3);
    x = operation.object(is_transposed ? 711 : 704);
    y = operation.object(is_transposed ? 710 : 705);
    if (!what || !w || !x || !y) return;
    is_double = what->get<int>(100) == kDouble;
    beta = is_double ? operation.get<double>(first + 1) : operation.get<float>(first + 1);
    dilations_ = integers(*what, 102), steps_ = integers(*what, 103);
    pads_ = integers(*what, 105);
    x_sizes_ = integers(*x, 902), w_sizes_ = integers(*w, 902), y_sizes_ = integers(*y, 902);
    is_complete_ = operation.has(first) && operation.has(first + 1) &&
                   integers(*what, 104) == pads_ && what->get<int>(101) == 1 &&
                   what->get<int64_t>(106) == int64_t(pads_.size());
}

const char *Convolution::problem() const {
    if (!is_complete_) return "a convolution lacks an attribute";
    const size_t dims = x_sizes_.size();
    if (dims < 4 || w_sizes_.size() != dims || y_sizes_.size() != dims ||
        pads_.size() != dims - 2 || steps_.size() != dims - 2 || dilations_.size() != dims - 2)
        return "the dimensions of a convolution differ";
    const auto &image = is_transposed ? y_sizes_ : x_sizes_;
    const auto &result = is_transposed ? x_sizes_ : y_sizes_;
    for (size_t d = 0; d + 2 < dims; ++d) {
        const int64_t room = image[d + 2] + 2 * pads_[d] - dilations_[d] * (w_sizes_[d + 2] - 1);
        if (room < 1 || result[d + 2] != (room - 1) / steps_[d] + 1)
            return "the result of a convolution has another size";
    }
    if (image[0] != result[0] || w_sizes_[0] != result[1] || image[1] % w_sizes_[1])
        return "the channels of a convolution differ";
    return nullptr;
}

std::vector<double> Convolution::run(const std::vector<double> &image,
                                     const std::vector<double> &window) const {
    const int64_t taps = product(w_sizes_, 2), positions = product(y_sizes_, 2);
    // Of a group: channels of x and y.
    const int64_t groups = (is_transposed ? y_sizes_ : x_sizes_)[1] / w_sizes_[1];
    const int64_t channels = x_sizes_[1] / groups, features = y_sizes_[1] / groups;
    const int64_t size = product(x_sizes_, 2);
    std::vector<double> results(size_t(product(y_sizes_, 0)), 0);
    for (int64_t position = 0; position < positions; ++position)
        for (int64_t tap = 0; tap < taps; ++tap) {
            const int64_t place = place_of(position, tap);
            if (place < 0) continue;
            for (int64_t row = 0; row < y_sizes_[0] * y_sizes_[1]; ++row) {
                const int64_t of = row % y_sizes_[1], group = of / features;
                const int64_t first = row / y_sizes_[1] * x_sizes_[1] + group * channels;
                double sum = 0;
                for (int64_t c = 0; c < channels; ++c) {
                    const int64_t filter = is_transposed
                                               ? (group * channels + c) * features + of % features
                                               : of * channels + c;
                    sum += image[size_t((first + c) * size + place)] *
                           window[size_t(filter * taps + tap)];
                }
                results[size_t(row * positions + position)] += sum;
            }
        }
    return results;
}

// -1: outside the image.
int64_t Convolution::place_of(int64_t position, int64_t tap) const {
    int64_t place = 0, step = 1;
    for (size_t d = x_sizes_.size(); d-- > 2;) {
        const int64_t at = position % y_sizes_[d], offset = tap % w_sizes_[d] * dilations_[d - 2];
        position /= y_sizes_[d], tap /= w_sizes_[d];
        int64_t where = at * steps_[d - 2] - pads_[d - 2] + offset;
        if (is_transposed) {
            const int64_t from = at + pads_[d - 2] - offset;
            if (from % steps_[d - 2]) return -1;
            where = from / steps_[d - 2];
        }
        if (where < 0 || where >= x_sizes_[d]) return -1;
        place += where * step;
        step *= x_sizes_[d];
    }
    return place;
}

}  // namespace primitives
