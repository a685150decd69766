// Rules of modules and parameters: names, recordings, lifetimes, errors.
#include "modules.h"

// Parameters with equal full names: the listed one is the loaded one.
class Doubled : public nn::Module {
public:
    Doubled() {
        register_parameter("a.b.scale", nn::Parameter({1}, DataType::F32, Device::cpu()));
        add_module("a.b", std::make_shared<Scale>(2, Device::cpu()));
        auto shorter = std::make_shared<Inner>();
        add_module("a", shorter);
    }

private:
    struct Inner : nn::Module {
        Inner() {
            add_module("b", std::make_shared<Scale>(3, Device::cpu()));
            register_parameter("b.table", nn::Parameter({4}, DataType::F32, Device::cpu()));
        }
    };
};

static int check_doubled_names() {
    Doubled model;
    if (model.state_dict_keys() != std::vector<std::string>{"a.b.scale", "a.b.table"}) return 1;
    if (model.state_dict().at("a.b.scale")->shape() != Shape{1}) return 2;
    model.load_parameter("a.b.scale", counting({1}, 3));
    if (!equal(model.state_dict().at("a.b.scale"), {3})) return 3;
    for (const auto &[name, parameter] : model.state_dict())
        model.load_parameter(name, counting(parameter->shape()));
    return 0;
}

// Weights and tables are available immediately, also while a graph is recorded.
static int check_made_while_recording() {
    Device cpu;
    Tensor x = counting({1, 2}), out = Tensor::zeros({1, 2}, DataType::F32, cpu);
    context::startGraphRecording();
    nn::Parameter weight({2}, DataType::F32, cpu);
    weight.load(counting({2}, 5));
    const bool is_there = reinterpret_cast<const float *>(weight->data())[1] == 6;
    nn::RoPE rope(2, 2, 4, 100.0, nn::RoPE::Algo::GPT_NEOX);
    const bool has_table = reinterpret_cast<const float *>(rope.cos_cache()->data())[0] == 1;
    std::shared_ptr<graph::Graph> graph = context::stopGraphRecording();
    if (!is_there) return 1;
    if (!has_table) return 2;
    graph->run();
    return equal(weight, {5, 6}) ? 0 : 3;
}

static int check_lifetimes() {
    Tensor kept, view;
    {
        Tensor made = counting({2, 2}, 1);
        kept = made->to(Device::cpu());
        view = counting({2, 2}, 7)->to(Device::cpu())->narrow({{0, 1, 1}});
    }
    for (int i = 0; i < 8; ++i) counting({2, 2}, 100);  // reuses freed memory
    if (!equal(kept, {1, 2, 3, 4})) return 1;
    if (!equal(view, {9, 10})) return 2;
    Tensor nothing;
    if (!throws([&] { nothing->to(Device::cpu()); }, {"the handle holds no tensor"})) return 3;
    if (!throws([&] { counting({1})->copy_from(Tensor()); }, {"copy_from: src is empty"})) return 4;
    if (!throws([] { Tensor::empty({1}, DataType::F32, Device(Device::Type::CPU, 4096)); },
                {"CPU:4096"}))
        return 5;
    if (!throws([] { Tensor::empty({1}, DataType::F32, Device(Device::Type::COUNT)); }, {"empty"}))
        return 6;
    return 0;
}

static int check_scaling() {
    auto long_rope = [](size_t count) {
        std::vector<float> factors(count, 2.f);
        auto scaling = std::make_shared<nn::LongRopeScalingConfig>(factors, factors, 8, 2.f);
        nn::RoPE(8, 8, 16, 100.0, nn::RoPE::Algo::GPT_NEOX, DataType::F32, Device::cpu(), scaling);
    };
    long_rope(4);
    for (size_t count : {3, 5})
        if (!throws([&] { long_rope(count); },
                    {"RoPE: scaling has " + std::to_string(count), "expected 4, one for each"}))
            return int(count);
    return 0;
}

static int check_shards() {
    Device cpu;
    if (!throws([&] { nn::Parameter({6}, DataType::F32, cpu, 0, 0, 4, 3); }, {"num_shards is 3"}))
        return 1;
    if (!throws([&] { nn::Parameter({3, 2}, DataType::F32, cpu, 0, 0, 4, 2); }, {"multiple of 2"}))
        return 2;
    nn::Parameter head({2, 1}, DataType::F32, cpu, 0, 3, 4, 2);
    if (!throws([&] { head.load(counting({4, 1})); }, {"[4, 1]: expected [2, 1]", "holds [1, 1]"}))
        return 3;
    return 0;
}

int main() {
    context::setDevice(Device::cpu());
    int (*checks[])() = {check_doubled_names, check_made_while_recording, check_lifetimes,
                         check_scaling, check_shards};
    int number = 0;
    for (auto *check : checks) {
        ++number;
        if (int failed = check()) {
            std::printf("check %d, line %d\n", number, failed);
            return 1;
        }
    }
    std::puts("ok");
}
