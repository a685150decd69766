#include "kernels/copy/strided.h"

namespace infini::cuda {
namespace {

constexpr int64_t kWordsOfBlock = 1024;  // as in strided.cuh
constexpr int64_t kLeastSide = 8;        // of a matrix that justifies tiles
// Contiguous memory is copied by a kernel, which takes less time than the runtime's copies (9 us
// for 1.6 MB on an H200), except for small sizes.
constexpr int64_t kLeastBytes = int64_t(64) << 10;

int64_t magnitude(int64_t stride) { return stride < 0 ? -stride : stride; }

}  // namespace

StridedCopy::StridedCopy(Device &device, size_t element, int ndim, const int64_t *sizes,
                         const int64_t *to_strides, const int64_t *from_strides)
    : element_(int64_t(element)) {
    // Sorts dimensions in the order of the destination.
    using Dim = Dims<2>::Dim;
    Dim sorted[Dims<2>::kMost];
    int count = 0;
    for (int i = 0; i < ndim; ++i) {
        if (sizes[i] == 0) return;
        if (sizes[i] != 1)
            sorted[count++] = {sizes[i], {to_strides[i] * element_, from_strides[i] * element_}};
    }
    std::stable_sort(sorted, sorted + count, [](const Dim &a, const Dim &b) {
        return magnitude(a.stride[0]) != magnitude(b.stride[0])
                   ? magnitude(a.stride[0]) > magnitude(b.stride[0])
                   : magnitude(a.stride[1]) > magnitude(b.stride[1]);
    });
    for (int i = 0; i < count; ++i) dims_.push(sorted[i]);

    const bool runs = dims_.ndim == 0 ||
                      (dims_.inner().stride[0] == element_ && dims_.inner().stride[1] == element_);
    if (runs && dims_.ndim <= 1) {
        way_ = Way::kBytes;
        bytes_ = dims_.count * element_;
        if (bytes_ >= kLeastBytes) kernel_ = device.compile(Source("copy/strided.cuh:bytes"));
    } else if (runs || !plan_tiles(device)) {
        plan_words(device);
    }
}

// Two dimensions, one with the smallest stride in the destination and the other in the source.
bool StridedCopy::plan_tiles(Device &device) {
    const Dims<2>::Dim inner = dims_.inner();
    int dense = dims_.ndim - 1;
    for (int i = 0; i < dims_.ndim - 1; ++i)
        if (dims_.dim[i].stride[1] &&
            magnitude(dims_.dim[i].stride[1]) < magnitude(dims_.dim[dense].stride[1]))
            dense = i;
    const Dims<2>::Dim across = dims_.dim[dense];
    if (dense == dims_.ndim - 1 || inner.stride[1] == 0) return false;
    if (inner.size < kLeastSide || across.size < kLeastSide) return false;

    Dims<2> matrices;
    for (int i = 0; i < dims_.ndim - 1; ++i)
        if (i != dense) matrices.push(dims_.dim[i]);
    const int64_t side = element_ < 4 ? 4 / element_ : 1, tile = 32 * side;
    const int64_t tiles_across = divide_up(across.size, tile);
    tiles_.rows = inner.size, tiles_.columns = across.size;
    tiles_.to_step = inner.stride[0], tiles_.to_column = across.stride[0];
    tiles_.from_row = inner.stride[1], tiles_.from_step = across.stride[1];
    tiles_.tiles = tiles_across * divide_up(inner.size, tile);
    if (tiles_.tiles * matrices.count >= int64_t(1) << 31) return false;
    tiles_.across = Divider(uint32_t(tiles_across));
    tiles_.matrices = matrices.places();

    word_ = std::max<int64_t>(4, element_);
    const bool even = inner.size % side == 0 && across.size % side == 0;
    tiles_.whole_to = even && inner.stride[0] == element_;
    tiles_.whole_from = even && across.stride[1] == element_;
    auto need = [&](int32_t &whole, int64_t stride) { whole = whole && stride % word_ == 0; };
    need(tiles_.whole_to, across.stride[0]);
    need(tiles_.whole_from, inner.stride[1]);
    for (int i = 0; i < matrices.ndim; ++i) {
        need(tiles_.whole_to, matrices.dim[i].stride[0]);
        need(tiles_.whole_from, matrices.dim[i].stride[1]);
    }
    way_ = Way::kTiles;
    kernel_ = device.compile(
        Source("copy/strided.cuh:transpose").type("E", bytes_type(size_t(element_))));
    return true;
}

void StridedCopy::plan_words(Device &device) {
    const Dims<2>::Dim inner = dims_.inner();
    const bool dense_to = inner.stride[0] == element_, dense_from = inner.stride[1] == element_;
    int64_t pack = 1;
    word_ = element_;
    if (dense_to) {
        // Words whose size divides each run and the offset of each run.
        int64_t bits = inner.size * element_;
        for (int i = 0; i < dims_.ndim - 1; ++i) {
            bits |= dims_.dim[i].stride[0];
            if (dense_from) bits |= dims_.dim[i].stride[1];
        }
        word_ = common_word({bits});
        pack = dense_from ? 1 : word_ / element_;
        const int64_t elements = word_ / element_;
        const Dims<2>::Dim words = {inner.size / elements, {word_, inner.stride[1] * elements}};
        Dims<2> all;
        for (int i = 0; i < dims_.ndim - 1; ++i) all.push(dims_.dim[i]);
        all.push(words);
        words_.words = all.places();
    } else {
        words_.words = dims_.places();
    }
    words_.step = inner.stride[1];
    way_ = Way::kWords;
    Source source("copy/strided.cuh:strided");
    source.type("E", bytes_type(size_t(element_)))
        .type("W", word_type(word_))
        .constant("kPack", pack);
    kernel_ = device.compile(source);
}

Error StridedCopy::run(const Stream &stream, void *to, const void *from) const {
    switch (way_) {
        case Way::kBytes:
            if (kernel_) {
                const BytesCopyParams params = {to, from, bytes_, int32_t(alignment_of(to, from))};
                return kernel_->launch(stream, divide_up(bytes_, 16 * 256), 256, params);
            }
            return copy_bytes(stream, to, from, size_t(bytes_));
        case Way::kWords: {
            StridedCopyParams params = words_;
            params.to = to, params.from = from;
            // With packed words, only the destination consists of words.
            const bool packed = word_ > element_ && words_.step != element_;
            params.whole =
                is_aligned(to, size_t(word_)) && (packed || is_aligned(from, size_t(word_)));
            return kernel_->launch(stream, divide_up(params.words.count, kWordsOfBlock), 256,
                                   params);
        }
        case Way::kTiles: {
            TransposeParams params = tiles_;
            params.to = to, params.from = from;
            params.whole_to = params.whole_to && is_aligned(to, size_t(word_));
            params.whole_from = params.whole_from && is_aligned(from, size_t(word_));
            return kernel_->launch(stream, params.tiles * params.matrices.count, 256, params);
        }
        default:
            return infinirtSuccess;
    }
}

}  // namespace infini::cuda
