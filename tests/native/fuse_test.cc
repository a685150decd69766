// Joined programs give what the two give one after the other.
#include "fuse.h"

#include <infini/backend.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "cpu_driver.h"
#include "infinicore.h"
#include "programs.h"

using namespace infini::op;

namespace {

const InfiniOperators *operators;

void find_operators() {
    static const InfiniHost host = {sizeof(InfiniHost), INFINI_BACKEND_ABI,
                                    [](const char *sentence) { explanation = sentence; }};
    void *library =
        dlopen(library_path("INFINI_CPU_LIBRARY", "/../root/lib/backends/libinfini_cpu.so").c_str(),
               RTLD_NOW | RTLD_LOCAL);
    CHECK(library);
    operators =
        reinterpret_cast<InfiniBackendOpen>(dlsym(library, INFINI_BACKEND_OPEN))(&host)->operators;
    CHECK(operators);
}

struct Matrix {
    Matrix(int64_t rows, int64_t columns, float first)
        : shape{rows, columns}, strides{columns, 1}, values(size_t(rows * columns)) {
        for (size_t i = 0; i < values.size(); ++i)
            values[i] = std::sin(first + float(i)) * (1 + float(i % 7));
    }
    InfiniTensor tensor() const { return {INFINI_DTYPE_F32, 2, shape, strides}; }
    float &at(int64_t row, int64_t column) { return values[size_t(row * shape[1] + column)]; }

    int64_t shape[2], strides[2];
    std::vector<float> values;
};

// The program of an operator with all its optional tensors.
const InfiniProgram &program_of(const char *name) {
    for (size_t i = 0; i < kProgramCaseCount; ++i)
        if (!kProgramCases[i].absent && !std::strcmp(kProgramCases[i].operation, name))
            return *kProgramCases[i].program;
    std::fprintf(stderr, "no program %s\n", name);
    std::abort();
}

// Each matrix is a tensor of the operation and a pointer of the run.
void run(const InfiniProgram &program, const std::vector<Matrix *> &matrices,
         const std::vector<double> &numbers) {
    std::vector<InfiniTensor> tensors;
    std::vector<void *> pointers;
    for (Matrix *matrix : matrices) {
        tensors.push_back(matrix->tensor());
        pointers.push_back(matrix->values.data());
    }
    std::vector<InfiniAttribute> attributes;
    for (double number : numbers) {
        InfiniAttribute attribute{};
        attribute.number = number;
        if (number == std::floor(number))
            attribute.value.i = int64_t(number);
        else
            attribute.value.f = number;
        attributes.push_back(attribute);
    }
    const InfiniOperation operation = {"fused",        tensors.data(),    attributes.data(),
                                       tensors.size(), attributes.size(), &program};
    InfiniPlan *plan = nullptr;
    size_t bytes = 0;
    CHECK_EQ(operators->plan(0, &operation, &plan, &bytes), INFINI_STATUS_SUCCESS);
    std::vector<char> workspace(bytes);
    const InfiniArguments arguments = {pointers.data(), nullptr, pointers.size(), 0,
                                       workspace.data()};
    InfiniWork work{};
    work.kind = INFINI_WORK_KERNEL;
    work.as.kernel = {plan, &arguments};
    OK(driver->submit(0, nullptr, &work, 1));
    OK(driver->stream_synchronize(0, nullptr));
    operators->drop(plan);
}

double silu(double x) { return x / (1 + std::exp(-x)); }

void expect_near(double value, double expected) {
    CHECK(std::fabs(value - expected) <= 1e-5 * (1 + std::fabs(expected)));
}

constexpr int64_t kRows = 37, kColumns = 301;

// silu(output, input), then mul(c, a, b) of it.
void a_map_into_a_map() {
    for (bool keep : {false, true}) {
        Matrix x(kRows, kColumns, 1), b(kRows, kColumns, 2), y(kRows, kColumns, 3);
        Matrix between(kRows, kColumns, 4);
        const float before = between.at(5, 6);
        auto fused = fuse(program_of("silu"), program_of("mul"), {{{0, {1}, keep}}, 2, 2, 0, 0});
        CHECK(fused);
        run(fused->program(), {&between, &x, &y, &between, &b}, {});
        for (int64_t i = 0; i < kRows; ++i)
            for (int64_t j = 0; j < kColumns; ++j)
                expect_near(y.at(i, j), silu(x.at(i, j)) * b.at(i, j));
        expect_near(between.at(5, 6), keep ? silu(x.at(5, 6)) : double(before));
    }
}

// silu, then softmax(y, x; axis), along rows and across.
void a_map_in_front_of_rows() {
    for (int axis : {0, 1}) {
        Matrix x(kRows, kColumns, 1), y(kRows, kColumns, 2), between(kRows, kColumns, 3);
        auto fused =
            fuse(program_of("silu"), program_of("softmax"), {{{0, {1}, true}}, 2, 2, 0, 0});
        CHECK(fused);
        run(fused->program(), {&between, &x, &y, &between}, {double(axis)});
        for (int64_t i = 0; i < kRows; i += 6) {
            for (int64_t j = 0; j < kColumns; j += 50) {
                double sum = 0;
                for (int64_t k = 0; k < (axis ? kColumns : kRows); ++k)
                    sum += std::exp(silu(axis ? x.at(i, k) : x.at(k, j)));
                expect_near(y.at(i, j), std::exp(silu(x.at(i, j))) / sum);
                expect_near(between.at(i, j), silu(x.at(i, j)));
            }
        }
    }
}

// softmax, then mul.
void a_map_behind_rows() {
    Matrix x(kRows, kColumns, 1), b(kRows, kColumns, 2), y(kRows, kColumns, 3);
    Matrix between(kRows, kColumns, 4);
    auto fused = fuse(program_of("softmax"), program_of("mul"), {{{0, {2}, false}}, 2, 2, 1, 0});
    CHECK(fused);
    run(fused->program(), {&between, &x, &y, &b, &between}, {1.0});
    for (int64_t i = 0; i < kRows; ++i) {
        double sum = 0;
        for (int64_t k = 0; k < kColumns; ++k) sum += std::exp(double(x.at(i, k)));
        for (int64_t j = 0; j < kColumns; ++j)
            expect_near(y.at(i, j), std::exp(double(x.at(i, j))) / sum * b.at(i, j));
    }
}

// Both read of one tensor: mul(c, a, a). And three programs in a row.
void twice_and_thrice() {
    Matrix x(kRows, kColumns, 1), y(kRows, kColumns, 2), between(kRows, kColumns, 3);
    auto square = fuse(program_of("silu"), program_of("mul"), {{{0, {1, 2}, false}}, 2, 2, 0, 0});
    CHECK(square);
    run(square->program(), {&between, &x, &y, &between, &between}, {});
    expect_near(y.at(3, 4), silu(x.at(3, 4)) * silu(x.at(3, 4)));

    Matrix z(kRows, kColumns, 4);
    auto third = fuse(square->program(), program_of("tanh"), {{{2, {1}, false}}, 5, 5, 0, 0});
    CHECK(third);
    run(third->program(), {&between, &x, &y, &between, &between, &z, &y}, {});
    expect_near(z.at(3, 4), std::tanh(silu(x.at(3, 4)) * silu(x.at(3, 4))));
}

void what_cannot_be_joined() {
    // Neither is a map; the first does not write the tensor.
    CHECK(!fuse(program_of("softmax"), program_of("softmax"), {{{0, {1}, false}}, 2, 2, 1, 0}));
    CHECK(!fuse(program_of("silu"), program_of("mul"), {{{1, {1}, false}}, 2, 2, 0, 0}));
}

}  // namespace

int main() {
    open_driver();
    find_operators();
    RUN(a_map_into_a_map);
    RUN(a_map_in_front_of_rows);
    RUN(a_map_behind_rows);
    RUN(twice_and_thrice);
    RUN(what_cannot_be_joined);
}
