// Quantisation configurations from nlohmann::json, as engines pass them.
#include <cstdio>
#include <infinicore/nn.hpp>
#include <infinicore/quantization.hpp>

using namespace infinicore::quantization;

int main() {
    nlohmann::json config = nlohmann::json::parse(R"({
        "quant_method": "awq", "bits": 4, "group_size": 64, "zero_point": true, "scale": 0.5,
        "version": null, "modules_to_not_convert": ["lm_head", "gate"], "nested": {"a": 1}})");
    std::shared_ptr<BaseQuantization> made = std::make_shared<AWQ>(config);
    if (made->get_quant_scheme() != QuantScheme::AWQ_W4A16) return 1;
    AWQ awq(config);
    if (awq.get_packing_num() != 8 || awq.get_group_size() != 64) return 2;
    if (awq.get<std::string>("quant_method") != "awq" || !awq.get<bool>("zero_point")) return 3;
    if (awq.get<double>("scale") != 0.5 || awq.get<int64_t>("bits") != 4) return 4;
    if (awq.get<std::vector<std::string>>("modules_to_not_convert").at(1) != "gate") return 5;
    if (awq.get<nlohmann::json>("nested").at("a") != 1) return 6;
    if (awq.get_or<int>("absent", 7) != 7 || awq.get_or<int>("version", 8) != 8) return 7;
    if (awq.get_or<int>("quant_method", 9) != 9) return 8;
    try {
        awq.get<int>("absent");
        return 9;
    } catch (const std::out_of_range &) {
    }
    try {
        awq.get<bool>("bits");
        return 10;
    } catch (const std::runtime_error &) {
    }
    if (NoneQuantization(nullptr).get_quant_scheme() != QuantScheme::NONE) return 11;
    if (GPTQ(nlohmann::json()).get_group_size() != 128) return 12;
    auto ordered = nlohmann::ordered_json::parse(R"({"group_size": -1})");
    if (GPTQ_QY(ordered).get_group_size() != -1) return 13;
    if (CompressedTensors(config).get_quant_scheme() != QuantScheme::COMPRESSED_TENSOR_W8A8I8)
        return 14;
    infinicore::nn::Linear layer(64, 16, std::make_shared<AWQ>(config), false,
                                 infinicore::DataType::F16);
    if (layer.weight()->shape() != infinicore::Shape{64, 2}) return 15;
    std::puts("ok");
}
