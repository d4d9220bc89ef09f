#include "src/program/quantized_weights.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include "foretell/error.h"
#include "src/program/quantized_product.h"
#include "src/program/weighted_operators.h"

namespace foretell {
namespace {

/// bitsandbytes/nn/modules.py, Params4bit: weights that share a scale, and
/// scales that share one if they are quantized, too.
constexpr std::int64_t kBlock = 64;
constexpr std::int64_t kBlockOfScales = 256;
constexpr std::int64_t kFourBitCodes = 16;
constexpr std::int64_t kWordBits = 32;  ///< Of a packed word of GPTQ and AWQ.

thread_local QuantizedWeights* current_weights = nullptr;

std::int64_t Parts(std::int64_t whole, std::int64_t part) {
  return (whole + part - 1) / part;
}

/// Makes tensors on one device.
class Maker {
 public:
  explicit Maker(const at::Tensor& like) : options_(like.options()) {}
  at::Tensor operator()(std::vector<std::int64_t> shape,
                        at::ScalarType type) const {
    return at::empty(shape, options_.dtype(type).requires_grad(false));
  }

 private:
  at::TensorOptions options_;
};

/// Two weights per byte; QuantState of bitsandbytes/functional.py.
void PackFourBits(const Maker& make, QuantizedWeight& weight) {
  const std::int64_t elements = weight.shape[0] * weight.shape[1];
  const std::int64_t blocks = Parts(elements, kBlock);
  weight.packed = make({Parts(elements, 2), 1}, at::kByte);
  if (!weight.spec.nested) {
    weight.scales = {make({blocks}, at::kFloat)};
  } else {
    weight.scales = {make({blocks}, at::kByte),
                     make({Parts(blocks, kBlockOfScales)}, at::kFloat),
                     make({}, at::kFloat)};
  }
  weight.scales.push_back(make({kFourBitCodes}, at::kFloat));
}

/// Words of 32 bits along the input's extent for GPTQ, along the output's for
/// AWQ; zero points are packed along the output's.
void PackWords(const Maker& make, QuantizedWeight& weight) {
  const std::int64_t rows = weight.shape[1];
  const std::int64_t columns = weight.shape[0];
  const std::int64_t each = kWordBits / weight.spec.bits;
  const std::int64_t groups = Parts(rows, weight.spec.group);
  const bool is_gptq = weight.spec.format == QuantFormat::kGptq;
  weight.packed = is_gptq ? make({Parts(rows, each), columns}, at::kInt)
                          : make({rows, Parts(columns, each)}, at::kInt);
  weight.scales = {make({groups, columns}, at::kHalf),
                   make({groups, Parts(columns, each)}, at::kInt)};
  if (is_gptq) weight.scales.push_back(make({rows}, at::kInt));
}

void Pack(const Maker& make, QuantizedWeight& weight) {
  switch (weight.spec.format) {
    case QuantFormat::kNf4:
    case QuantFormat::kFp4:
      return PackFourBits(make, weight);
    case QuantFormat::kGptq:
    case QuantFormat::kAwq:
      return PackWords(make, weight);
    case QuantFormat::kInt8:
      weight.packed = make(weight.shape, at::kChar);
      weight.scales = {make({weight.shape[0]}, at::kFloat)};
      return;
    case QuantFormat::kFp8:
      weight.packed = make(weight.shape, at::kFloat8_e4m3fn);
      weight.scales = {make({1}, at::kFloat)};
      return;
    case QuantFormat::kUnquantized:
      return;
  }
}

}  // namespace

QuantizedWeights::QuantizedWeights(const QuantizeSpec& spec,
                                   const std::set<std::string>& names,
                                   const ProgramInstance& instance,
                                   std::optional<at::ScalarType> compute) {
  for (const NamedTensor& parameter : instance.Parameters()) {
    if (!names.contains(parameter.name)) continue;
    const at::Tensor& tensor = parameter.tensor;
    tensor.set_requires_grad(false);
    QuantizedWeight weight{.spec = spec,
                           .shape = tensor.sizes().vec(),
                           .type = compute.value_or(tensor.scalar_type())};
    Pack(Maker(tensor), weight);
    Add(parameter, weight);
  }
  current_weights = this;
}

QuantizedWeights::~QuantizedWeights() { current_weights = nullptr; }

void QuantizedWeights::Add(const NamedTensor& parameter,
                           const QuantizedWeight& weight) {
  parts_.push_back({parameter.name + ".packed", weight.packed});
  for (std::size_t i = 0; i < weight.scales.size(); ++i) {
    parts_.push_back(
        {fmt::format("{}.scales{}", parameter.name, i), weight.scales[i]});
  }
  weights_.emplace(parameter.tensor.storage().unsafeGetStorageImpl(), weight);
}

void QuantizedWeights::HoldInputs() {
  for (auto& [storage, weight] : weights_) weight.holds_input = true;
}

const QuantizedWeight* QuantizedWeights::Find(const at::Tensor& weight) {
  if (current_weights == nullptr || weight.dim() != 2 ||
      !weight.has_storage()) {
    return nullptr;
  }
  const auto& weights = current_weights->weights_;
  const auto found = weights.find(weight.storage().unsafeGetStorageImpl());
  return found == weights.end() ? nullptr : &found->second;
}

bool QuantizedWeights::Has(const at::Tensor& parameter) const {
  return parameter.has_storage() &&
         weights_.contains(parameter.storage().unsafeGetStorageImpl());
}

bool QuantizedWeights::IsCopiedByAdapters(const at::Tensor& weight) {
  const QuantizedWeight* const found = Find(weight);
  return found != nullptr && (found->spec.format == QuantFormat::kNf4 ||
                              found->spec.format == QuantFormat::kFp4);
}

bool QuantizedWeights::Intercept(const c10::OperatorHandle& op,
                                 torch::jit::Stack& stack) {
  if (current_weights == nullptr) return false;
  const WeightedOperator* const product = WeightedOperatorOf(op);
  if (product == nullptr || product->kind != WeightUse::kProduct) return false;
  const std::size_t num_arguments = op.schema().arguments().size();
  const std::size_t first = stack.size() - num_arguments;
  const at::Tensor matrix = stack[first + product->weight].toTensor();
  const QuantizedWeight* const weight = Find(matrix);
  if (weight == nullptr) return false;
  const bool lies_so = matrix.sizes() == at::IntArrayRef(weight->shape) &&
                       matrix.is_contiguous();
  const at::Tensor input = stack[first + product->input].toTensor();
  // Of linear the argument behind the weight, of addmm the one before.
  const bool has_bias = product->transposes || product->input == 1;
  const c10::IValue last =
      has_bias ? stack[product->transposes ? first + 2 : first] : c10::IValue();
  std::optional<at::Tensor> bias;
  if (last.isTensor() && last.toTensor().defined()) bias = last.toTensor();
  torch::jit::drop(stack, num_arguments);
  stack.emplace_back(ProductWithQuantized(
      input, *weight, {.by_rows = lies_so == product->transposes}, bias));
  return true;
}

}  // namespace foretell
