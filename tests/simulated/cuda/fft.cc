// A libcufft look-alike: transforms by their definition, with strict argument checks. It rejects
// what the library would reject, or compute wrongly.
#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <vector>

#include "beside.h"

namespace {

constexpr int kSuccess = 0, kInvalidPlan = 1, kInvalidValue = 4, kFailed = 6;
constexpr int kC2C = 0x29, kR2C = 0x2a, kC2R = 0x2c, kZ2Z = 0x69, kD2Z = 0x6a, kZ2D = 0x6c;

struct Lines {
    int type = 0;  // 0: not made yet
    bool allocates = true;
    long long n = 0, batch = 0;     // n: of the last dimension; batch: lines of all others
    std::vector<long long> others;  // sizes of transformed dimensions before the last
    void *stream = nullptr, *area = nullptr;
    size_t bytes = 0;
};

std::mutex lock;
std::map<int, Lines> plans;
int last = 0;

int wrong(const char *sentence, int status = kInvalidValue) {
    std::fprintf(stderr, "simulated cuFFT: %s\n", sentence);
    return status;
}

Lines *find(int plan) {
    const auto found = plans.find(plan);
    return found == plans.end() ? nullptr : &found->second;
}

// In the stream's order; in a capture it becomes a node, which may run many times, so it is kept.
int enqueue(void *stream, const char *name, std::function<void()> work) {
    if (std::getenv("INFINI_SIMULATED_TRACE"))
        std::fprintf(stderr, "simulated cuFFT: calls %s\n", name);
    using Launch = int (*)(void *, void (*)(void *), void *);
    static void *const library = open_runtime();
    static const auto launch =
        library ? reinterpret_cast<Launch>(dlsym(library, "cudaLaunchHostFunc")) : nullptr;
    static auto &kept = *new std::list<std::function<void()>>;
    if (!launch) return wrong("there is no runtime", kFailed);
    kept.push_back(std::move(work));
    auto call = [](void *data) { (*static_cast<std::function<void()> *>(data))(); };
    return launch(stream, call, &kept.back()) == 0 ? kSuccess : kFailed;
}

using Complex = std::complex<double>;

std::vector<Complex> roots_of(long long n, int direction) {
    std::vector<Complex> roots;
    for (long long k = 0; k < n; ++k)
        roots.push_back(std::polar(1.0, direction * 2 * M_PI * double(k) / double(n)));
    return roots;
}

// Along a dimension of n blocks of `inner` elements.
void transform_blocks(std::vector<Complex> &data, long long n, long long inner, int direction) {
    const auto roots = roots_of(n, direction), given = data;
    for (size_t i = 0; i < data.size(); ++i) {
        const long long at = static_cast<long long>(i), j = at / inner % n;
        const long long first = at - j * inner;
        data[i] = 0;
        for (long long k = 0; k < n; ++k)
            data[i] += given[size_t(first + k * inner)] * roots[size_t(j * k % n)];
    }
}

// T: numbers. In and out have the numbers of a line that the library would read and write.
template <class T>
void transform(const Lines &lines, const T *from, T *to, int direction) {
    const long long n = lines.n, half = n / 2 + 1;
    const bool from_real = lines.type == kR2C || lines.type == kD2Z;
    const bool to_real = lines.type == kC2R || lines.type == kZ2D;
    const long long given = to_real ? half : n, made = from_real ? half : n;
    std::vector<Complex> all(size_t(lines.batch * given)), x(static_cast<size_t>(n));
    for (size_t i = 0; i < all.size(); ++i)
        all[i] = from_real ? Complex(double(from[i]))
                           : Complex(double(from[2 * i]), double(from[2 * i + 1]));
    long long inner = given;
    for (size_t i = lines.others.size(); i-- > 0; inner *= lines.others[i])
        transform_blocks(all, lines.others[i], inner, direction);
    const auto roots = roots_of(n, direction);
    for (long long line = 0; line < lines.batch; ++line) {
        for (long long k = 0; k < n; ++k) {
            Complex &z = x[static_cast<size_t>(k)];
            z = all[size_t(line * given + (to_real ? std::min(k, n - k) : k))];
            if (to_real && 2 * k > n) z = std::conj(z);
            if (to_real && (k == 0 || 2 * k == n)) z = z.real();
        }
        for (long long j = 0; j < made; ++j) {
            Complex sum = 0;
            for (long long k = 0; k < n; ++k)
                sum += x[static_cast<size_t>(k)] * roots[static_cast<size_t>(j * k % n)];
            const long long at = line * made + j;
            if (to_real)
                to[at] = T(sum.real());
            else
                to[2 * at] = T(sum.real()), to[2 * at + 1] = T(sum.imag());
        }
    }
    // The library may use its input as workspace.
    if (to_real)
        for (long long i = 0; i < 2 * half * lines.batch; ++i) const_cast<T *>(from)[i] = T(NAN);
}

template <class T>
int execute(int plan, int type, const char *name, T *from, T *to, int direction) {
    const std::lock_guard guard(lock);
    const Lines *lines = find(plan);
    if (!lines || lines->type != type) return wrong("a plan of another type", kInvalidPlan);
    if (lines->bytes && !lines->area) return wrong("a plan without a work area");
    if (reinterpret_cast<uintptr_t>(from) % (2 * sizeof(T)) ||
        reinterpret_cast<uintptr_t>(to) % (2 * sizeof(T)))
        return wrong("an address is not aligned");
    if (direction != -1 && direction != 1) return wrong("a direction");
    return enqueue(lines->stream, name, [lines = *lines, from, to, direction] {
        transform(lines, from, to, direction);
        for (size_t i = 0; i < lines.bytes; ++i) static_cast<char *>(lines.area)[i] = -1;
    });
}

}  // namespace

extern "C" {

int cufftCreate(int *plan) {
    const std::lock_guard guard(lock);
    plans[ *plan = ++last] = {};
    return kSuccess;
}
int cufftDestroy(int plan) {
    const std::lock_guard guard(lock);
    return plans.erase(plan) ? kSuccess : wrong("no such plan", kInvalidPlan);
}
int cufftSetAutoAllocation(int plan, int is_automatic) {
    const std::lock_guard guard(lock);
    Lines *lines = find(plan);
    if (!lines || lines->type) return wrong("no such plan, or it is made", kInvalidPlan);
    lines->allocates = is_automatic != 0;
    return kSuccess;
}
int cufftMakePlanMany64(int plan, int rank, long long *n, long long *in, long long, long long,
                        long long *out, long long, long long, int type, long long batch,
                        size_t *bytes) {
    const std::lock_guard guard(lock);
    Lines *lines = find(plan);
    if (!lines || lines->type) return wrong("no such plan, or it is made", kInvalidPlan);
    if (lines->allocates) return wrong("the work area should be the caller's");
    const bool from_real = type == kR2C || type == kD2Z, to_real = type == kC2R || type == kZ2D;
    if (!from_real && !to_real && type != kC2C && type != kZ2Z) return wrong("a type");
    if (rank < 1 || rank > 3 || batch < 1 || in || out) return wrong("a layout");
    for (int i = 0; i < rank; ++i) {
        if (n[i] < 1) return wrong("a size");
        if (i < rank - 1) lines->others.push_back(n[i]);
    }
    lines->type = type, lines->n = n[rank - 1], lines->batch = batch;
    for (const long long size : lines->others) lines->batch *= size;
    *bytes = lines->bytes = lines->n % 2 ? 0 : 64;  // some need no work area
    return kSuccess;
}
int cufftSetStream(int plan, void *stream) {
    const std::lock_guard guard(lock);
    Lines *lines = find(plan);
    if (!lines) return wrong("no such plan", kInvalidPlan);
    lines->stream = stream;
    return kSuccess;
}
int cufftSetWorkArea(int plan, void *area) {
    const std::lock_guard guard(lock);
    Lines *lines = find(plan);
    if (!lines) return wrong("no such plan", kInvalidPlan);
    lines->area = area;
    return kSuccess;
}

int cufftExecC2C(int plan, float *from, float *to, int direction) {
    return execute(plan, kC2C, "ExecC2C", from, to, direction);
}
int cufftExecZ2Z(int plan, double *from, double *to, int direction) {
    return execute(plan, kZ2Z, "ExecZ2Z", from, to, direction);
}
int cufftExecR2C(int plan, float *from, float *to) {
    return execute(plan, kR2C, "ExecR2C", from, to, -1);
}
int cufftExecD2Z(int plan, double *from, double *to) {
    return execute(plan, kD2Z, "ExecD2Z", from, to, -1);
}
int cufftExecC2R(int plan, float *from, float *to) {
    return execute(plan, kC2R, "ExecC2R", from, to, 1);
}
int cufftExecZ2D(int plan, double *from, double *to) {
    return execute(plan, kZ2D, "ExecZ2D", from, to, 1);
}

}  // extern "C"
