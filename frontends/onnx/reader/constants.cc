#include "frontends/onnx/reader/constants.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>

#include "frontends/onnx/reader/data_types.h"
#include "frontends/onnx/reader/mask.h"

namespace foretell::onnx {
namespace {

/// Ways of reading a tensor, as bits.
enum Use : unsigned {
  kTriangle = 1,   ///< Trilu takes a triangle of it.
  kScattered = 2,  ///< A scatter writes into it.
  /// Scale or bias of InstanceNormalization, or the state that a recurrent
  /// layer begins with: parameters only if a module names them.
  kNormOrState = 4,
  kAdded = 8,     ///< Term of a sum, or mask of an attention.
  kSetting = 16,  ///< A setting of the operator: scales, limits, a ratio.
  kOther = 32,
};

/// The first input of an operator that is a setting; so are those after it.
struct Settings {
  std::string_view op_type;
  std::size_t first;
};

constexpr Settings kSettings[] = {{"Clip", 1},    {"Dropout", 1}, {"OneHot", 1},
                                  {"Pad", 1},     {"Range", 0},   {"Resize", 1},
                                  {"Upsample", 1}};

bool IsSetting(const Node& node, std::size_t input) {
  return std::ranges::any_of(kSettings, [&](const Settings& row) {
    return row.op_type == node.op_type && input >= row.first;
  });
}

Use UseOf(const Node& node, std::size_t input) {
  constexpr std::size_t kFirstState = 5;
  const std::string& type = node.op_type;
  if (type == "Trilu") return kTriangle;
  if (IsSetting(node, input)) return kSetting;
  constexpr std::size_t kMask = 3;
  if (type == "Add" || (type == "Attention" && input == kMask)) return kAdded;
  if (type == "InstanceNormalization") return kNormOrState;
  const bool is_recurrent = type == "LSTM" || type == "GRU" || type == "RNN";
  if (is_recurrent && (input == kFirstState || input == kFirstState + 1)) {
    return kNormOrState;
  }
  const bool scatters =
      type == "ScatterND" || type == "ScatterElements" || type == "Scatter";
  return scatters && input == 0 ? kScattered : kOther;
}

using Uses = std::map<std::string, unsigned>;

void AddUses(const Graph& graph, Uses& uses) {
  for (const ValueInfo& output : graph.outputs) uses[output.name] |= kOther;
  for (const Node& node : graph.nodes) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      uses[node.inputs[i]] |= UseOf(node, i);
    }
    for (const Attribute& attribute : node.attributes) {
      for (const auto& inner : attribute.graphs) AddUses(*inner, uses);
    }
  }
}

/// `name` without the number added to a duplicate name: "cos" for "cos_1".
std::string_view WithoutNumber(std::string_view name) {
  const std::size_t digits = name.find_last_not_of("0123456789") + 1;
  const bool is_numbered =
      digits > 1 && digits < name.size() && name[digits - 1] == '_';
  return is_numbered ? name.substr(0, digits - 1) : name;
}

/// True for a result that keeps the name of its node in the exported program,
/// if that node makes numbers instead of rearranging parameters.
bool IsMadeOfNothing(std::string_view name) {
  constexpr std::array<std::string_view, 15> kOperators = {
      "arange",      "cos",  "eye",       "full",  "full_like",
      "linspace",    "ones", "ones_like", "sin",   "scalar_tensor_default",
      "masked_fill", "tril", "triu",      "zeros", "zeros_like"};
  return std::ranges::find(kOperators, WithoutNumber(name)) != kOperators.end();
}

/// True for what the exporter itself made, by how it is read: a number, what a
/// norm or a recurrent layer begins with, or a mask, which is added to scores
/// [queries, keys]. Weights that it transposed have such names, too.
bool IsMadeByExporter(const TensorLiteral& literal, unsigned uses) {
  if (!IsNamedByExporter(literal.name)) return false;
  const std::size_t rank = literal.dims.size();
  if (rank < 2) return literal.NumElements() == 1 || uses == kNormOrState;
  const bool is_matrix =
      literal.dims[rank - 1] > 1 && literal.dims[rank - 2] > 1;
  return uses == kNormOrState || (uses == kAdded && is_matrix);
}

bool IsConstant(const TensorLiteral& literal, unsigned uses) {
  if (uses == kScattered || uses == kSetting || IsMadeOfNothing(literal.name) ||
      IsMadeByExporter(literal, uses)) {
    return true;
  }
  if (literal.dims.size() < 2) return false;
  const MaskContent content = MaskContentOf(literal);
  return content == MaskContent::kAdditive ||
         (content == MaskContent::kOnes && (uses & ~kTriangle) == 0);
}

}  // namespace

bool IsFloatLiteral(const TensorLiteral& literal) {
  const DataType* type = FindDataType(literal.data_type);
  return type != nullptr && type->dtype && type->is_floating_point;
}

bool IsNamedByExporter(std::string_view name) {
  return WithoutNumber(name) == "val" && name != "val";
}

bool HasMatrix(const Graph& graph) {
  return std::ranges::any_of(
      graph.initializers, [](const TensorLiteral& literal) {
        return literal.dims.size() > 1 && IsFloatLiteral(literal);
      });
}

bool MayBeWeight(const TensorLiteral& literal, const std::string& name,
                 const Graph& graph) {
  return IsFloatLiteral(literal) && literal.NumElements() > 1 &&
         std::ranges::find(graph.outputs, name, &ValueInfo::name) ==
             graph.outputs.end();
}

const TensorLiteral* WeightOf(const Node& node, const Graph& graph) {
  if (node.op_type != "Constant" || node.outputs.size() != 1) return nullptr;
  const Attribute* value = node.FindAttribute("value");
  if (value == nullptr || value->tensors.size() != 1) return nullptr;
  const TensorLiteral& literal = value->tensors.front();
  return MayBeWeight(literal, node.outputs.front(), graph) ? &literal : nullptr;
}

void LiftWeights(Graph& graph) {
  if (HasMatrix(graph)) return;
  std::erase_if(graph.nodes, [&](const Node& node) {
    const TensorLiteral* weight = WeightOf(node, graph);
    if (weight == nullptr) return false;
    graph.initializers.push_back(*weight);
    graph.initializers.back().name = node.outputs.front();
    return true;
  });
}

std::set<std::string> ConstantInitializers(const Graph& graph) {
  Uses uses;
  AddUses(graph, uses);
  std::set<std::string> constants;
  for (const TensorLiteral& literal : graph.initializers) {
    const auto use = uses.find(literal.name);
    if (IsConstant(literal, use == uses.end() ? 0 : use->second)) {
      constants.insert(literal.name);
    }
  }
  return constants;
}

}  // namespace foretell::onnx
