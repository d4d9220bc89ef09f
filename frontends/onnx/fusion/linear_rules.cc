// nn.Linear of anything but a matrix is exported as MatMul with the transposed
// weight, followed by Add where there is a bias; a matrix becomes Gemm.
//
// A product with a two-dimensional weight that the model itself writes as a
// matmul looks the same. Both end in the same kernel, so that nothing but the
// operator's name is at stake.

#include <string>

#include "frontends/onnx/fusion/rules.h"
#include "frontends/onnx/reader/constants.h"

namespace foretell::onnx {
namespace {

bool IsFloatOfRank(const TensorLiteral* literal, std::size_t rank) {
  return literal != nullptr && literal->dims.size() == rank &&
         IsFloatLiteral(*literal);
}

/// A weight as a MatMul reads it.
struct Weight {
  std::string name;
  bool is_transposed = false;  ///< [out, in], as nn.Linear keeps it.
  std::int64_t columns = 0;
};

std::optional<Weight> WeightOf(const Body& body, const std::string& name) {
  const TensorLiteral* weight = body.InitializerOf(name);
  if (IsFloatOfRank(weight, 2)) return Weight{name, false, weight->dims[1]};
  const Node* transpose = ProducerOfType(body, name, "Transpose");
  if (transpose == nullptr) return std::nullopt;
  const TensorLiteral* source = body.InitializerOf(transpose->inputs[0]);
  const Attribute* perm = transpose->FindAttribute("perm");
  const bool swaps =
      perm == nullptr || perm->ints == std::vector<std::int64_t>{1, 0};
  if (!swaps || !IsFloatOfRank(source, 2)) return std::nullopt;
  return Weight{transpose->inputs[0], true, source->dims[0]};
}

/// The bias that the last node adds to the product, and the product's name.
struct BiasSum {
  std::string product, bias;
};

std::optional<BiasSum> SumOf(const Match& match) {
  for (const std::string& bias : match.last().inputs) {
    const std::optional<std::string> product = Beside(match.last(), bias);
    const bool is_bias = IsFloatOfRank(match.body().InitializerOf(bias), 1);
    if (product && is_bias) return BiasSum{*product, bias};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Replacement> FuseLinear(Match match) {
  const Body& body = match.body();
  const Node* product = &match.last();
  std::optional<BiasSum> sum;
  if (product->op_type == "Add") {
    sum = SumOf(match);
    product = sum ? match.Take(sum->product, "MatMul") : nullptr;
  }
  if (product == nullptr || product->inputs.size() != 2) return std::nullopt;
  const std::optional<Weight> weight = WeightOf(body, product->inputs[1]);
  if (!weight) return std::nullopt;
  if (sum && body.InitializerOf(sum->bias)->dims[0] != weight->columns) {
    return std::nullopt;
  }
  std::vector<std::string> inputs = {product->inputs[0], weight->name};
  if (sum) inputs.push_back(sum->bias);
  return match.By("Linear", std::move(inputs),
                  {MakeInt("weight_transposed", weight->is_transposed)});
}

}  // namespace foretell::onnx
