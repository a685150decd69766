// Random records give the same results when fused: maps, norms, folds and products over random
// views, some in place.
#include "core_fuse.h"
#include "seed.h"

namespace {

void random_records() {
    size_t recorded = 0, left = 0;
    for (unsigned number = 0; number < 400; ++number) {
        Record r(random_numbers(number)());
        static const size_t sizes[] = {1, 2, 3, 5, 8, 16, 33, 130};
        const ic::Shape shape = {sizes[r.draw(6)], sizes[r.draw(6)], sizes[r.draw(8)]};
        const ic::Shape flat = {shape[0] * shape[1], shape[2]};
        auto strided = [&] {  // a random memory order
            ic::Shape order = {0, 1, 2};
            std::shuffle(order.begin(), order.end(), r.random);
            ic::Shape stored = {shape[order[0]], shape[order[1]], shape[order[2]]};
            Tensor made = r.input(stored);
            ic::Shape back(3);
            for (size_t i = 0; i < 3; ++i) back[order[i]] = i;
            return made->permute(back);
        };
        std::vector<Tensor> pool = {r.input(shape), strided(), r.input(shape),
                                    Record::spread(r.input({shape[2]}), shape),
                                    Record::spread(r.input({}), shape)};
        const size_t inputs = pool.size();
        Tensor weight = r.input({shape[2]}), square = r.input({shape[2], shape[2]});
        auto pick = [&] { return pool[size_t(r.draw(int(pool.size())))]; };
        auto late = [&] {  // preferably a new one
            return r.draw(3) ? pool.back() : pick();
        };
        static const char *const unary[] = {"tanh", "sigmoid", "abs", "neg", "relu", "silu"};
        static const char *const binary[] = {"add", "sub", "mul", "maximum", "minimum"};
        const int steps = 3 + r.draw(10);
        size_t count = 0;
        for (int s = 0; s < steps; ++s, ++count) {
            switch (r.draw(13)) {
                case 0:
                    pool.push_back(r.softmax(late(), r.draw(3)));
                    break;
                case 1:
                    if (late()->stride(2) == 1 || shape[2] == 1)
                        pool.push_back(r.rms_norm(r.map("tanh", {late()}), weight)), ++count;
                    break;
                case 2: {
                    Tensor x = r.map("tanh", {late()});
                    Tensor y = r.gemm(x->view(flat), square, 0.125);
                    pool.push_back(y->view(shape));
                    ++count;
                    break;
                }
                case 3: {  // in place, in memory without repetition
                    Tensor x = pool[size_t(r.draw(3))];
                    if (r.draw(2) && pool.size() > inputs) x = pool.back();
                    r.record(unary[r.draw(2)], {x, x});
                    break;
                }
                case 4: {
                    Tensor x = pool[size_t(r.draw(3))];
                    r.record("tanh", {x, late()});
                    break;
                }
                case 5: {
                    Tensor x = late(), y = pick(), z = r.result(shape);
                    Tensor less = r.map("less", {x, y}, DataType::BOOL);
                    r.record("where", {z, less, y, x});
                    pool.push_back(z);
                    ++count;
                    break;
                }
                case 6: {  // through another view
                    Tensor x = r.map("neg", {late()});
                    Tensor y = r.map("sigmoid", {x->view(flat)});
                    pool.push_back(y->view(shape));
                    ++count;
                    break;
                }
                case 7: {
                    const size_t dim = size_t(r.draw(3));
                    Tensor x = r.map("tanh", {r.sum(late(), dim, true)});
                    ic::Strides strides = x->strides();
                    strides[dim] = 0;
                    pool.push_back(
                        r.map("mul", {pick(), x->view_as(shape, strides, x->dtype(), 0)}));
                    count += 2;
                    break;
                }
                case 8: {
                    Tensor x = r.result(shape);
                    r.record("rearrange", {x, late()});
                    pool.push_back(x);
                    break;
                }
                case 9:
                    pool.push_back(r.map(unary[r.draw(6)], {late()}));
                    break;
                default:
                    pool.push_back(r.map(binary[r.draw(5)], {late(), pick()}));
            }
        }
        std::vector<Tensor> wanted = {pool.back()};
        for (size_t i = inputs; i < pool.size(); ++i)
            if (r.draw(4) == 0) wanted.push_back(pool[i]);
        std::erase_if(wanted, [](const Tensor &t) {
            return !dynamic_cast<icd::OpenMemory *>(t->memory().get());
        });
        left += r.compare(wanted, 1e-4).size();
        recorded += count;
    }
    std::printf("  %zu steps became %zu\n", recorded, left);
    CHECK(left < recorded * 3 / 4);
}

}  // namespace

int main() { RUN(random_records); }
