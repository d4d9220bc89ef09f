#include "datasets/zoo/hub_quantized.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>

#include "src/core/printable.h"

namespace foretell::zoo {
namespace {

using QuantizedJson = nlohmann::json;

template <typename T>
T QuantizedKey(const QuantizedJson& config, const char* key, const T& absent) {
  const auto found = config.find(key);
  if (found == config.end()) return absent;
  const bool fits = QuantizedJson(absent).type() == found->type() ||
                    (found->is_number() && QuantizedJson(absent).is_number());
  return fits ? found->get<T>() : absent;
}

std::string BitsandbytesFlag(const QuantizedJson& config) {
  if (!QuantizedKey(config, "load_in_4bit", false)) return "int8";
  const auto type =
      QuantizedKey<std::string>(config, "bnb_4bit_quant_type", "fp4");
  const bool is_nested =
      QuantizedKey(config, "bnb_4bit_use_double_quant", false);
  return (type == "nf4" ? "nf4" : "fp4") +
         std::string(is_nested ? ",double" : "");
}

std::string GroupedFlag(std::string_view name, const QuantizedJson& config) {
  const int group = QuantizedKey(config, "group_size", 128);
  const int bits = name == "awq" ? 4 : QuantizedKey(config, "bits", 4);
  return fmt::format("{}:{},group={}", name, bits, group);
}

/// compressed-tensors: by the first group's weights.
std::string CompressedFlag(const QuantizedJson& config) {
  const auto groups = config.find("config_groups");
  if (groups == config.end() || !groups->is_object() || groups->empty() ||
      !groups->begin()->is_object()) {
    return "";
  }
  const auto weights = groups->begin()->find("weights");
  if (weights == groups->begin()->end() || !weights->is_object()) return "";
  const int bits = QuantizedKey(*weights, "num_bits", 0);
  const auto type = QuantizedKey<std::string>(*weights, "type", "");
  if (bits == 8) return type == "float" ? "fp8" : "int8";
  return bits == 4 && type == "int" ? GroupedFlag("gptq", *weights) : "";
}

std::string FlagOf(const std::string& method, const QuantizedJson& config) {
  if (method == "bitsandbytes") return BitsandbytesFlag(config);
  if (method == "gptq" || method == "awq") return GroupedFlag(method, config);
  if (method == "fp8" || method == "fbgemm_fp8") return "fp8";
  if (method == "compressed-tensors") return CompressedFlag(config);
  return "";
}

}  // namespace

std::string DescribeQuantization(const QuantizedJson& quantization) {
  const auto method =
      quantization.is_object()
          ? QuantizedKey<std::string>(quantization, "quant_method", "")
          : std::string();
  if (method == "mxfp4") {
    return "quantization_config is mxfp4: training holds these weights in the "
           "type of the others, as transformers does with Mxfp4Config("
           "dequantize=True)";
  }
  const std::string flag = FlagOf(method, quantization);
  if (!flag.empty()) {
    return fmt::format(
        "quantization_config is {}, predicted in 16 bits "
        "without --quantize {}",
        method, flag);
  }
  return fmt::format("quantization_config is {}, predicted in 16 bits",
                     Printable(method.empty() ? "of no quant_method" : method));
}

}  // namespace foretell::zoo
