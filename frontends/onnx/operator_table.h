#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

namespace foretell::onnx {

class NodeContext;

/// Performs a node with at:: calls and sets its outputs.
using Lowering = void (*)(NodeContext&);

inline constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();

/// Opset versions, both ends included, that a lowering supports.
struct VersionRange {
  std::int64_t first = 1;
  std::int64_t last = kAny;
};

/// For OnnxOperator::depends_on_data.
inline constexpr bool kDependsOnData = true;

/// A row of an operator table.
struct OnnxOperator {
  std::string_view name;
  VersionRange versions;  ///< Versions of the domain's opset.
  Lowering lowering;
  std::string_view domain = "";  ///< "" is ai.onnx.
  /// The shape of a result depends on the values of an input other than a list
  /// of sizes, so the operator can only be traced on the host.
  bool depends_on_data = false;
};

/// The rows of one family, in ops/<family>.cc, sorted by name.
std::span<const OnnxOperator> ActivationOperators();
std::span<const OnnxOperator> AttentionOperators();
std::span<const OnnxOperator> ControlFlowOperators();
std::span<const OnnxOperator> ConvolutionOperators();
std::span<const OnnxOperator> CreationOperators();
std::span<const OnnxOperator> DetectionOperators();
std::span<const OnnxOperator> ElementwiseOperators();
std::span<const OnnxOperator> FusedOperators();
std::span<const OnnxOperator> ImageOperators();
std::span<const OnnxOperator> IndexingOperators();
std::span<const OnnxOperator> LogicOperators();
std::span<const OnnxOperator> LossOperators();
std::span<const OnnxOperator> MatrixOperators();
std::span<const OnnxOperator> MicrosoftOperators();
std::span<const OnnxOperator> MicrosoftQuantizedOperators();
std::span<const OnnxOperator> NormalizationOperators();
std::span<const OnnxOperator> PoolingOperators();
std::span<const OnnxOperator> QuantizationOperators();
std::span<const OnnxOperator> RecurrentOperators();
std::span<const OnnxOperator> ReductionOperators();
std::span<const OnnxOperator> SequenceOperators();
std::span<const OnnxOperator> ShapeOperators();
std::span<const OnnxOperator> SignalOperators();
std::span<const OnnxOperator> SortingOperators();

/// The row for an operator at a version of its domain; nullptr if none.
const OnnxOperator* FindOperator(std::string_view domain, std::string_view name,
                                 std::int64_t version);
/// All rows, family by family.
std::vector<OnnxOperator> AllOperators();

}  // namespace foretell::onnx
