// Defaults for factories, with a boxed fallback on a mode key.
//
// The same mechanism as the recorder's, on a key of its own, so that either
// works without the other. `.to(device)` after construction was rejected: it
// would fill every weight on the CPU first, seconds for a large network.

#include "src/program/factory_scope.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include <mutex>

namespace foretell {
namespace {

constexpr c10::DispatchKey kScopeKey =
    c10::DispatchKey::TESTING_ONLY_GenericWrapper;

thread_local std::optional<c10::Device> scope_device;
thread_local c10::ScalarType scope_dtype = c10::ScalarType::Float;

/// Factories accept `dtype`, `layout`, `device` and `pin_memory`, no tensor.
/// Those on integers (arange, randint) choose an integer type by themselves.
void FillDefaults(const c10::FunctionSchema& schema, torch::jit::Stack& stack) {
  const std::size_t first = stack.size() - schema.arguments().size();
  const std::optional<int> device = schema.argumentIndexWithName("device");
  const std::optional<int> dtype = schema.argumentIndexWithName("dtype");
  if (!device || !dtype) return;
  for (std::size_t i = first; i < stack.size(); ++i) {
    if (stack[i].isTensor() || stack[i].isTensorList()) return;
  }
  c10::IValue& device_value = stack[first + static_cast<std::size_t>(*device)];
  if (device_value.isNone()) device_value = *scope_device;
  const std::string& name = schema.name();
  const bool is_floating = name != "aten::arange" && name != "aten::randint" &&
                           name != "aten::randperm" && name != "aten::full" &&
                           name != "aten::scalar_tensor";
  c10::IValue& dtype_value = stack[first + static_cast<std::size_t>(*dtype)];
  if (is_floating && dtype_value.isNone()) {
    dtype_value = static_cast<std::int64_t>(scope_dtype);
  }
}

void ScopeHook(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
               torch::jit::Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard off(kScopeKey);
  if (scope_device) FillDefaults(op.schema(), *stack);
  op.redispatchBoxed(
      keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kScopeKey),
      stack);
}

void Install() {
  static std::once_flag once;
  std::call_once(once, [] {
    static torch::Library library(torch::Library::IMPL, "_", kScopeKey,
                                  __FILE__, __LINE__);
    library.fallback(torch::CppFunction::makeFromBoxedFunction<&ScopeHook>());
  });
}

}  // namespace

FactoryScope::FactoryScope(c10::Device device, c10::ScalarType dtype) {
  Install();
  scope_device = device;
  scope_dtype = dtype;
  was_included_ = c10::impl::tls_is_dispatch_key_included(kScopeKey);
  c10::impl::tls_set_dispatch_key_included(kScopeKey, true);
}

FactoryScope::~FactoryScope() {
  c10::impl::tls_set_dispatch_key_included(kScopeKey, was_included_);
  scope_device.reset();
}

}  // namespace foretell
