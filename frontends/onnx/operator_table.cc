#include "frontends/onnx/operator_table.h"

#include <array>
#include <unordered_map>

namespace foretell::onnx {
namespace {

using Family = std::span<const OnnxOperator> (*)();

constexpr std::array<Family, 24> kFamilies = {
    &ActivationOperators,    &AttentionOperators, &ControlFlowOperators,
    &ConvolutionOperators,   &CreationOperators,  &DetectionOperators,
    &ElementwiseOperators,   &FusedOperators,     &ImageOperators,
    &IndexingOperators,      &LogicOperators,     &LossOperators,
    &MatrixOperators,        &MicrosoftOperators, &MicrosoftQuantizedOperators,
    &NormalizationOperators, &PoolingOperators,   &QuantizationOperators,
    &RecurrentOperators,     &ReductionOperators, &SequenceOperators,
    &ShapeOperators,         &SignalOperators,    &SortingOperators,
};

using Index = std::unordered_multimap<std::string_view, const OnnxOperator*>;

const Index& IndexByName() {
  static const Index index = [] {
    Index rows;
    for (const Family family : kFamilies) {
      for (const OnnxOperator& row : family()) rows.emplace(row.name, &row);
    }
    return rows;
  }();
  return index;
}

}  // namespace

const OnnxOperator* FindOperator(std::string_view domain, std::string_view name,
                                 std::int64_t version) {
  const auto [first, last] = IndexByName().equal_range(name);
  for (auto it = first; it != last; ++it) {
    const OnnxOperator& row = *it->second;
    if (row.domain == domain && row.versions.first <= version &&
        version <= row.versions.last) {
      return &row;
    }
  }
  return nullptr;
}

std::vector<OnnxOperator> AllOperators() {
  std::vector<OnnxOperator> rows;
  for (const Family family : kFamilies) {
    const auto of_family = family();
    rows.insert(rows.end(), of_family.begin(), of_family.end());
  }
  return rows;
}

}  // namespace foretell::onnx
