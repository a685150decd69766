// Fourier transforms of any length. Stockham's method, by factors of 8, 4, 2, 3, 5 and other primes
// up to a limit; lengths with a larger prime factor as convolutions (Bluestein's method); long ones
// as two passes of short ones that stay in cache, on several threads. Real and imaginary parts are
// in separate arrays. Several lines are transformed at a time, with their elements interleaved.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <vector>

#include "fft/butterfly.h"
#include "threads.h"

namespace infini::cpu {

template <class T>
struct Signal {
    T *re, *im;

    Signal from(int64_t offset) const { return {re + offset, im + offset}; }
};

template <class T>
class Fourier {
public:
    static constexpr int64_t kWide = int64_t(kWidth<T>);

    // The room of an array. Arrays whose addresses differ by a multiple of 4096 bytes, as those of
    // powers of 2 would, share cache sets, and loads wait for stores to the other array.
    static int64_t area(int64_t count) { return count + 1024 / int64_t(sizeof(T)); }

    // `is_line`: lines are transformed one by one.
    Fourier(int64_t n, bool is_line) : n_(n), is_line_(is_line) {
        int64_t rest = n, twos = 0;
        auto take = [&](int64_t radix) { factors_.push_back(radix), rest /= radix; };
        while ((rest >> twos) % 2 == 0) ++twos;
        // A single line has stages of radix 4 until a group fills a vector.
        for (int lead = kWide > 4 ? 2 : 1; is_line && lead > 0 && twos >= 2; --lead)
            take(4), twos -= 2;
        for (; twos >= 3 && twos != 4; twos -= 3) take(8);
        for (; twos >= 2; twos -= 2) take(4);
        if (twos) take(2);
        const int64_t most = is_line ? kMostRadix : kMostRadixOfLines;
        for (int64_t p = 3; p <= most && rest > 1; p += 2)
            while (rest % p == 0) take(p);
        if (rest > 1)
            make_chirp();
        else if (!make_long())
            make_stages();
    }

    // Long lines are transformed one by one.
    bool is_long() const { return rows_ || (inner_ && inner_->rows_); }

    // Elements of T that `run` needs besides the signal, for the given number of lines.
    int64_t room(int64_t lines) const {
        if (inner_) return 2 * area(inner_->n_ * lines) + inner_->room(lines);
        if (rows_) return 2 * n_ + slots() * block_room();
        return 2 * area(n_ * lines);
    }

    // Transforms `lines` interleaved signals. The result is in x or in room; both are overwritten.
    Signal<T> run(Signal<T> x, T *room, int64_t lines) const {
        if (inner_) return run_chirp(x, room, lines);
        if (rows_) return run_long(x, room);
        return run_stages(x, {room, room + area(n_ * lines)}, lines);
    }

private:
    // From this length on, a line and its copy do not fit into L2.
    static constexpr int64_t kLong = int64_t(1 << 17) / int64_t(sizeof(T));
    static constexpr int64_t kSide = 64 / int64_t(sizeof(T));  // columns of a long line at a time
    using Table = std::vector<T>;

    static void push(Table &table, int64_t k, int64_t n) {
        const double angle = 2 * std::numbers::pi * double(k % n) / double(n);
        table.push_back(T(std::cos(angle)));
        table.push_back(T(-std::sin(angle)));
    }

    // ---- Stages: y[s (r p + k) + q] of x[s (p + m i) + q] ---------------------------------------

    struct Stage {
        int64_t radix, left;     // left: m, the size that remains to be transformed
        size_t twiddles, apart;  // table offsets: pairs for each p; distance of cosines and sines
        size_t roots;
    };

    void make_stages() {
        int64_t left = n_, s = 1;
        for (int64_t r : factors_) {
            left /= r;
            Stage stage = {r, left, table_.size(), 0, 0};
            for (int64_t p = 0; p < left; ++p)
                for (int64_t k = 1; k < r; ++k) push(table_, p * k, left * r);
            stage.apart = table_.size();
            if (is_narrow(r, s, left))
                for (int64_t k = 1; k < r; ++k)
                    for (int part = 0; part < 2; ++part)
                        for (int64_t t = 0; t < s * left; ++t)
                            table_.push_back(table_[stage.twiddles +
                                                    size_t(2 * (t / s * (r - 1) + k - 1) + part)]);
            stage.roots = table_.size();
            if (r > 5)
                for (int64_t k = 0; k < r; ++k) push(table_, k, r);
            stages_.push_back(stage);
            s *= r;
        }
    }

    // Whether there are fewer adjacent elements than lanes in a vector.
    static bool is_narrow(int64_t r, int64_t s, int64_t left) {
        return r == 4 && s < kWide && (s == 1 || s == 4) && s * left % kWide == 0;
    }

    Signal<T> run_stages(Signal<T> x, Signal<T> y, int64_t s) const {
        for (const Stage &stage : stages_) {
            if (is_narrow(stage.radix, s, stage.left) && s * stage.left * stage.radix == n_) {
                if (s == 1)
                    narrow_stage<1>(x, y, stage);
                else if constexpr (kWide > 4)
                    narrow_stage<4>(x, y, stage);
            } else {
                any_stage(x, y, stage, s);
            }
            s *= stage.radix;
            std::swap(x, y);
        }
        return x;
    }

    void any_stage(Signal<T> x, Signal<T> y, const Stage &stage, int64_t s) const {
        const bool turns = stage.left > 1;
        auto with = [&]<int kRadix>(std::integral_constant<int, kRadix>) {
            turns ? wide_stage<kRadix, true>(x, y, stage, s)
                  : wide_stage<kRadix, false>(x, y, stage, s);
        };
        switch (stage.radix) {
            case 2:
                return with(std::integral_constant<int, 2>());
            case 3:
                return with(std::integral_constant<int, 3>());
            case 4:
                return with(std::integral_constant<int, 4>());
            case 5:
                return with(std::integral_constant<int, 5>());
            case 7:
                return with(std::integral_constant<int, 7>());
            case 8:
                return with(std::integral_constant<int, 8>());
            case 11:
                return with(std::integral_constant<int, 11>());
            case 13:
                return with(std::integral_constant<int, 13>());
            default:
                return odd_stage(x, y, stage, s);
        }
    }

    // Processes adjacent elements as vectors, then the rest one by one.
    template <class Body>
    static void along(int64_t s, const Body &body) {
        int64_t q = 0;
        for (; q + kWide <= s; q += kWide) body(Vec<T>(), q);
        for (; q < s; ++q) body(T(), q);
    }

    template <int kRadix, bool kTurns>
    void wide_stage(Signal<T> x, Signal<T> y, const Stage &stage, int64_t s) const {
        const T *w = table_.data() + stage.twiddles, *roots = table_.data() + stage.roots;
        const int64_t gap = s * stage.left;
        for (int64_t p = 0; p < stage.left; ++p, w += 2 * (kRadix - 1)) {
            const Signal<T> in = x.from(s * p), out = y.from(s * kRadix * p);
            along(s, [&]<class V>(V, int64_t q) {
                Pair<V> z[kRadix];
                for (int i = 0; i < kRadix; ++i)
                    z[i] = load_pair<V>(in.re + q + i * gap, in.im + q + i * gap);
                transform<kRadix>(z, roots);
                for (int k = 0; k < kRadix; ++k) {
                    if (kTurns && k)
                        z[k] = z[k].times(broadcast<V>(w[2 * k - 2]), broadcast<V>(w[2 * k - 1]));
                    store(out.re + q + k * s, z[k].re), store(out.im + q + k * s, z[k].im);
                }
            });
        }
    }

    void odd_stage(Signal<T> x, Signal<T> y, const Stage &stage, int64_t s) const {
        const T *w = table_.data() + stage.twiddles, *roots = table_.data() + stage.roots;
        const int radix = int(stage.radix), half = radix / 2;
        const int64_t gap = s * stage.left;
        const bool turns = stage.left > 1;
        for (int64_t p = 0; p < stage.left; ++p, w += 2 * (radix - 1)) {
            const Signal<T> in = x.from(s * p), out = y.from(s * radix * p);
            along(s, [&]<class V>(V, int64_t q) {
                Pair<V> sums[kMostRadixOfLines / 2], gaps[kMostRadixOfLines / 2];
                auto get = [&](int64_t i) {
                    return load_pair<V>(in.re + q + i * gap, in.im + q + i * gap);
                };
                auto put = [&](int k, Pair<V> z) {
                    if (turns && k)
                        z = z.times(broadcast<V>(w[2 * k - 2]), broadcast<V>(w[2 * k - 1]));
                    store(out.re + q + k * s, z.re), store(out.im + q + k * s, z.im);
                };
                const Pair<V> first = get(0);
                Pair<V> total = first;
                for (int i = 0; i < half; ++i) {
                    const Pair<V> a = get(i + 1), b = get(radix - 1 - i);
                    sums[i] = a + b, gaps[i] = a - b, total = total + sums[i];
                }
                put(0, total);
                auto some = [&]<int kCount>(std::integral_constant<int, kCount>, int k) {
                    transform_odd<kCount>(first, sums, gaps, radix, roots, k, put);
                };
                int k = 1;
                // As many results at a time as registers hold.
                constexpr int kSome = sizeof(V) > 32 ? 4 : 2;
                for (; k + kSome - 1 <= half; k += kSome)
                    some(std::integral_constant<int, kSome>(), k);
                if (k + 1 <= half) some(std::integral_constant<int, 2>(), k), k += 2;
                if (k <= half) some(std::integral_constant<int, 1>(), k);
            });
        }
    }

    // Radix 4, vectors over p and q: results are interleaved.
    template <int kGroup>
    void narrow_stage(Signal<T> x, Signal<T> y, const Stage &stage) const {
        using V = Vec<T>;
        const int64_t gap = kGroup * stage.left;
        const T *w = table_.data() + stage.apart;
        for (int64_t t = 0; t < gap; t += kWide) {
            Pair<V> z[4];
            for (int i = 0; i < 4; ++i) z[i] = load_pair<V>(x.re + t + i * gap, x.im + t + i * gap);
            transform<4>(z, nullptr);
            for (int k = 1; k < 4; ++k) {
                const T *at = w + 2 * (k - 1) * gap + t;
                z[k] = z[k].times(load<V>(at), load<V>(at + gap));
            }
            store_zipped<kGroup>(y.re + 4 * t, z[0].re, z[1].re, z[2].re, z[3].re);
            store_zipped<kGroup>(y.im + 4 * t, z[0].im, z[1].im, z[2].im, z[3].im);
        }
    }

    // ---- Long lines: as a matrix, by columns, transposed, then by rows --------------------------

    bool make_long() {
        if (n_ < kLong) return false;
        int64_t rows = int64_t(std::sqrt(double(n_)));
        while (n_ % rows) --rows;
        if (rows < 64 || n_ / rows >= kLong) return false;
        rows_ = std::make_unique<Fourier>(rows, false);
        columns_ = std::make_unique<Fourier>(n_ / rows, false);
        // Twiddle factors e^(-2 pi i k j / n): a column's first as a product of two, then the next.
        for (int64_t at = 0; at < n_; at += kCoarse) push(coarse_, at, n_);
        for (int64_t at = 0; at < kCoarse; ++at) push(table_, at, n_);
        Table pair;
        beside_.resize(size_t(2 * rows * kSide));
        for (int64_t at = 0; at < rows * kSide; ++at) {
            pair.clear();
            push(pair, at / kSide * (at % kSide), n_);
            beside_[size_t(at)] = pair[0], beside_[size_t(rows * kSide + at)] = pair[1];
        }
        return true;
    }
    static constexpr int64_t kCoarse = 1024;
    static int64_t slots() { return int64_t(thread_count()); }
    int64_t block_room() const { return 4 * area(kSide * std::max(rows_->n_, columns_->n_)); }

    // Calls body(block, room) for blocks of `kSide` columns or rows.
    template <class Body>
    void over_blocks(int64_t count, T *room, const Body &body) const {
        const int64_t blocks = (count + kSide - 1) / kSide, all = std::min(slots(), blocks);
        parallel_for(size_t(all), 1, [&](size_t first, size_t last) {
            for (int64_t slot = int64_t(first); slot < int64_t(last); ++slot)
                for (int64_t b = blocks * slot / all; b < blocks * (slot + 1) / all; ++b)
                    body(b * kSide, std::min(kSide, count - b * kSide), room + slot * block_room());
        });
    }

    Signal<T> run_long(Signal<T> x, T *room) const {
        const int64_t a = rows_->n_, b = columns_->n_;
        const Signal<T> y = {room, room + n_};
        T *rest = room + 2 * n_;
        over_blocks(b, rest, [&](int64_t j, int64_t side, T *own) {
            const Signal<T> block = {own, own + area(a * side)};
            for (int64_t k = 0; k < a; ++k) {
                std::copy_n(x.re + k * b + j, side, block.re + k * side);
                std::copy_n(x.im + k * b + j, side, block.im + k * side);
            }
            const Signal<T> made = rows_->run(block, own + 2 * area(a * side), side);
            for (int64_t k = 0; k < a; ++k) {
                const T *c = coarse_.data() + 2 * (k * j / kCoarse);
                const T *d = table_.data() + 2 * (k * j % kCoarse);
                const Pair<T> base = Pair<T>{c[0], c[1]}.times(d[0], d[1]);
                const T *re = beside_.data() + k * kSide, *im = re + a * kSide;
                along(side, [&]<class V>(V, int64_t i) {
                    const Pair<V> w = load_pair<V>(re + i, im + i)
                                          .times(broadcast<V>(base.re), broadcast<V>(base.im));
                    const int64_t from = k * side + i, to = k * b + j + i;
                    const Pair<V> z =
                        load_pair<V>(made.re + from, made.im + from).times(w.re, w.im);
                    store(y.re + to, z.re), store(y.im + to, z.im);
                });
            }
        });
        over_blocks(a, rest, [&](int64_t k, int64_t side, T *own) {
            const Signal<T> block = {own, own + area(b * side)};
            for (int64_t i = 0; i < side; ++i)
                for (int64_t j = 0; j < b; ++j) {
                    block.re[j * side + i] = y.re[(k + i) * b + j];
                    block.im[j * side + i] = y.im[(k + i) * b + j];
                }
            const Signal<T> made = columns_->run(block, own + 2 * area(b * side), side);
            for (int64_t l = 0; l < b; ++l) {
                std::copy_n(made.re + l * side, side, x.re + l * a + k);
                std::copy_n(made.im + l * side, side, x.im + l * a + k);
            }
        });
        return x;
    }

    // ---- Lengths with a large prime factor ------------------------------------------------------

    // e^(-i pi k^2 / n), and the transform of its conjugates; cosines and sines are separate.
    void make_chirp() {
        factors_.clear();
        int64_t size = 1;
        while (size < 2 * n_ - 1) size *= 2;
        if (size / 8 * 5 >= 2 * n_ - 1)
            size = size / 8 * 5;
        else if (size / 4 * 3 >= 2 * n_ - 1)
            size = size / 4 * 3;
        inner_ = std::make_unique<Fourier>(size, is_line_);
        table_.resize(size_t(2 * n_));
        coarse_.assign(size_t(2 * size), T(0));
        Table room(size_t(inner_->room(1))), pair;
        const Signal<T> kernel = {coarse_.data(), coarse_.data() + size};
        for (int64_t k = 0; k < n_; ++k) {
            pair.clear();
            push(pair, k * k % (2 * n_), 2 * n_);
            table_[size_t(k)] = pair[0], table_[size_t(n_ + k)] = pair[1];
            const int64_t other = (size - k) % size;
            kernel.re[k] = kernel.re[other] = pair[0];
            kernel.im[k] = kernel.im[other] = -pair[1];
        }
        const Signal<T> made = inner_->run(kernel, room.data(), 1);
        const T scale = T(1) / T(size);
        for (int64_t k = 0; k < size; ++k)
            kernel.re[k] = made.re[k] * scale, kernel.im[k] = made.im[k] * scale;
    }

    // to = from times a line of complex factors
    static void multiply(Signal<T> to, Signal<T> from, const T *c, const T *d, int64_t n,
                         int64_t lines) {
        if (lines == 1)
            return along(n, [&]<class V>(V, int64_t k) {
                const Pair<V> z = load_pair<V>(from.re + k, from.im + k);
                const Pair<V> made = z.times(load<V>(c + k), load<V>(d + k));
                store(to.re + k, made.re), store(to.im + k, made.im);
            });
        for (int64_t k = 0; k < n; ++k)
            along(lines, [&]<class V>(V, int64_t i) {
                const int64_t q = k * lines + i;
                const Pair<V> z = load_pair<V>(from.re + q, from.im + q);
                const Pair<V> made = z.times(broadcast<V>(c[k]), broadcast<V>(d[k]));
                store(to.re + q, made.re), store(to.im + q, made.im);
            });
    }

    Signal<T> run_chirp(Signal<T> x, T *room, int64_t lines) const {
        const int64_t size = inner_->n_, count = size * lines;
        const Signal<T> y = {room, room + area(count)};
        T *spare = room + 2 * area(count);
        const T *w = table_.data();
        multiply(y, x, w, w + n_, n_, lines);
        std::fill(y.re + n_ * lines, y.re + count, T(0));
        std::fill(y.im + n_ * lines, y.im + count, T(0));
        const Signal<T> made = inner_->run(y, spare, lines);
        // Exchanging the real and imaginary parts gives the inverse transform.
        multiply(y, made, coarse_.data(), coarse_.data() + size, size, lines);
        const Signal<T> back = inner_->run({y.im, y.re}, spare, lines);
        multiply(x, {back.im, back.re}, w, w + n_, n_, lines);
        return x;
    }

    int64_t n_;
    bool is_line_;
    std::vector<int64_t> factors_;
    std::vector<Stage> stages_;
    Table table_, coarse_, beside_;
    std::unique_ptr<Fourier> inner_;           // for convolutions
    std::unique_ptr<Fourier> rows_, columns_;  // for long lines
};

}  // namespace infini::cpu
