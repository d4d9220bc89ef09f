// Multiply-accumulates of an operator, from the shapes of its tensors alone.
//
// Counted are the products that a matrix unit performs: convolutions, linear
// layers, matrix products, einsum, both products of attention, recurrent
// layers and the backward operators of these. One multiply-accumulate is two
// FLOP. Additions of a bias, activations and normalisations count nothing.
//
//   convolution             out_numel * weight_numel / out_channels
//   transposed convolution  in_numel * weight_numel / in_channels
//   linear                  in_numel * out_features
//   matrix product          out_numel * contracted size
//   attention               B * H * L * S * (E + Ev); masks save nothing
//   recurrent               seq * batch * elements of all weight matrices
//
// A convolution's backward operator costs one forward for each of the gradients
// of input and weight that `output_mask` asks for. A fused attention's backward
// operator forms dV, dP, dQ and dK (twice the forward) and the first product
// once more, because the forward pass does not keep it: 2 * B*H*L*S*(E + Ev) +
// B*H*L*S*E. A recurrent layer's backward operator costs two forwards.
#include "src/graph/macs.h"

#include "src/core/checked.h"
#include "src/core/failure.h"
#include "src/graph/attributes.h"
#include "src/graph/convolution.h"
#include "src/graph/trilinear.h"

namespace foretell {
namespace {

/// One pass; a backward operator makes one for each of the gradients of input
/// and weight.
std::int64_t ConvolutionMacs(const OperatorGraph& graph, const Node& node) {
  const std::optional<Convolution> convolution = ConvolutionOf(graph, node);
  if (!convolution) {
    throw InvalidArgument("{} has a weight of fewer than two dimensions",
                          node.target);
  }
  if (!convolution->backward) return convolution->PassMacs();
  const WantedGradients wanted = WantedGradientsOf(node);
  return MulMacs((wanted.input ? 1 : 0) + (wanted.weight ? 1 : 0),
                 convolution->PassMacs());
}

std::int64_t LinearMacs(const Operands& op) {
  const Node& node = op.node();
  if (node.target == "bilinear") {  // weight [out, in1, in2]
    const std::int64_t in1 = op.LastOf(0);
    const std::int64_t rows = in1 == 0 ? 0 : op.Input(0).NumElements() / in1;
    return MulMacs(rows, op.Input(2).NumElements());
  }
  const Shape& weight = op.InputShape(1);
  const std::int64_t out_features = weight.size() < 2 ? 1 : weight[0];
  return MulMacs(op.Input(0).NumElements(), out_features);
}

/// Position of the left factor among the inputs: 1 for "add…" operators.
std::size_t FirstFactor(const Node& node) {
  const std::string_view target = node.target;
  return target.starts_with("add") || target.starts_with("badd") ||
                 target.starts_with("_addmm") || target == "_sparse_addmm" ||
                 target.starts_with("sspaddmm")
             ? 1
             : 0;
}

/// a[0] @ a[1] @ a[2] … from left to right.
std::int64_t ChainMacs(const Operands& op) {
  if (op.num_inputs() < 2) return 0;
  const std::int64_t rows =
      op.InputShape(0).size() < 2 ? 1 : op.InputShape(0).front();
  std::int64_t total = 0;
  for (std::size_t i = 1; i < op.num_inputs(); ++i) {
    total = AddMacs(total, MulMacs(rows, op.Input(i).NumElements()));
  }
  return total;
}

std::int64_t TensordotMacs(const Operands& op) {
  std::int64_t contracted = 1;
  const Shape& shape = op.InputShape(0);
  const auto dims = DimsOf(op.node(), "dims_self", shape.size());
  if (!dims) return 0;
  for (const std::size_t dim : *dims) {
    contracted = MulMacs(contracted, shape[dim]);
  }
  return MulMacs(op.Output(0).NumElements(), contracted);
}

std::int64_t MatrixPowerMacs(const Operands& op) {
  const std::int64_t n = op.node().Int("n", 1);
  std::int64_t products = 0;  // square and multiply
  for (std::int64_t rest = n; rest > 1 || rest < -1; rest /= 2) {
    products += rest % 2 == 0 ? 1 : 2;
  }
  return MulMacs(products, MulMacs(op.Input(0).NumElements(), op.LastOf(0)));
}

std::int64_t TrilinearMacs(const Operands& op) {
  const auto extents = TrilinearExtents(
      op.node(), {op.InputShape(0), op.InputShape(1), op.InputShape(2)});
  if (!extents) {
    throw InvalidArgument(
        "_trilinear is expanded along dimensions that do not fit its operands");
  }
  std::int64_t macs = 1;
  for (const std::int64_t extent : *extents) macs = MulMacs(macs, extent);
  return macs;
}

std::int64_t MatmulMacs(const Operands& op) {
  struct Rule {
    std::string_view target;
    std::int64_t (*count)(const Operands&);
  };
  constexpr auto kOuter = [](const Operands& o) {
    return o.Output(0).NumElements();
  };
  constexpr auto kElements = [](const Operands& o) {
    return o.Input(0).NumElements();
  };
  constexpr auto kSummedBatch = [](const Operands& o) {
    return MulMacs(o.Input(1).NumElements(), o.LastOf(2));
  };
  // Each group of rows meets one of the matrices; two plain factors are divided
  // where they are summed over.
  constexpr auto kGrouped = [](const Operands& o) {
    const bool is_divided =
        o.InputShape(0).size() == 2 && o.InputShape(1).size() == 2;
    return is_divided ? MulMacs(o.Input(0).NumElements(), o.LastOf(1))
                      : MulMacs(o.Output(0).NumElements(), o.LastOf(0));
  };
  // Two values of 4 bits share a byte.
  constexpr auto kPacked = [](const Operands& o) {
    const bool is_packed = o.Input(0).dtype == DType::kU8;
    return MulMacs(o.Output(0).NumElements(),
                   MulMacs(is_packed ? 2 : 1, o.LastOf(0)));
  };
  static constexpr Rule kSpecial[] = {
      {"_grouped_mm", +kGrouped},
      {"_trilinear", &TrilinearMacs},
      {"addbmm", +kSummedBatch},
      {"addr", +kOuter},
      {"chain_matmul", &ChainMacs},
      {"ger", +kOuter},
      {"kron", +kOuter},
      {"linalg_matrix_power", &MatrixPowerMacs},
      {"linalg_multi_dot", &ChainMacs},
      {"linalg_vecdot", +kElements},
      {"matrix_power", &MatrixPowerMacs},
      {"outer", +kOuter},
      {"tensordot", &TensordotMacs},
      {"transformer_engine::gemm", +kPacked},
  };
  std::string_view target = op.node().target;
  if (target.ends_with('_')) target.remove_suffix(1);
  for (const Rule& rule : kSpecial) {
    if (rule.target == target) return rule.count(op);
  }
  return MulMacs(op.Output(0).NumElements(), op.LastOf(FirstFactor(op.node())));
}

std::int64_t EinsumNodeMacs(const Operands& op) {
  const std::string_view equation = TextOf(op.node(), "equation");
  if (equation.empty()) {
    throw InvalidArgument("einsum has no attribute 'equation'");
  }
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < op.num_inputs(); ++i) {
    shapes.push_back(op.InputShape(i));
  }
  return EinsumMacs(equation, shapes);
}

struct MacRule {
  OpKind kind;
  std::int64_t (*count)(const Operands&);
};

constexpr MacRule kMacRules[] = {
    {OpKind::kLinear, &LinearMacs},
    {OpKind::kMatmul, &MatmulMacs},
    {OpKind::kEinsum, &EinsumNodeMacs},
    {OpKind::kAttention, &AttentionMacs},
    {OpKind::kAttentionBackward, &AttentionBackwardMacs},
    {OpKind::kRecurrent, &RecurrentMacs},
    {OpKind::kRecurrentBackward,
     [](const Operands& op) { return MulMacs(2, RecurrentMacs(op)); }},
};

}  // namespace

std::int64_t MulMacs(std::int64_t a, std::int64_t b) {
  const std::optional<std::int64_t> product = CheckedMul(a, b);
  if (product) return *product;
  throw InvalidArgument("multiply-accumulates exceed int64: {} * {}", a, b);
}

std::int64_t AddMacs(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  throw InvalidArgument("multiply-accumulates exceed int64: {} + {}", a, b);
}

std::int64_t CountMacs(const OperatorGraph& graph, const Node& node) {
  if (IsConvolution(node.kind)) return ConvolutionMacs(graph, node);
  for (const MacRule& rule : kMacRules) {
    if (rule.kind == node.kind) return rule.count(Operands(graph, node));
  }
  return 0;
}

}  // namespace foretell
