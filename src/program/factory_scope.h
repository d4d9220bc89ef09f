#pragma once

#include <ATen/core/TensorBase.h>
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <optional>

namespace foretell {

/// While it lives, operators on this thread that make tensors from sizes alone
/// and name no device or element type use these: what Python calls
/// `torch.device` and `torch.set_default_dtype`, which C++ lacks. With it the
/// constructors of torch::nn build a network on the meta device, without a
/// byte of weights. Scopes do not nest.
class FactoryScope {
 public:
  FactoryScope(c10::Device device, c10::ScalarType dtype);
  ~FactoryScope();
  FactoryScope(const FactoryScope&) = delete;
  FactoryScope& operator=(const FactoryScope&) = delete;

 private:
  bool was_included_;
};

}  // namespace foretell
