// masked_scatter and runs of equal elements, on the host: one pass each, where the next element
// depends on the values before.
#include <algorithm>
#include <cstring>

#include "exchange.h"
#include "gil.h"
#include "tensor_object.h"
#include "view.h"

using namespace nanobind::literals;

namespace infini::python {
namespace {

// Booleans from 0 to 1, added without branches.
int64_t count_of(const uint8_t *flags, int64_t n) {
    int64_t count = 0;
    for (int64_t begin = 0; begin < n; begin += 255) {
        uint8_t some = 0;  // vectors of bytes
        for (int64_t i = begin; i < std::min(n, begin + 255); ++i) some += flags[i] != 0;
        count += some;
    }
    return count;
}

struct Pair {
    uint64_t words[2];
};

// The first if `first` is all ones, the second if it is 0: a branch would often be mispredicted.
template <class T>
T chosen(uint64_t first, T one, T two) {
    return T(two ^ ((one ^ two) & T(first)));
}
template <>
Pair chosen(uint64_t first, Pair one, Pair two) {
    return {{chosen(first, one.words[0], two.words[0]), chosen(first, one.words[1], two.words[1])}};
}

template <class T>
void scatter_line(T *to, const uint8_t *mask, const T *from, int64_t n, int64_t available) {
    int64_t used = 0, i = 0;
    for (; i + 8 <= n && used + 8 <= available; i += 8) {
        uint64_t word;
        std::memcpy(&word, mask + i, 8);
        if (word == 0) continue;
        for (int64_t k = i; k < i + 8; ++k) {
            const uint64_t is_set = mask[k] != 0;
            to[k] = chosen(-is_set, from[used], to[k]);
            used += int64_t(is_set);
        }
    }
    // The mask was counted before; another thread may have written to it since.
    for (; i < n && used < available; ++i)
        if (mask[i]) to[i] = from[used++];
}

// Writes the elements of source, in order, where the mask is true, unless it has too few. Returns
// how many the mask wants. All three are dense and on the host.
int64_t masked_scatter(const Tensor &target, const Tensor &mask, const Tensor &source) {
    refuse_while_recording("masked_scatter");
    if (!target->is_contiguous() || !mask->is_contiguous() || !source->is_contiguous() ||
        target->numel() != mask->numel() || target->dtype() != source->dtype() ||
        mask->dtype() != DataType::BOOL)
        throw nb::value_error("masked_scatter: a tensor does not fit");
    wait_for(target);
    if (target->numel() == 0) return 0;
    Unlocked released;
    const auto *flags = reinterpret_cast<const uint8_t *>(mask->data());
    const auto n = int64_t(target->numel()), available = int64_t(source->numel());
    const int64_t wanted = count_of(flags, n);
    if (wanted == 0 || wanted > available) return wanted;
    auto run = [&]<class T>(T) {
        scatter_line(reinterpret_cast<T *>(target->data_to_write()), flags,
                     reinterpret_cast<const T *>(source->data()), n, available);
    };
    switch (target->element_size()) {
        case 1:
            run(uint8_t{});
            break;
        case 2:
            run(uint16_t{});
            break;
        case 4:
            run(uint32_t{});
            break;
        case 8:
            run(uint64_t{});
            break;
        default:
            run(Pair{});
    }
    return wanted;
}

Tensor line_of(int64_t n) { return Tensor::empty({size_t(n)}, DataType::I64, Device::cpu()); }
int64_t *numbers_of(const Tensor &line) {
    return reinterpret_cast<int64_t *>(line->data_to_write());
}

// Where runs start, given flags of their first elements: the indices of these, and if wanted the
// number of each element's run and the runs' lengths.
nb::tuple runs_of(const Tensor &flags, bool wants_numbers, bool wants_lengths) {
    const Tensor host = on_host(flags, "unique");
    if (!host->is_contiguous() || host->dtype() != DataType::BOOL)
        throw nb::value_error("runs_of: expected dense booleans");
    const auto *is_first = reinterpret_cast<const uint8_t *>(host->data());
    const auto n = int64_t(host->numel());
    const int64_t count = count_of(is_first, n);
    Tensor starts = line_of(count + 1), numbers, lengths;
    int64_t *start = numbers_of(starts), found = 0;
    for (int64_t i = 0; i < n; ++i) {
        start[found] = i;
        found += is_first[i] != 0;
    }
    start[count] = n;
    if (wants_numbers) {
        numbers = line_of(n);
        int64_t *to = numbers_of(numbers), number = -1;
        for (int64_t i = 0; i < n; ++i) to[i] = number += is_first[i] != 0;
    }
    if (wants_lengths) {
        lengths = line_of(count);
        int64_t *to = numbers_of(lengths);
        for (int64_t i = 0; i < count; ++i) to[i] = start[i + 1] - start[i];
    }
    return nb::make_tuple(wrap(starts->narrow({{0, 0, size_t(count)}})),
                          wants_numbers ? wrap(std::move(numbers)) : nb::none(),
                          wants_lengths ? wrap(std::move(lengths)) : nb::none());
}

}  // namespace

void bind_selection(nb::module_ &m) {
    m.def("masked_scatter", masked_scatter, "target"_a, "mask"_a, "source"_a);
    m.def("runs_of", runs_of, "flags"_a, "wants_numbers"_a, "wants_lengths"_a);
}

}  // namespace infini::python
