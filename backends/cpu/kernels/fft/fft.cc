// fft, rfft, irfft: lines of complex numbers, given as two tensors of parts, and of real ones.
#include <map>
#include <mutex>
#include <utility>

#include "fft/fourier.h"
#include "index/offsets.h"
#include "kernel.h"

namespace infini::cpu {
namespace {

// Tables are shared by all plans of a length.
template <class T>
std::shared_ptr<const Fourier<T>> fourier_of(int64_t n) {
    static std::mutex lock;
    static auto &known = *new std::map<int64_t, std::weak_ptr<const Fourier<T>>>;
    std::lock_guard guard(lock);
    std::shared_ptr<const Fourier<T>> found = known[n].lock();
    if (!found) known[n] = found = std::make_shared<const Fourier<T>>(n);
    return found;
}

// ---- Lines side by side -------------------------------------------------------------------------

// Where some lines begin, and the step from one to the next if it is the same for all.
struct Starts {
    static constexpr int64_t kMost = 32;
    int64_t at[kMost], gap = 1;
    bool is_even = true;

    Starts(const Lines &lines, int64_t first, int64_t count) {
        lines.offsets.fill(first, count, at);
        if (count > 1) gap = at[1] - at[0];
        for (int64_t i = 2; i < count; ++i) is_even &= at[i] - at[i - 1] == gap;
    }
};

// body(k, i, offset) for n elements of all lines. Steps that are usual are constants in its loops.
template <class Body>
INFINI_SIMD void over_elements(const Starts &starts, int64_t step, int64_t n, int64_t lines,
                               const Body &body) {
    if (lines == 1) {
        const int64_t start = starts.at[0];
        if (step == 1)
            for (int64_t k = 0; k < n; ++k) body(k, 0, start + k);
        else if (step == 2)
            for (int64_t k = 0; k < n; ++k) body(k, 0, start + 2 * k);
        else
            for (int64_t k = 0; k < n; ++k) body(k, 0, start + k * step);
        return;
    }
    for (int64_t k = 0; k < n; ++k) {
        const int64_t start = starts.at[0] + k * step;
        if (starts.is_even && starts.gap == 1)
            for (int64_t i = 0; i < lines; ++i) body(k, i, start + i);
        else if (starts.is_even && starts.gap == 2)
            for (int64_t i = 0; i < lines; ++i) body(k, i, start + 2 * i);
        else
            for (int64_t i = 0; i < lines; ++i) body(k, i, starts.at[i] + k * step);
    }
}

template <class T>
void load_lines(T *__restrict to, const T *__restrict from, const Starts &starts, int64_t step,
                int64_t n, int64_t lines) {
    over_elements(starts, step, n, lines,
                  [=](int64_t k, int64_t i, int64_t at) { to[k * lines + i] = from[at]; });
}
template <class T>
void store_lines(T *__restrict to, const T *__restrict from, const Starts &starts, int64_t step,
                 int64_t n, int64_t lines, T scale) {
    over_elements(starts, step, n, lines,
                  [=](int64_t k, int64_t i, int64_t at) { to[at] = from[k * lines + i] * scale; });
}
// Both parts of each number, which are neighbours.
template <class T>
void store_pairs(T *__restrict to, Signal<T> from, const Starts &starts, int64_t step, int64_t n,
                 int64_t lines, T scale, T imag_scale) {
    const T *__restrict re = from.re, *__restrict im = from.im;
    over_elements(starts, step, n, lines, [=](int64_t k, int64_t i, int64_t at) {
        to[at] = re[k * lines + i] * scale, to[at + 1] = im[k * lines + i] * imag_scale;
    });
}

// ---- Real numbers -------------------------------------------------------------------------------

template <class V>
INFINI_SIMD V backwards(V v) {
    if constexpr (!kIsVector<V>)
        return v;
    else
        return [&]<int... i>(std::integer_sequence<int, i...>) {
            constexpr Bits<V> order = {(int(kLanes<V>) - 1 - i)...};
            return __builtin_shuffle(v, order);
        }(std::make_integer_sequence<int, int(kLanes<V>)>());
}

// to[k] = body(from[k], from[h - k], w[k]) for 0 < k < h. w: cosines, then sines.
template <class T, class Body>
INFINI_SIMD void over_mirrored(Signal<T> to, Signal<T> from, const T *w, int64_t h, int64_t lines,
                               const Body &body) {
    constexpr int64_t kWide = int64_t(kWidth<T>);
    auto put = [&]<class V>(int64_t at, Pair<V> made) {
        infini::cpu::store(to.re + at, made.re), infini::cpu::store(to.im + at, made.im);
    };
    auto along_line = [&]<class V>(V, int64_t k) {
        const int64_t mirrored = h - k - int64_t(kLanes<V>) + 1;
        const Pair<V> other = load_pair<V>(from.re + mirrored, from.im + mirrored);
        put(k, body(load_pair<V>(from.re + k, from.im + k),
                    Pair<V>{backwards(other.re), backwards(other.im)},
                    load_pair<V>(w + k, w + h + k)));
    };
    auto beside = [&]<class V>(V, int64_t k, int64_t i) {
        const int64_t a = k * lines + i, b = (h - k) * lines + i;
        put(a, body(load_pair<V>(from.re + a, from.im + a), load_pair<V>(from.re + b, from.im + b),
                    Pair<V>{broadcast<V>(w[k]), broadcast<V>(w[h + k])}));
    };
    int64_t k = 1;
    if (lines == 1) {
        for (; k + kWide <= h; k += kWide) along_line(Vec<T>(), k);
        for (; k < h; ++k) along_line(T(), k);
    }
    for (; k < h; ++k) {
        int64_t i = 0;
        for (; i + kWide <= lines; i += kWide) beside(Vec<T>(), k, i);
        for (; i < lines; ++i) beside(T(), k, i);
    }
}

// Of the transform z of h numbers whose parts are the even and the odd ones of 2 h real numbers:
// the first h + 1 of the transform of these. w: e^(-2 pi i k / 2h) / 2.
template <class T>
void split_real(Signal<T> to, Signal<T> z, const T *w, int64_t h, int64_t lines) {
    for (int64_t i = 0; i < lines; ++i) {
        to.re[i] = z.re[i] + z.im[i], to.im[i] = 0;
        to.re[h * lines + i] = z.re[i] - z.im[i], to.im[h * lines + i] = 0;
    }
    over_mirrored(to, z, w, h, lines, []<class V>(Pair<V> a, Pair<V> b, Pair<V> w) {
        const V half = broadcast<V>(Element<V>(0.5));
        const Pair<V> even = {(a.re + b.re) * half, (a.im - b.im) * half};
        return even + Pair<V>{a.im + b.im, b.re - a.re}.times(w.re, w.im);
    });
}

// The way back: h numbers of h + 1.
template <class T>
void join_real(Signal<T> to, Signal<T> x, const T *w, int64_t h, int64_t lines) {
    for (int64_t i = 0; i < lines; ++i) {
        const T first = x.re[i], last = x.re[h * lines + i];
        to.re[i] = first + last, to.im[i] = first - last;
    }
    over_mirrored(to, x, w, h, lines, []<class V>(Pair<V> a, Pair<V> b, Pair<V> w) {
        const Pair<V> even = {a.re + b.re, a.im - b.im};
        const Pair<V> odd = Pair<V>{a.re - b.re, a.im + b.im}.times(w.re + w.re, -(w.im + w.im));
        return even - odd.turned();
    });
}

// ---- Plans --------------------------------------------------------------------------------------

enum class Kind { kComplex, kFromReal, kToReal };

template <class T>
struct Transform {
    Kind kind;
    bool inverse, is_packed;  // is_packed: two real numbers as one complex
    int64_t n, half, core;    // core: complex numbers of a line that are transformed
    T scale;
    Lines y, x, y_im, x_im;
    int x_at;  // the first input's place
    std::shared_ptr<const Fourier<T>> fourier;
    std::vector<T> twiddles;  // of real numbers

    Transform(const Operation &operation, Kind kind)
        : kind(kind),
          inverse(operation.integer(kind == Kind::kToReal ? 1 : 0) != 0),
          scale(T(operation.number(kind == Kind::kToReal ? 2 : 1))) {
        const int last = operation.tensor(0).ndim - 1;
        x_at = kind == Kind::kToReal ? 1 : 2;
        y = Lines(operation.tensor(0), last), x = Lines(operation.tensor(x_at), last);
        if (kind != Kind::kToReal) y_im = Lines(operation.tensor(1), last);
        if (kind != Kind::kFromReal) x_im = Lines(operation.tensor(x_at + 1), last);
        n = kind == Kind::kFromReal ? x.size : y.size;
        half = n / 2 + 1;
        is_packed = kind != Kind::kComplex && n % 2 == 0;
        core = is_packed ? n / 2 : n;
    }

    void make_tables() {
        fourier = fourier_of<T>(core);
        if (!is_packed) return;
        twiddles.resize(size_t(2 * core));
        for (int64_t k = 0; k < core; ++k) {
            const double angle = 2 * std::numbers::pi * double(k) / double(n);
            twiddles[size_t(k)] = T(0.5 * std::cos(angle));
            twiddles[size_t(core + k)] = T(-0.5 * std::sin(angle));
        }
    }

    // Lines whose elements are neighbours are transformed one by one, if vectors fit into them.
    int64_t side() const {
        constexpr int64_t kSide = 64 / int64_t(sizeof(T)), kLongSide = kSide / 2;
        const bool is_near = x.step <= 2 && y.step <= 2 && x.step > 0 && y.step > 0;
        if (fourier->is_long() || (is_near && core >= 64 && core % 4 == 0)) return 1;
        return std::min(x.count(), core > 2048 ? kLongSide : kSide);
    }
    int64_t room(int64_t side) const {
        return 2 * core * side + fourier->room(side) +
               (kind == Kind::kComplex ? 0 : 2 * half * side);
    }

    void run(const Arguments &a, int64_t first, int64_t lines, T *room) const {
        Signal<T> z = {room, room + core * lines};
        T *rest = room + 2 * core * lines;
        const Signal<T> ends = {rest, rest + half * lines};  // of real numbers: with both ends
        if (kind != Kind::kComplex) rest += 2 * half * lines;
        load(a, first, lines, z, ends);
        // With its parts exchanged, a signal is transformed back.
        const bool back = kind == Kind::kToReal || (kind == Kind::kComplex && inverse);
        if (back) std::swap(z.re, z.im);
        Signal<T> made = fourier->run(z, rest, lines);
        if (back) std::swap(made.re, made.im);
        store(a, first, lines, made, ends);
    }

    void load(const Arguments &a, int64_t first, int64_t lines, Signal<T> z, Signal<T> ends) const {
        const T *re = a.pointer<T>(x_at), *im = a.pointer<T>(x_at + (kind != Kind::kFromReal));
        const Starts from(x, first, lines);
        if (kind == Kind::kFromReal) {
            if (is_packed) {
                load_lines(z.re, re, from, 2 * x.step, core, lines);
                load_lines(z.im, re + x.step, from, 2 * x.step, core, lines);
            } else {
                load_lines(z.re, re, from, x.step, core, lines);
                std::fill_n(z.im, core * lines, T(0));
            }
            return;
        }
        const Starts from_im(x_im, first, lines);
        const Signal<T> to = kind == Kind::kComplex || !is_packed ? z : ends;
        const int64_t count = kind == Kind::kComplex ? n : half;
        load_lines(to.re, re, from, x.step, count, lines);
        load_lines(to.im, im, from_im, x_im.step, count, lines);
        if (kind == Kind::kComplex) return;
        if (!inverse)
            for (int64_t q = 0; q < half * lines; ++q) to.im[q] = -to.im[q];
        if (is_packed) return join_real(z, ends, twiddles.data(), core, lines);
        std::fill_n(z.im, lines, T(0));
        for (int64_t k = 1; k < half; ++k)
            for (int64_t i = 0; i < lines; ++i) {
                z.re[(n - k) * lines + i] = z.re[k * lines + i];
                z.im[(n - k) * lines + i] = -z.im[k * lines + i];
            }
    }

    void store(const Arguments &a, int64_t first, int64_t lines, Signal<T> made,
               Signal<T> ends) const {
        T *re = a.pointer<T>(0), *im = a.pointer<T>(1);
        const Starts to(y, first, lines);
        if (kind == Kind::kToReal) {
            if (!is_packed) return store_lines(re, made.re, to, y.step, n, lines, scale);
            if (y.step == 1 && lines == 1)
                return store_pairs(re, made, to, 2, core, lines, scale, scale);
            store_lines(re, made.re, to, 2 * y.step, core, lines, scale);
            return store_lines(re + y.step, made.im, to, 2 * y.step, core, lines, scale);
        }
        if (kind == Kind::kFromReal && is_packed) {
            split_real(ends, made, twiddles.data(), core, lines);
            made = ends;
        }
        const T sign = kind == Kind::kFromReal && inverse ? T(-1) : T(1);
        const int64_t count = kind == Kind::kComplex ? n : half;
        const Starts to_im(y_im, first, lines);
        bool are_neighbours = im == re + 1 && y.step == y_im.step;
        for (int64_t i = 0; i < lines; ++i) are_neighbours &= to.at[i] == to_im.at[i];
        if (are_neighbours)
            return store_pairs(re, made, to, y.step, count, lines, scale, sign * scale);
        store_lines(re, made.re, to, y.step, count, lines, scale);
        store_lines(im, made.im, to_im, y_im.step, count, lines, sign * scale);
    }
};

template <class T>
std::unique_ptr<Plan> plan_of(const Operation &operation) {
    const Kind kind = operation.is("rfft")    ? Kind::kFromReal
                      : operation.is("irfft") ? Kind::kToReal
                                              : Kind::kComplex;
    auto made = std::make_shared<Transform<T>>(operation, kind);
    const int64_t count = made->y.count();
    if (made->n == 0 || count == 0) return make_plan([](const Arguments &) {});
    made->make_tables();
    const int64_t side = made->side(), blocks = (count + side - 1) / side;
    constexpr int64_t kWork = 8192;  // numbers that are worth a thread
    const int64_t slots = std::clamp<int64_t>(made->core * count / kWork, 1,
                                              std::min(blocks, int64_t(thread_count())));
    const size_t bytes = (size_t(made->room(side)) * sizeof(T) + 63) / 64 * 64;
    auto run = [=, made = std::shared_ptr<const Transform<T>>(made)](const Arguments &a) {
        parallel_for(size_t(slots), 1, [&](size_t begin, size_t end) {
            for (int64_t slot = int64_t(begin); slot < int64_t(end); ++slot) {
                T *room = reinterpret_cast<T *>(a.workspace() + size_t(slot) * bytes);
                for (int64_t b = blocks * slot / slots; b < blocks * (slot + 1) / slots; ++b)
                    made->run(a, b * side, std::min(side, count - b * side), room);
            }
        });
    };
    return make_plan(run, size_t(slots) * bytes);
}

std::unique_ptr<Plan> plan_fft(const Operation &operation) {
    return operation.tensor(0).dtype == INFINI_DTYPE_F64 ? plan_of<double>(operation)
                                                         : plan_of<float>(operation);
}

INFINI_KERNEL("fft", plan_fft);

}  // namespace
}  // namespace infini::cpu
