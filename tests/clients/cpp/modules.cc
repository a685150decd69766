// A tree of modules as engines write it: macros, dotted names, slices of parameters, loading.
#include "modules.h"

// A fused weight whose parts are loaded under their own names, as strided views.
class Attention : public nn::Module {
public:
    explicit Attention(size_t size) {
        fused_ = Tensor::zeros({3 * size, size}, DataType::F32, Device::cpu());
        const char *names[] = {"q_proj.weight", "k_proj.weight", "v_proj.weight"};
        for (size_t i = 0; i < 3; ++i)
            register_parameter(names[i],
                               nn::Parameter(fused_->narrow({{0, i * size, size}}), 0, 0, 1));
        columns_ = Tensor::zeros({2, 4}, DataType::F32, Device::cpu());
        register_parameter("columns", nn::Parameter(columns_->narrow({{1, 1, 2}}), Size(-1)));
    }
    Tensor fused() const { return fused_; }
    Tensor columns() const { return columns_; }
    void forget() { parameters_.clear(); }

private:
    Tensor fused_, columns_;
};

class Model : public nn::Module {
public:
    Model() {
        INFINICORE_NN_MODULE_INIT(norm, 2, 1e-6, DataType::F32, Device::cpu());
        INFINICORE_NN_MODULE_VEC_INIT(scales, 2, Scale, 3, Device::cpu());
        attention_ = this->register_module<Attention>("layers.0", 2);
        shallow_ = add_module("layers", std::make_shared<Scale>(1, Device::cpu()));
    }
    INFINICORE_NN_MODULE(nn::RMSNorm, norm);
    INFINICORE_NN_MODULE_VEC(Scale, scales);
    INFINICORE_NN_MODULE(Attention, attention);
    INFINICORE_NN_MODULE(Scale, shallow);
    void add_nothing() { add_module("nothing", std::shared_ptr<Scale>()); }
};

static int check_tree() {
    Model model;
    std::vector<std::string> expected = {"layers.0.columns",       "layers.0.k_proj.weight",
                                         "layers.0.q_proj.weight", "layers.0.v_proj.weight",
                                         "layers.scale",           "norm.weight",
                                         "scales.0.scale",         "scales.1.scale"};
    if (model.state_dict_keys() != expected || model.state_dict().size() != 8) return 1;
    auto modules = model.modules_dict();
    if (modules.size() != 5 || modules.at("scales.1") != model.scales_[1].get()) return 2;
    if (model.children().size() != 5 || !model.children().count("layers.0")) return 3;
    for (auto &child : model.children()) child.second->process_weights_after_loading();
    if (model.scales_[0]->processed != 1) return 4;
    model.reset_runtime_state();
    if (model.scales_[0]->table()->shape() != Shape{3, 2}) return 5;

    // Of the children "layers" and "layers.0" the longer name is tried first.
    model.load_parameter("layers.0.k_proj.weight", counting({2, 2}));
    if (!equal(model.attention_->fused(), {0, 0, 0, 0, 0, 1, 2, 3, 0, 0, 0, 0})) return 6;
    model.load_parameter_("layers.0.columns", counting({2, 2}, 1));
    if (!equal(model.attention_->columns(), {0, 1, 2, 0, 0, 3, 4, 0})) return 7;
    float blob[] = {5};
    model.load_parameter_from_blob("layers.scale", blob);
    if (!equal(model.shallow_->scale(), {5})) return 8;
    model.load_state_dict({{"norm.weight", counting({2}, 3)}, {"scales.1.scale", counting({3})}});
    if (!equal(model.norm_->weight(), {3, 4}) || !equal(model.scales_[1]->scale(), {0, 1, 2}))
        return 9;
    if (!equal(model.state_dict().at("norm.weight"), {3, 4})) return 10;
    if (!throws([&] { model.add_nothing(); }, {"\"nothing\" is null"})) return 11;
    model.attention_->forget();
    if (model.state_dict().size() != 4) return 12;
    return 0;
}

static int check_errors() {
    Model model;
    if (!throws([&] { model.load_parameter("norm.weigth", counting({2})); },
                {"Module::load_parameter: ", "\"norm.weigth\"", "\"norm.weight\""}))
        return 1;
    if (!throws([&] { model.load_state_dict({{"bias", counting({2})}}); },
                {"Module::load_state_dict: ", "\"bias\""}))
        return 2;
    if (!throws([&] { model.load_parameter("layers.0.q_proj.weight", counting({2, 3})); },
                {"\"layers.0.q_proj.weight\": ", "[2, 3]: expected [2, 2]"}))
        return 3;
    Tensor whole = Tensor::zeros({2}, DataType::I32, Device::cpu());
    if (!throws([&] { model.load_parameter("norm.weight", whole); },
                {"\"norm.weight\": ", "I32: expected F32"}))
        return 4;
    if (!throws([&] { model.load_parameter("norm.weight", Tensor()); }, {"\"norm.weight\": "}))
        return 5;

    std::unordered_map<std::string, Tensor> mixed = {{"norm.weight", counting({2}, 7)},
                                                     {"other", counting({1})}};
    if (!throws([&] { model.load_parameters_no_sync(mixed); },
                {"Module::load_parameters_no_sync: ", "\"other\""}))
        return 6;
    model.load_parameters_no_sync(mixed, false);
    context::syncStream();
    if (!equal(model.norm_->weight(), {7, 8})) return 7;
    if (!throws([&] { model.load_parameters_no_sync({{"norm.weight", counting({3})}}, false); },
                {"\"norm.weight\": "}))
        return 8;
    return 0;
}

static int check_slices() {
    Tensor whole = counting({4, 6});
    Device cpu;
    nn::Parameter rows({4, 6}, DataType::F32, cpu, 0, 1, 2);
    if (rows->shape() != Shape{2, 6}) return 1;
    rows.load(whole);
    if (!equal(rows, {12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23})) return 2;
    nn::Parameter columns({4, 6}, DataType::F32, cpu, 1, 2, 3);
    columns.load_no_sync(whole);
    if (!equal(columns, {4, 5, 10, 11, 16, 17, 22, 23})) return 3;
    columns.load_blob(counting({4, 6}, 1)->data());
    if (!equal(columns, {5, 6, 11, 12, 17, 18, 23, 24})) return 4;

    // Two heads for four ranks: neighbours share one. With more heads than ranks all have their own.
    for (Size rank = 0; rank < 4; ++rank) {
        nn::Parameter head({2, 3}, DataType::F32, cpu, 0, rank, 4, 2);
        head.load(counting({2, 3}));
        float first = rank < 2 ? 0.f : 3.f;
        if (!equal(head, {first, first + 1, first + 2})) return 5;
        nn::Parameter own({8}, DataType::F32, cpu, 0, rank, 4, 8);
        own.load(counting({8}));
        if (!equal(own, {float(2 * rank), float(2 * rank + 1)})) return 6;
    }

    nn::Parameter scale({4, 1}, DataType::F32, cpu, 0, 1, 2);
    scale.load(counting({1, 4}));
    if (!equal(scale, {2, 3})) return 7;
    nn::Parameter copy = scale, none;
    copy = rows;
    if (copy.impl() != rows.impl() || none || !none.empty()) return 8;
    copy.load(counting({4, 6}, 1));
    if (!equal(rows->narrow({{0, 0, 1}}), {13, 14, 15, 16, 17, 18})) return 9;
    if (!throws([&] { none.load(whole); }, {"Parameter::load: "})) return 10;
    if (!throws([&] { rows.load(counting({2, 6})); }, {"expected [4, 6]", "holds [2, 6]"}))
        return 11;
    if (!throws([&] { nn::Parameter({4, 6}, DataType::F32, cpu, 1, 0, 4); }, {"multiple of 4"}))
        return 12;
    if (!throws([&] { nn::Parameter({4}, DataType::F32, cpu, 0, 2, 2); }, {"tp_rank is 2"}))
        return 13;
    if (!throws([&] { nn::Parameter({4}, DataType::F32, cpu, 1, 0, 2); }, {"tp_dim is 1"}))
        return 14;
    return 0;
}

static int check_layers() {
    Device cpu;
    nn::RMSNorm norm(2, 0.0);
    norm.load_parameter("weight", counting({2}, 1));
    Tensor x = Tensor::empty({1, 2}, DataType::F32, cpu), residual;
    x->copy_from(counting({1, 2}, 3));
    Tensor before = x;
    norm.forward_inplace(x, residual);  // the residual is unset
    float size = std::sqrt((9.f + 16.f) / 2);
    if (residual.impl() != before.impl() || x.impl() == before.impl()) return 1;
    if (!equal(residual, {3, 4}) || !equal(x, {3 / size, 8 / size})) return 2;
    x->copy_from(counting({1, 2}, 1));
    before = x;
    norm.forward_inplace(x, residual);
    size = std::sqrt((16.f + 36.f) / 2);
    if (x.impl() != before.impl() || !equal(residual, {4, 6})) return 3;
    if (!equal(x, {4 / size, 12 / size}) || !equal(norm.forward(residual), {4 / size, 12 / size}))
        return 4;
    if (norm.normalized_shape() != 2 || norm.eps() != 0 || norm.dtype() != DataType::F32) return 5;
    if (norm.extra_repr() != "RMSNorm(2, eps=0, dtype=F32)") return 6;

    nn::LayerNorm layer_norm(2, 0.0);
    layer_norm.load_state_dict({{"weight", counting({2}, 2)}, {"bias", counting({2}, 5)}});
    if (!equal(layer_norm.forward(counting({1, 2})), {3, 9})) return 7;
    if (!layer_norm.weight() || !layer_norm.bias()) return 8;

    nn::Embedding embedding(3, 2, 0);
    embedding.load_parameter("weight", counting({3, 2}));
    Tensor indices = Tensor::empty({1, 2}, DataType::I64, cpu);
    reinterpret_cast<int64_t *>(indices->data())[0] = 2;
    reinterpret_cast<int64_t *>(indices->data())[1] = 0;
    Tensor rows = embedding.forward(indices);
    if (rows->shape() != Shape{1, 2, 2} || !equal(rows, {4, 5, 0, 1})) return 9;
    if (embedding.padding_idx() != 0 || embedding.num_embeddings() != 3) return 10;
    if (!throws([] { nn::Embedding(3, 2, 3); }, {"padding_idx is 3"})) return 11;

    nn::Linear linear(2, 3);
    linear.load_state_dict({{"weight", counting({3, 2})}, {"bias", counting({3}, 10)}});
    Tensor input = counting({1, 1, 2}, 1);
    if (!equal(linear.forward(input), {12, 19, 26})) return 12;
    Tensor more = counting({1, 1, 3});
    if (!equal(linear.BaseLinear::forward(input, more), {12, 20, 28})) return 13;
    linear.set_alpha(2);
    if (!equal(linear.forward(input), {14, 27, 40}) || linear.alpha() != 2) return 14;
    if (linear.weight_scale() || linear.gidx() || !linear.has_bias()) return 15;
    if (linear.get_quantization()->get_quant_scheme() != quantization::QuantScheme::NONE) return 16;
    if (!throws([&] { linear.forward(counting({1, 3})); }, {"linear: ", "rows of 2"})) return 17;
    nn::ColumnParallelLinear column(2, 4, nullptr, true, DataType::F32, cpu, 1, 2);
    column.load_state_dict({{"weight", counting({4, 2})}, {"bias", counting({4})}});
    if (!equal(column.forward(counting({1, 2})), {5 + 2, 7 + 3})) return 18;
    std::vector<float> sum(2);
    for (Size rank = 0; rank < 2; ++rank) {
        nn::RowParallelLinear row(4, 2, true, DataType::F32, cpu, rank, 2);
        row.load_state_dict({{"weight", counting({2, 4})}, {"bias", counting({2}, 1)}});
        Tensor part = row.forward(counting({1, 4})->narrow({{1, 2 * rank, 2}}));
        context::syncStream();
        for (size_t i = 0; i < 2; ++i) sum[i] += reinterpret_cast<float *>(part->data())[i];
    }
    if (sum[0] != 14 + 1 || sum[1] != 38 + 2) return 19;  // the bias is added once
    return 0;
}

// A step of a model: recorded once, replayed with other values in the same tensors.
static int check_graph() {
    Device cpu;
    nn::RMSNorm norm(4);
    nn::Linear linear(4, 8, false);
    nn::RoPE rope(4, 4, 16, 100.0, nn::RoPE::Algo::GPT_NEOX);
    norm.load_parameter("weight", counting({4}, 1));
    linear.load_parameter("weight", counting({8, 4}, -16));
    Tensor x = counting({3, 4}), positions = Tensor::zeros({3}, DataType::I64, cpu);
    auto step = [&] {
        Tensor hidden = x, residual;
        norm.forward_inplace(hidden, residual);
        Tensor heads = linear.forward(hidden)->view({3, 2, 4});
        rope.forward(heads, positions, true);
        Tensor out = heads->view({3, 8})->narrow({{1, 2, 4}});
        norm.forward_inplace(out, residual);
        return residual;
    };
    step();
    context::startGraphRecording();
    Tensor recorded = step();
    std::shared_ptr<graph::Graph> graph = context::stopGraphRecording();
    for (float start : {1.f, 5.f}) {
        x->copy_from(counting({3, 4}, start));
        reinterpret_cast<int64_t *>(positions->data())[1] = int64_t(start);
        graph->run();
        Tensor replayed = Tensor::empty({3, 4}, DataType::F32, cpu);
        replayed->copy_from(recorded);
        x->copy_from(counting({3, 4}, start));  // the step changes it
        Tensor expected = step();
        context::syncStream();
        auto *values = reinterpret_cast<float *>(expected->data());
        if (!equal(replayed, std::vector<float>(values, values + 12))) return int(start);
    }
    return 0;
}

int main() {
    context::setDevice(Device::cpu());
    int (*checks[])() = {check_tree, check_errors, check_slices, check_layers, check_graph};
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
