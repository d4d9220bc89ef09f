#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace foretell {

/// Calls an operator of another library that meta/ defines; returns its
/// results. It runs on meta tensors only.
template <typename... Arguments>
torch::jit::Stack CallAllPrivate(const char* name,
                                 const Arguments&... arguments) {
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(name, "");
  torch::jit::Stack stack = {c10::IValue(arguments)...};
  op.callBoxed(&stack);
  return stack;
}

/// The same, for an operator of one result.
template <typename... Arguments>
at::Tensor CallPrivate(const char* name, const Arguments&... arguments) {
  return CallAllPrivate(name, arguments...).front().toTensor();
}

}  // namespace foretell
