// fft, rfft, irfft: lines of complex numbers, given as two tensors (real and imaginary), and of
// real ones. Several dimensions are transformed in one pass each.
#include <map>
#include <mutex>
#include <utility>

#include "fft/lines.h"
#include "kernel.h"

namespace infini::cpu {
namespace {

// All plans of a length share its tables.
template <class T>
std::shared_ptr<const Fourier<T>> fourier_of(int64_t n, bool is_line) {
    static std::mutex lock;
    static auto &known = *new std::map<std::pair<int64_t, bool>, std::weak_ptr<const Fourier<T>>>;
    std::lock_guard guard(lock);
    std::weak_ptr<const Fourier<T>> &kept = known[{n, is_line}];
    std::shared_ptr<const Fourier<T>> found = kept.lock();
    if (!found) kept = found = std::make_shared<const Fourier<T>>(n, is_line);
    return found;
}

// ---- Real transforms ----------------------------------------------------------------------------

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

// From the transform z of h complex numbers, made of the even and odd elements of 2 h real ones:
// the first h + 1 elements of the real transform. w: e^(-2 pi i k / 2h) / 2.
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

// The inverse of split_real: h complex numbers from h + 1.
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

enum class Kind { kComplex, kFromReal, kToReal };  // kFromReal: to the first half, or all of it

// A complex tensor; a real one has only `re`.
struct PartLines {
    Lines re, im;
};
template <class T>
struct PartData {
    T *re = nullptr, *im = nullptr;
};

// A pass transforms one dimension.
template <class T>
struct Transform {
    Kind kind;
    bool inverse;
    T scale;
    PartLines y, x;
    int64_t n, half, ends_size;  // ends_size: of a real transform's other side
    int64_t core;                // complex numbers per line that are transformed
    bool is_packed;              // two real numbers form one complex number
    std::shared_ptr<const Fourier<T>> fourier;
    std::vector<T> twiddles;  // for real transforms
    static constexpr int64_t kMostTogether = 512, kLong = 2048;

    Transform(Kind kind, bool inverse, double scale, PartLines to, PartLines from)
        : kind(kind), inverse(inverse), scale(T(scale)), y(std::move(to)), x(std::move(from)) {
        n = kind == Kind::kFromReal ? x.re.size : y.re.size;
        half = n / 2 + 1;
        ends_size = kind == Kind::kFromReal ? y.re.size : half;
        is_packed = kind != Kind::kComplex && n % 2 == 0;
        core = is_packed ? n / 2 : n;
        make_tables();
    }

    void make_tables() {
        fourier = fourier_of<T>(core, prefers_lines());
        if (!is_packed) return;
        twiddles.resize(size_t(2 * core));
        for (int64_t k = 0; k < core; ++k) {
            const double angle = 2 * std::numbers::pi * double(k) / double(n);
            twiddles[size_t(k)] = T(0.5 * std::cos(angle));
            twiddles[size_t(core + k)] = T(-0.5 * std::sin(angle));
        }
    }

    // Lines with contiguous elements are transformed one by one if vectors fit into them and there
    // are few, or several would not stay in the cache.
    bool prefers_lines() const {
        const bool is_near = x.re.step <= 2 && y.re.step <= 2 && x.re.step > 0 && y.re.step > 0;
        return is_near && core >= 64 && core % 64 == 0 &&
               (core > kMostTogether || x.re.count() < int64_t(kWidth<T>));
    }
    int64_t side() const {
        constexpr int64_t kSide = 64 / int64_t(sizeof(T)), kLongSide = kSide / 2;
        if (fourier->is_long() || prefers_lines()) return 1;
        return std::min(x.re.count(), core > kLong ? kLongSide : kSide);
    }
    static int64_t area(int64_t count) { return Fourier<T>::area(count); }
    int64_t room(int64_t side) const {
        const int64_t lanes = lanes_of(side);
        return 2 * area(core * lanes) + fourier->room(lanes) +
               (kind == Kind::kComplex ? 0 : 2 * area(ends_size * lanes));
    }
    // Vectors are filled up, except for few lines.
    static int64_t lanes_of(int64_t lines) {
        constexpr int64_t kWide = int64_t(kWidth<T>);
        return lines > kWide / 4 ? (lines + kWide - 1) / kWide * kWide : lines;
    }

    void run(PartData<T> to, PartData<T> from, int64_t first, int64_t lines, T *room) const {
        const int64_t lanes = lines > 1 ? lanes_of(lines) : 1;
        Signal<T> z = {room, room + area(core * lanes)};
        T *rest = room + 2 * area(core * lanes);
        // For real transforms: with both ends.
        const Signal<T> ends = {rest, rest + area(ends_size * lanes)};
        if (kind != Kind::kComplex) rest += 2 * area(ends_size * lanes);
        load(from, Starts(x.re, first, lines, lanes), Starts(x.im, first, lines, lanes), z, ends);
        // Exchanging the real and imaginary parts gives the inverse transform.
        const bool back = kind == Kind::kToReal || (kind == Kind::kComplex && inverse);
        if (back) std::swap(z.re, z.im);
        Signal<T> made = fourier->run(z, rest, lanes);
        if (back) std::swap(made.re, made.im);
        store(to, Starts(y.re, first, lines, lanes), Starts(y.im, first, lines, lanes), made, ends);
    }

    void load(PartData<T> data, const Starts &from, const Starts &from_im, Signal<T> z,
              Signal<T> ends) const {
        const T *re = data.re, *im = data.im;
        const int64_t step = x.re.step, lanes = from.lanes;
        if (kind == Kind::kFromReal) {
            if (is_packed && step == 1) {
                load_pairs(z, re, from, 2, core);
            } else if (is_packed) {
                load_lines(z.re, re, from, 2 * step, core);
                load_lines(z.im, re + step, from, 2 * step, core);
            } else {
                load_lines(z.re, re, from, step, core);
                std::fill_n(z.im, core * lanes, T(0));
            }
            return;
        }
        const Signal<T> to = kind == Kind::kComplex || !is_packed ? z : ends;
        const int64_t count = kind == Kind::kComplex ? n : half;
        if (are_pairs(re, im, from, from_im, step, x.im.step)) {
            load_pairs(to, re, from, step, count);
        } else {
            load_lines(to.re, re, from, step, count);
            load_lines(to.im, im, from_im, x.im.step, count);
        }
        if (kind == Kind::kComplex) return;
        if (!inverse)
            for (int64_t q = 0; q < half * lanes; ++q) to.im[q] = -to.im[q];
        if (is_packed) return join_real(z, ends, twiddles.data(), core, lanes);
        std::fill_n(z.im, lanes, T(0));
        mirror(z, lanes);
    }

    // The other half of a real transform.
    void mirror(Signal<T> z, int64_t lanes) const {
        for (int64_t k = 1; k <= (n - 1) / 2; ++k) {
            const Signal<T> to = z.from((n - k) * lanes), from = z.from(k * lanes);
            for (int64_t i = 0; i < lanes; ++i) to.re[i] = from.re[i], to.im[i] = -from.im[i];
        }
    }

    void store(PartData<T> data, const Starts &to, const Starts &to_im, Signal<T> made,
               Signal<T> ends) const {
        T *re = data.re, *im = data.im;
        const int64_t step = y.re.step;
        if (kind == Kind::kToReal) {
            if (!is_packed) return store_lines(re, made.re, to, step, n, scale);
            if (step == 1) return store_pairs(re, made, to, 2, core, scale, scale);
            store_lines(re, made.re, to, 2 * step, core, scale);
            return store_lines(re + step, made.im, to, 2 * step, core, scale);
        }
        if (kind == Kind::kFromReal && is_packed) {
            split_real(ends, made, twiddles.data(), core, to.lanes);
            if (ends_size > half) mirror(ends, to.lanes);
            made = ends;
        }
        const T sign = kind == Kind::kFromReal && inverse ? T(-1) : T(1);
        const int64_t count = y.re.size;
        if (are_pairs(re, im, to, to_im, step, y.im.step))
            return store_pairs(re, made, to, step, count, scale, sign * scale);
        store_lines(re, made.re, to, step, count, scale);
        store_lines(im, made.im, to_im, y.im.step, count, sign * scale);
    }
};

enum Place { kGiven, kResult, kKept };  // kKept: complex numbers in the workspace

template <class T>
struct Pass {
    Transform<T> transform;
    Place from, to;
    int64_t side, blocks, slots;  // lines in a block; number of blocks; useful threads
    size_t bytes;                 // memory per thread

    Pass(Transform<T> made, Place from, Place to)
        : transform(std::move(made)), from(from), to(to), side(transform.side()) {
        constexpr int64_t kWork = 8192;  // elements that justify a thread
        const int64_t count = transform.y.re.count();
        blocks = (count + side - 1) / side;
        slots = std::clamp<int64_t>(transform.core * count / kWork, 1,
                                    std::min(blocks, int64_t(thread_count())));
        bytes = (size_t(transform.room(side)) * sizeof(T) + 63) / 64 * 64;
    }

    void run(const PartData<T> *data, char *rooms) const {
        const int64_t count = transform.y.re.count();
        parallel_for(size_t(slots), 1, [&](size_t begin, size_t end) {
            for (int64_t slot = int64_t(begin); slot < int64_t(end); ++slot) {
                T *room = reinterpret_cast<T *>(rooms + size_t(slot) * bytes);
                for (int64_t b = blocks * slot / slots; b < blocks * (slot + 1) / slots; ++b)
                    transform.run(data[to], data[from], b * side, std::min(side, count - b * side),
                                  room);
            }
        });
    }
};

// The passes of an operation. The real transform is the first or the last of them.
template <class T>
struct Planner {
    const Operation &operation;
    const Kind kind;
    const bool to_real = kind == Kind::kToReal, inverse = operation.integer(to_real) != 0;
    const int x_at = to_real ? 1 : 2, rank = int(operation.integer(2 + to_real));
    const bool x_imag = kind != Kind::kFromReal && operation.tensor(x_at + 1);
    std::vector<Pass<T>> passes = {};

    PartLines lines(int place, bool is_complex, int axis) const {
        const Tensor re = operation.tensor(place);
        PartLines made = {Lines(re, re.ndim - 1 - axis), {}};
        if (is_complex) made.im = Lines(operation.tensor(place + 1), re.ndim - 1 - axis);
        return made;
    }
    PartLines lines_of(Place place, int axis) const {
        if (place == kGiven) return lines(x_at, x_imag, axis);
        if (place == kResult) return lines(0, !to_real, axis);
        Tensor dense = operation.tensor(x_at);
        int64_t strides[Shape::kMost], next = 2;
        for (int i = dense.ndim - 1; i >= 0; --i) strides[i] = next, next *= dense.shape[i];
        dense.strides = strides;
        const Lines made(dense, dense.ndim - 1 - axis);
        return {made, made};
    }
    void add(Kind kind, double scale, Place from, Place to, int axis) {
        passes.push_back(
            {{kind, inverse, scale, lines_of(to, axis), lines_of(from, axis)}, from, to});
    }

    // axis 0 is the last dimension.
    void add_all() {
        const double scale = operation.number(1 + to_real);
        if (!to_real) add(x_imag ? kind : Kind::kFromReal, scale, kGiven, kResult, 0);
        for (int axis = rank - 1; axis > 0; --axis)
            if (!to_real)
                add(Kind::kComplex, 1, kResult, kResult, axis);
            else
                add(Kind::kComplex, 1, axis == rank - 1 ? kGiven : kKept, kKept, axis);
        if (to_real) add(kind, scale, rank > 1 ? kKept : kGiven, kResult, 0);
    }
};

template <class T>
std::unique_ptr<Plan> plan_of(const Operation &operation) {
    const Kind kind = operation.is("rfft")    ? Kind::kFromReal
                      : operation.is("irfft") ? Kind::kToReal
                                              : Kind::kComplex;
    if (operation.tensor(0).numel() == 0) return make_plan([](const Arguments &) {});
    Planner<T> planner{operation, kind};
    planner.add_all();
    size_t rooms = 0;
    for (const Pass<T> &pass : planner.passes)
        rooms = std::max(rooms, size_t(pass.slots) * pass.bytes);
    const bool keeps = planner.to_real && planner.rank > 1;
    const size_t kept = keeps ? 2 * size_t(operation.tensor(planner.x_at).numel()) * sizeof(T) : 0;
    const int x_at = planner.x_at, x_im = x_at + (kind != Kind::kFromReal);
    const int y_im = kind == Kind::kToReal ? 0 : 1;
    auto passes = std::make_shared<const std::vector<Pass<T>>>(std::move(planner.passes));
    auto run = [=](const Arguments &a) {
        T *temporary = reinterpret_cast<T *>(a.workspace() + rooms);
        const PartData<T> data[] = {{a.pointer<T>(x_at), a.pointer<T>(x_im)},
                                    {a.pointer<T>(0), a.pointer<T>(y_im)},
                                    {temporary, temporary + 1}};
        for (const Pass<T> &pass : *passes) pass.run(data, a.workspace());
    };
    return make_plan(run, rooms + kept);
}

std::unique_ptr<Plan> plan_fft(const Operation &operation) {
    return operation.tensor(0).dtype == INFINI_DTYPE_F64 ? plan_of<double>(operation)
                                                         : plan_of<float>(operation);
}

INFINI_KERNEL("fft", plan_fft);

}  // namespace
}  // namespace infini::cpu
