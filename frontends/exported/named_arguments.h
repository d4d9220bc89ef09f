#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/exported/call_operator.h"

namespace foretell::exported {

/// The arguments of one call by name, read as the kinds that its code expects.
/// An argument that is absent, or None, is not given. Every reader throws
/// Error(kCorrupt) if its argument is of another kind, and those without a
/// fallback if it is not given.
class NamedArguments {
 public:
  /// `values` must outlive this.
  explicit NamedArguments(const NamedValues& values) : values_(values) {}

  bool Has(std::string_view name) const { return Find(name) != nullptr; }
  at::Tensor Tensor(std::string_view name) const;
  /// As Tensor, but undefined if it is not given.
  at::Tensor OptionalTensor(std::string_view name) const;
  std::int64_t Int(std::string_view name) const;
  /// A number, or the only element of a tensor: `unknown` if it has no values.
  double Number(std::string_view name, double unknown = 0) const;
  at::ScalarType Type(std::string_view name) const;
  at::ScalarType Type(std::string_view name, at::ScalarType fallback) const;
  std::vector<std::int64_t> Ints(std::string_view name) const;
  std::string Text(std::string_view name) const;

 private:
  const c10::IValue* Find(std::string_view name) const;
  const c10::IValue& Get(std::string_view name) const;

  const NamedValues& values_;
};

}  // namespace foretell::exported
