// Concurrent requests for one kernel, with a compiler and a driver that are controlled here.
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "kernel_loader.h"
#include "libraries.h"

namespace infini::cuda {
namespace {

std::atomic<int> compiled{0};
std::string refusal;  // the compiler's; empty: none
int load_code = 0;    // the driver's

int load(void **module, const void *) { return *module = &load_code, load_code; }
int get_function(void **function, void *module, const char *) { return *function = module, 0; }
int set_attribute(void *, int, int) { return 0; }
int launch(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
           void **, void **) {
    return 0;
}

}  // namespace

void *find(Part, const char *word) {
    const std::string name = word;
    if (name == "ModuleLoadData") return reinterpret_cast<void *>(&load);
    if (name == "ModuleGetFunction") return reinterpret_cast<void *>(&get_function);
    if (name == "FuncSetAttribute") return reinterpret_cast<void *>(&set_attribute);
    return name == "LaunchKernel" ? reinterpret_cast<void *>(&launch) : nullptr;
}
const char *problem(Part) { return nullptr; }
Error check(Part, int code, const char *) { return Error(code); }
void use_device(int) {}

Device::Device(int index) : index(index) {}
Compilation::Compilation(const Source &source, const Device &) : source(source), key{} {}
bool Compilation::load_image(std::vector<char> &) const { return false; }
std::vector<char> Compilation::make() const {
    ++compiled;
    if (!refusal.empty()) throw Refusal{INFINI_STATUS_INTERNAL_ERROR, refusal};
    return {'c'};
}
Cache::Cache() {}
const Cache &Cache::get() {
    static const Cache cache;
    return cache;
}
bool Cache::load(const Key &, std::vector<char> &) const { return false; }

namespace {

void expect(bool condition, int line) {
    if (condition) return;
    std::printf("line %d\n", line);
    std::exit(1);
}
#define EXPECT(condition) expect(condition, __LINE__)

template <class F>
std::string said(F finish) try {
    finish();
    return "";
} catch (const Refusal &refused) {
    return refused.sentence;
}

struct Tried {
    Device device{0};
    LoadedKernel kernel{Source("a.cuh"), device};

    std::string finish(const LoadedKernel::Begun &begun) {
        return said([&] { kernel.finish(begun.attempt); });
    }
};

void late_ones_have_the_result_of_what_they_joined() {
    Tried t;
    const auto first = t.kernel.begin(), joined = t.kernel.begin();
    EXPECT(first.is_mine && !joined.is_mine && joined.attempt == first.attempt);
    refusal = "the first";
    first.attempt->compile();
    EXPECT(t.finish(first) == "the first");
    const auto again = t.kernel.begin();
    EXPECT(again.is_mine && again.attempt != first.attempt);
    EXPECT(t.finish(joined) == "the first");
    // This does not affect the callers that try again.
    const auto third = t.kernel.begin();
    EXPECT(!third.is_mine && third.attempt == again.attempt);
    refusal = "";
    again.attempt->compile();
    EXPECT(t.finish(third).empty() && t.finish(again).empty() && t.finish(joined).empty());
    EXPECT(!t.kernel.begin().attempt);
}

void a_failure_that_nobody_was_told_of() {
    Tried t;
    refusal = "nobody hears it";
    t.kernel.begin().attempt->compile();
    refusal = "";
    const auto next = t.kernel.begin();
    EXPECT(next.is_mine);
    next.attempt->compile();
    EXPECT(t.finish(next).empty());
}

void a_driver_that_refuses_once() {
    Tried t;
    load_code = 2;
    EXPECT(said([&] { t.kernel.finish(); }).find("cannot be loaded: code 2") != std::string::npos);
    load_code = 0;
    EXPECT(said([&] { t.kernel.finish(); }).empty());
}

void threads_compile_it_once() {
    Tried t;
    compiled = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) threads.emplace_back([&] { t.kernel.finish(); });
    for (std::thread &thread : threads) thread.join();
    EXPECT(compiled == 1);
}

void a_plan_waits_for_its_kernels() {
    Device device(0);
    const auto good = std::make_shared<LoadedKernel>(Source("a.cuh"), device);
    const auto bad = std::make_shared<LoadedKernel>(Source("b.cuh"), device);
    {
        CompileTogether plan;
        EXPECT(CompileTogether::add(good));
        plan.finish();
        EXPECT(!good->begin().attempt);
    }
    refusal = "not this one";
    CompileTogether plan;
    EXPECT(CompileTogether::add(good) && CompileTogether::add(bad));
    EXPECT(said([&] { plan.finish(); }) == "not this one");
    refusal = "";
}

}  // namespace
}  // namespace infini::cuda

int main() {
    using namespace infini::cuda;
    late_ones_have_the_result_of_what_they_joined();
    a_failure_that_nobody_was_told_of();
    a_driver_that_refuses_once();
    threads_compile_it_once();
    a_plan_waits_for_its_kernels();
}
