#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

#include "frontends/onnx/reader/model.h"

namespace foretell::onnx {

/// Most nodes that a model may have once every call of a model-local function
/// is replaced by the function's body.
inline constexpr std::int64_t kMaxExpandedNodes = 1 << 20;
/// Deepest chain of functions that call each other.
inline constexpr int kMaxCallDepth = 64;

/// Index of the functions of a model by the names that nodes call. The model
/// must outlive it.
class FunctionIndex {
 public:
  /// Throws Error(kCorrupt) when two have the same domain, name and overload.
  explicit FunctionIndex(const Model& model);

  /// Index in Model::functions of the function that `node` calls; empty when it
  /// is an operator.
  std::optional<std::size_t> Find(const Node& node) const;

 private:
  using Key = std::tuple<std::string_view, std::string_view, std::string_view>;

  std::map<Key, std::size_t> places_;
};

/// Throws Error: kCorrupt when two functions have the same domain, name and
/// overload or when a function calls itself, directly or not; kUnsupported
/// beyond kMaxExpandedNodes or kMaxCallDepth.
void CheckFunctions(const Model& model);

}  // namespace foretell::onnx
