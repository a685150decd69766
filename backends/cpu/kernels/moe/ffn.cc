// A whole feed-forward block: norm, gate and up, down, residual; a block of rows at a time, so that
// what lies between the products stays in the caches.
#include <algorithm>
#include <cmath>

#include "../kernel.h"
#include "../matmul/matmul.h"
#include "../threads.h"
#include "ffn_gate.h"

namespace infini::cpu {
namespace {

constexpr int64_t kRows = 512;

int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }
int64_t element(int dtype) { return dtype == INFINI_DTYPE_F32 ? 4 : 2; }

template <class F>
void visit_float(int dtype, F &&f) {
    if (dtype == INFINI_DTYPE_F16) return f(Type<f16>{});
    if (dtype == INFINI_DTYPE_BF16) return f(Type<bf16>{});
    f(Type<float>{});
}

// A weight [out, in], or [in, out] where that does not fit, as the matrix [in, out] of a product.
Matrix weight_matrix(const Tensor &w, int64_t out, int64_t in, const char *sentence) {
    if (w.size(0) == out && w.size(1) == in) return {nullptr, w.dtype, w.stride(1), w.stride(0), 0};
    if (w.size(0) == in && w.size(1) == out) return {nullptr, w.dtype, w.stride(0), w.stride(1), 0};
    throw Refusal{INFINI_STATUS_BAD_TENSOR_SHAPE, sentence};
}

template <class T, class W>
void norm_row(const T *x, const W *weight, T *y, int64_t n, float epsilon) {
    constexpr int64_t width = int64_t(kWidth<float>);
    F32 sum = broadcast<F32>(0.0f);
    int64_t i = 0;
    for (; i + width <= n; i += width) {
        F32 v = load_f32(x + i);
        sum = fma(v, v, sum);
    }
    float total = reduce_add(sum);
    for (int64_t j = i; j < n; ++j) {
        float v = load_element<float>(x[j]);
        total += v * v;
    }
    const float scale = 1.0f / std::sqrt(total / float(n) + epsilon);
    for (i = 0; i + width <= n; i += width) {
        store_f32(y + i, load_f32(x + i) * load_f32(weight + i) * scale);
    }
    for (; i < n; ++i) {
        float v = load_element<float>(x[i]) * load_element<float>(weight[i]);
        store_element(y[i], v * scale);
    }
}

// Adds the residual's rows, from `data` on.
struct Residual {
    const char *data;
    int dtype;
    int64_t row_stride;

    static void add(const void *context, float *values, int64_t row, int64_t col, int64_t n) {
        const auto *r = static_cast<const Residual *>(context);
        float other[64];
        for (int64_t j = 0; j < n; j += 64) {
            int64_t count = n - j < 64 ? n - j : 64, at = row * r->row_stride + col + j;
            to_f32(other, r->data + at * element(r->dtype), r->dtype, size_t(count));
            for (int64_t i = 0; i < count; ++i) values[j + i] += other[i];
        }
    }
};

class FeedForward final : public Plan {
public:
    explicit FeedForward(const Operation &op) {
        Tensor out = op.tensor(0), in = op.tensor(1), residual = op.tensor(2);
        Tensor norm = op.tensor(3), up = op.tensor(4), down = op.tensor(5);
        dtype_ = out.dtype, norm_dtype_ = norm.dtype;
        for (int dtype : {norm.dtype, up.dtype, down.dtype}) {
            if (dtype != dtype_ && dtype != INFINI_DTYPE_F32) {
                throw Refusal{INFINI_STATUS_BAD_TENSOR_DTYPE,
                              "weights must have the dtype of the activations, or F32"};
            }
        }
        rows_ = out.size(0), hidden_ = out.size(1);
        constexpr int64_t kMost = int64_t(1) << 42;
        if (std::max({hidden_, up.size(0), up.size(1)}) > kMost) {
            throw Refusal{INFINI_STATUS_BAD_TENSOR_SHAPE, "more features than can be counted"};
        }
        int64_t wide = up.size(1) == hidden_ ? up.size(0) : up.size(1);
        const char *why = "gate_up_weight must be [2 I, D] or [D, 2 I]";
        if (wide % 2) throw Refusal{INFINI_STATUS_BAD_TENSOR_SHAPE, why};
        inner_ = wide / 2;
        up_ = weight_matrix(up, wide, hidden_, why);
        down_ = weight_matrix(down, hidden_, inner_, "down_weight must be [D, I] or [I, D]");
        out_stride_ = out.stride(0), in_stride_ = in.stride(0);
        if (residual) residual_stride_ = residual.stride(0), has_residual_ = true;
        epsilon_ = float(op.number(0));

        const int64_t block = std::min(rows_, kRows);
        wide_ = aligned(block * hidden_ * element(dtype_));
        gated_ = wide_ + aligned(block * 2 * inner_ * element(dtype_));
        scratch_ = gated_ + aligned(block * inner_ * element(dtype_));
        Epilogue epilogue;
        for (int64_t rows : {block, rows_ % kRows}) {
            Matmul p = first(rows), q = second(rows);
            if (has_residual_) q.epilogue = &epilogue;
            workspace = std::max({workspace, matmul_workspace(p), matmul_workspace(q)});
        }
        workspace += size_t(scratch_);
    }

    void run(const Arguments &a) const override {
        if (rows_ * hidden_ == 0) return;
        for (int64_t row = 0; row < rows_; row += kRows) {
            run_block(a, row, std::min(kRows, rows_ - row));
        }
    }

private:
    Matmul first(int64_t rows) const {
        Matmul p;
        p.m = rows, p.k = hidden_, p.n = 2 * inner_;
        p.a = {nullptr, dtype_, hidden_, 1, 0};
        p.b = up_;
        p.c = {nullptr, dtype_, 2 * inner_, 1, 0};
        return p;
    }
    Matmul second(int64_t rows) const {
        Matmul p;
        p.m = rows, p.k = inner_, p.n = hidden_;
        p.a = {nullptr, dtype_, inner_, 1, 0};
        p.b = down_;
        p.c = {nullptr, dtype_, out_stride_, 1, 0};
        return p;
    }

    void run_block(const Arguments &a, int64_t row, int64_t rows) const {
        char *memory = a.workspace();
        const int64_t bytes = element(dtype_);
        norm(a.pointer<const char>(1) + row * in_stride_ * bytes, a.pointer<const void>(3), rows,
             memory);
        Matmul p = first(rows), q = second(rows);
        p.a.data = memory, p.b.data = a.pointer<const void>(4), p.c.data = memory + wide_;
        matmul(p, memory + scratch_);
        gate(rows, memory);
        Residual residual{nullptr, dtype_, residual_stride_};
        Epilogue epilogue;
        epilogue.finish = Residual::add, epilogue.context = &residual;
        if (has_residual_) {
            residual.data = a.pointer<const char>(2) + row * residual_stride_ * bytes;
            q.epilogue = &epilogue;
        }
        q.a.data = memory + gated_, q.b.data = a.pointer<const void>(5);
        q.c.data = a.pointer<char>(0) + row * out_stride_ * bytes;
        matmul(q, memory + scratch_);
    }

    void norm(const char *in, const void *weight, int64_t rows, char *memory) const {
        visit_float(dtype_, [&]<class T>(Type<T>) {
            const T *x = reinterpret_cast<const T *>(in);
            T *y = reinterpret_cast<T *>(memory);
            parallel_for(size_t(rows), size_t(grain(hidden_)), [&](size_t begin, size_t end) {
                for (int64_t i = int64_t(begin); i < int64_t(end); ++i) {
                    const T *from = x + i * in_stride_;
                    T *to = y + i * hidden_;
                    if (norm_dtype_ == dtype_) {
                        norm_row(from, static_cast<const T *>(weight), to, hidden_, epsilon_);
                    } else {
                        norm_row(from, static_cast<const float *>(weight), to, hidden_, epsilon_);
                    }
                }
            });
        });
    }

    void gate(int64_t rows, char *memory) const {
        visit_float(dtype_, [&]<class T>(Type<T>) {
            const T *wide = reinterpret_cast<const T *>(memory + wide_);
            T *gated = reinterpret_cast<T *>(memory + gated_);
            parallel_for(size_t(rows), size_t(grain(inner_)), [&](size_t begin, size_t end) {
                for (int64_t i = int64_t(begin); i < int64_t(end); ++i) {
                    apply_gate(Gate::Swiglu, wide + i * 2 * inner_, gated + i * inner_, inner_);
                }
            });
        });
    }

    static int64_t grain(int64_t columns) {
        return std::max<int64_t>(1, 8192 / std::max<int64_t>(columns, 1));
    }

    int dtype_, norm_dtype_;
    int64_t rows_, hidden_, inner_;
    Matrix up_, down_;
    int64_t out_stride_, in_stride_, residual_stride_ = 0;
    bool has_residual_ = false;
    float epsilon_;
    int64_t wide_, gated_, scratch_;  // places in the workspace, behind the normed rows
};

std::unique_ptr<Plan> plan_fused_ffn(const Operation &op) {
    return std::make_unique<FeedForward>(op);
}

INFINI_KERNEL("fused_ffn", plan_fused_ffn);

}  // namespace
}  // namespace infini::cpu
