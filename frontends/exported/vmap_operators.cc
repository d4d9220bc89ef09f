#include "frontends/exported/vmap_operators.h"

#include <ATen/ATen.h>
#include <ATen/functorch/BatchedTensorImpl.h>
#include <ATen/functorch/DynamicLayer.h>

#include <algorithm>
#include <iterator>

#include "src/core/failure.h"

namespace foretell::exported {
namespace {

using Values = std::vector<c10::IValue>;

constexpr std::string_view kVmapPrefix = "torch._functorch.predispatch.";

std::size_t Depth() { return at::functorch::getDynamicLayerStack().size(); }

at::Tensor TensorAt(const Values& operands, std::size_t index) {
  if (index < operands.size() && operands[index].isTensor() &&
      operands[index].toTensor().defined()) {
    return operands[index].toTensor();
  }
  throw Corrupt("argument number {} is not a tensor", index);
}

std::int64_t NumberAt(const Values& operands, std::size_t index) {
  if (index < operands.size() && operands[index].isInt()) {
    return operands[index].toInt();
  }
  throw Corrupt("argument number {} is not a number", index);
}

/// `dimension` of a tensor of `rank` dimensions, counted from the front.
std::int64_t Wrapped(std::int64_t dimension, std::int64_t rank) {
  const std::int64_t wrapped = dimension < 0 ? dimension + rank : dimension;
  if (wrapped >= 0 && wrapped < rank) return wrapped;
  throw Corrupt("has no dimension {} of {}", dimension, rank);
}

/// The level of the file, which is that of the innermost vmap.
std::int64_t LevelAt(const Values& operands, std::size_t index) {
  const std::int64_t level = NumberAt(operands, index);
  if (Depth() > 0 &&
      at::functorch::getDynamicLayerStack().back().layerId() == level) {
    return level;
  }
  throw Corrupt("belongs to level {} of {} open calls of vmap", level, Depth());
}

Values BeginVmap(const Values& operands) {
  using at::functorch::RandomnessType;
  const std::int64_t batch = NumberAt(operands, 0);
  if (operands.size() < 2 || !operands[1].isString()) {
    throw Corrupt("does not state how it treats random numbers");
  }
  const std::string& word = operands[1].toStringRef();
  const RandomnessType randomness = word == "same" ? RandomnessType::Same
                                    : word == "different"
                                        ? RandomnessType::Different
                                        : RandomnessType::Error;
  return {at::functorch::initAndPushDynamicLayer(
      at::functorch::TransformType::Vmap, batch, randomness)};
}

Values EndVmap(const Values&) {
  if (Depth() == 0) throw Corrupt("ends a vmap that has not begun");
  at::functorch::popDynamicLayerAndDeleteMetadata();
  return {c10::IValue()};
}

Values AddDimension(const Values& operands) {
  const at::Tensor tensor = TensorAt(operands, 0);
  const std::int64_t dimension = Wrapped(NumberAt(operands, 1), tensor.dim());
  return {at::functorch::addBatchDim(tensor, dimension, LevelAt(operands, 2))};
}

/// A result that does not depend on the batch is repeated by a view.
Values RemoveDimension(const Values& operands) {
  const at::Tensor tensor = TensorAt(operands, 0);
  const std::int64_t level = LevelAt(operands, 1);
  const std::int64_t dimension =
      Wrapped(NumberAt(operands, 3), tensor.dim() + 1);
  const auto* batched = at::functorch::maybeGetBatchedImpl(tensor);
  if (batched != nullptr && batched->level() == level) {
    return {batched->value().movedim(batched->bdim(), dimension)};
  }
  std::vector<std::int64_t> sizes = tensor.sizes().vec();
  sizes.insert(sizes.begin() + dimension, NumberAt(operands, 2));
  return {tensor.unsqueeze(dimension).expand(sizes)};
}

/// Registers rules of Python for operators that loss functions call; LibTorch
/// alone computes these example by example.
Values LoadRules(const Values&) { return {c10::IValue()}; }

struct VmapRow {
  std::string_view name;  ///< After kVmapPrefix.
  Values (*run)(const Values& operands);
};

constexpr VmapRow kVmapOperators[] = {
    {"_add_batch_dim", AddDimension},
    {"_remove_batch_dim", RemoveDimension},
    {"_vmap_decrement_nesting", EndVmap},
    {"_vmap_increment_nesting", BeginVmap},
    {"lazy_load_decompositions", LoadRules},
};

const VmapRow* FindVmap(std::string_view target) {
  if (!target.starts_with(kVmapPrefix)) return nullptr;
  target.remove_prefix(kVmapPrefix.size());
  const auto* const row =
      std::ranges::find(kVmapOperators, target, &VmapRow::name);
  return row == std::end(kVmapOperators) ? nullptr : row;
}

}  // namespace

bool IsVmapOperator(std::string_view target) {
  return FindVmap(target) != nullptr;
}

std::vector<c10::IValue> CallVmapOperator(
    std::string_view target, const std::vector<c10::IValue>& operands) {
  return FindVmap(target)->run(operands);
}

VmapScope::VmapScope() : depth_(Depth()) {}

VmapScope::~VmapScope() {
  while (Depth() > depth_) at::functorch::popDynamicLayerAndDeleteMetadata();
}

}  // namespace foretell::exported
