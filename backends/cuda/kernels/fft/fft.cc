// fft, rfft, irfft: by the vendor's library or, without it, by our own stages. Both work on dense
// blocks of lines, so tensors that are not dense are copied.
#include "device/fft/fft.cuh"

#include <algorithm>
#include <vector>

#include "kernels/fft/fft_library.h"
#include "kernels/lines.h"

namespace infini::cuda {
namespace {

enum class Transform { kComplex, kFromReal, kToReal };
enum Dense { kNumbers, kPairs, kHalf, kMirrored };  // as in fft.cuh
constexpr int64_t kFftThreads = 256;
using Compiled = std::shared_ptr<const Kernel>;

// A complex or real tensor.
struct Side {
    Lines re, im;
    int place = 0;
    bool has_imag = false;

    Side() = default;
    Side(const Operation &operation, int place, bool has_imag)
        : re(operation.tensor(place), -1), place(place), has_imag(has_imag) {
        if (has_imag) im = Lines(operation.tensor(place + 1), -1);
    }

    // The tensor's memory, if the library can use it as dense lines of `size`; otherwise null.
    void *dense(const Arguments &a, size_t element, int64_t size, bool pairs) const {
        if (pairs != has_imag) return nullptr;
        char *data = a.pointer<char>(place);
        const int64_t each = has_imag ? 2 : 1;
        auto fits = [=](const Lines &lines) {
            const bool is_one = lines.count() == 1;
            return lines.step == each &&
                   (is_one || (lines.offsets.even() && lines.offsets.step() == each * size));
        };
        if (!fits(re) || !is_aligned(data, 2 * element)) return nullptr;
        if (has_imag && (!fits(im) || a.pointer<char>(place + 1) != data + element)) return nullptr;
        return data;
    }

    FourierParams params(const Arguments &a) const {
        FourierParams p = {};
        p.re = a.pointer<void>(place), p.im = has_imag ? a.pointer<void>(place + 1) : nullptr;
        p.lines = re.offsets, p.im_lines = im.offsets, p.step = re.step, p.im_step = im.step;
        p.count = re.count();
        return p;
    }
};

class FourierPlan final : public Plan {
public:
    FourierPlan(const Operation &operation, Transform kind)
        : kind_(kind), dtype_(operation.tensor(0).dtype), bytes_(dtype_bytes(dtype_)) {
        const bool to_real = kind == Transform::kToReal;
        inverse_ = operation.integer(to_real ? 1 : 0) != 0;
        scale_ = operation.number(to_real ? 2 : 1);
        y_ = Side(operation, 0, !to_real);
        const int x = to_real ? 1 : 2;
        x_ = Side(operation, x, kind != Transform::kFromReal && operation.tensor(x + 1));
        n_ = kind == Transform::kFromReal ? x_.re.size : y_.re.size;
        count_ = y_.re.count();
        const Tensor y = operation.tensor(0);
        for (int i = -int(operation.integer(to_real ? 3 : 2)); i < -1; ++i)
            others_.push_back(y.size(i)), around_ *= y.size(i);
    }
    bool is_empty() const { return n_ == 0 || count_ == 0; }

    void prepare(Device &device) {
        const bool is_double = dtype_ == INFINI_DTYPE_F64;
        using namespace fourier;
        const int types[2][3] = {{kSingle, kSingleFromReal, kSingleToReal},
                                 {kDouble, kDoubleFromReal, kDoubleToReal}};
        auto sizes = others_;
        sizes.push_back(n_);
        library_ = fourier::Blocks::get(device.index, types[is_double][int(kind_)], sizes,
                                        count_ / around_);
        const int64_t half = n_ / 2 + 1;
        const bool to_real = kind_ == Transform::kToReal;
        if (library_) {
            from_ = kind_ == Transform::kFromReal ? kNumbers
                    : to_real && is_line()        ? kHalf
                                                  : kPairs;
            to_ = to_real ? kNumbers : kPairs;
            from_size_ = to_real ? half : n_;
            to_size_ = kind_ == Transform::kFromReal ? half : n_;
            area_ = room(library_->bytes());
        } else {
            from_ = to_real && is_line() ? kMirrored : kPairs, to_ = kPairs;
            from_size_ = to_real && !is_line() ? half : n_, to_size_ = n_;
            if (to_real && !is_line()) mirror_ = compile(device, "fft/fft.cuh:load", kMirrored);
            stage_ = compile(device, "fft/fft.cuh:stage", kPairs);
        }
        // Stages alternate between the two buffers.
        const int64_t from = library_ ? from_size_ : n_;
        a_ = room(size_t(count_ * from) * bytes_ * (from_ == kNumbers ? 1 : 2));
        b_ = room(size_t(count_ * to_size_) * bytes_ * (to_ == kNumbers ? 1 : 2));
        load_ = compile(device, "fft/fft.cuh:load", from_);
        store_ = compile(device, "fft/fft.cuh:store", to_);
        if (library_ && (scale_ != 1 || im_scale() != 1))
            scaling_ = compile(device, "fft/fft.cuh:scale", to_);
    }

    Error run(const Arguments &a, const Stream &stream) const override {
        char *memory = a.workspace();
        void *from = memory + a_, *to = memory + b_;
        const bool turns =
            kind_ == Transform::kToReal || (kind_ == Transform::kComplex && inverse_);
        INFINI_CUDA_TRY(load(a, stream, from));
        if (!library_) {
            INFINI_CUDA_TRY(run_stages(stream, from, to, turns));
            return store(a, stream, to);
        }
        void *wanted = y_.dense(a, bytes_, to_size_, to_ != kNumbers);
        INFINI_CUDA_TRY(library_->run(stream.handle, memory + area_, from, wanted ? wanted : to,
                                      turns ? fourier::kBackward : fourier::kForward));
        return wanted ? scale(stream, wanted) : store(a, stream, to);
    }

private:
    // `from` becomes the tensor's own memory if possible. The library may overwrite the input of a
    // complex-to-real transform.
    Error load(const Arguments &a, const Stream &stream, void *&from) const {
        void *given = library_ ? x_.dense(a, bytes_, from_size_, from_ != kNumbers) : nullptr;
        const bool is_kept = kind_ != Transform::kToReal;
        if (given && is_kept) {
            from = given;
            return infinirtSuccess;
        }
        if (given && inverse_ && from_ == kPairs)
            return copy_bytes(stream, from, given, size_t(count_ * from_size_) * 2 * bytes_);
        FourierParams p = x_.params(a);
        p.size = from_size_, p.full = n_, p.dense = from;
        p.im_scale = is_kept || inverse_ ? 1 : -1;
        return load_->launch(stream, blocks(stream, from_size_), kFftThreads, p);
    }
    double im_scale() const { return kind_ == Transform::kFromReal && inverse_ ? -scale_ : scale_; }
    Error store(const Arguments &a, const Stream &stream, void *to) const {
        FourierParams p = y_.params(a);
        p.size = to_size_, p.full = y_.re.size, p.dense = to;
        p.scale = scale_, p.im_scale = im_scale();
        return store_->launch(stream, blocks(stream, y_.re.size), kFftThreads, p);
    }
    Error scale(const Stream &stream, void *dense) const {
        if (!scaling_) return infinirtSuccess;
        FourierParams p = {};
        p.dense = dense, p.count = count_ * to_size_ * (to_ == kNumbers ? 1 : 2);
        p.scale = scale_, p.im_scale = im_scale();
        const int64_t blocks = stream.device.blocks_for(p.count / 2, kFftThreads);
        return scaling_->launch(stream, blocks, kFftThreads, p);
    }

    size_t room(size_t bytes) {
        const size_t offset = workspace;
        workspace += size_t(round_up(int64_t(bytes), 256));
        return offset;
    }
    Compiled compile(Device &device, const char *file, int dense) const {
        Source source(file);
        source.type("T", dtype_).constant("kThreads", kFftThreads).constant("kDense", dense);
        return device.compile(source);
    }
    int64_t blocks(const Stream &stream, int64_t size) const {
        return stream.device.blocks_for(count_ * size, kFftThreads);
    }

    bool is_line() const { return others_.empty(); }

    // The result is stored in `to`. Earlier dimensions are transformed first. For half of a real
    // transform, the other half is then filled in, before the last dimension is transformed.
    Error run_stages(const Stream &stream, void *from, void *&to, bool turns) const {
        FourierParams p = {};
        p.direction = turns ? 1 : -1, p.dense = from, p.other = to;
        int64_t inner = from_size_;
        for (size_t i = others_.size(); i-- > 0; inner *= others_[i])
            INFINI_CUDA_TRY(run_dimension(stream, p, others_[i], inner, count_ * from_size_));
        if (mirror_) INFINI_CUDA_TRY(run_mirror(stream, p));
        INFINI_CUDA_TRY(run_dimension(stream, p, n_, 1, count_ * n_));
        to = p.dense;
        return infinirtSuccess;
    }
    // Along a dimension of n blocks of `inner` elements, `all` in total.
    Error run_dimension(const Stream &stream, FourierParams &p, int64_t n, int64_t inner,
                        int64_t all) const {
        p.size = n * inner, p.count = all / p.size, p.left = n, p.side = inner;
        for (int64_t radix : factors_of(n)) {
            p.radix = radix, p.left /= radix;
            const int64_t blocks = stream.device.blocks_for(all, kFftThreads);
            INFINI_CUDA_TRY(stage_->launch(stream, blocks, kFftThreads, p));
            p.side *= radix;
            std::swap(p.dense, p.other);
        }
        return infinirtSuccess;
    }
    Error run_mirror(const Stream &stream, FourierParams &p) const {
        FourierParams m = {};
        m.re = p.dense, m.im = static_cast<char *>(p.dense) + bytes_;
        m.lines.add(count_, 2 * from_size_), m.im_lines = m.lines;
        m.step = m.im_step = 2, m.count = count_, m.size = m.full = n_;
        m.dense = p.other, m.im_scale = 1;
        std::swap(p.dense, p.other);
        return mirror_->launch(stream, blocks(stream, n_), kFftThreads, m);
    }
    static std::vector<int64_t> factors_of(int64_t n) {
        std::vector<int64_t> found;
        for (int64_t r = 4; n > 1; r = r == 4 ? 2 : r == 2 ? 3 : r + 2) {
            if (r > 2 && r != 4 && r * r > n) r = n;
            while (n % r == 0) found.push_back(r), n /= r;
        }
        return found;
    }

    const Transform kind_;
    const int dtype_;
    const size_t bytes_;
    bool inverse_ = false;
    double scale_ = 1;
    Side x_, y_;
    int64_t n_ = 0, count_ = 0, from_size_ = 0, to_size_ = 0;
    int from_ = kPairs, to_ = kPairs;  // the contents of the dense lines
    size_t a_ = 0, b_ = 0, area_ = 0;  // offsets in the workspace
    std::vector<int64_t> others_;      // sizes of transformed dimensions before the last
    int64_t around_ = 1;               // lines per block: the product of these
    Compiled load_, store_, scaling_, stage_, mirror_;
    std::shared_ptr<fourier::Blocks> library_;  // null: our own transform
};

std::unique_ptr<Plan> plan_fft(const Operation &operation, Device &device) {
    const Transform kind = operation.is("rfft")    ? Transform::kFromReal
                           : operation.is("irfft") ? Transform::kToReal
                                                   : Transform::kComplex;
    auto plan = std::make_unique<FourierPlan>(operation, kind);
    if (plan->is_empty()) return make_empty_plan();
    plan->prepare(device);
    return plan;
}

INFINI_CUDA_KERNEL("fft", plan_fft);

}  // namespace
}  // namespace infini::cuda
