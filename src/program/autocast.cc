// Autocast of CUDA for tensors of any device.
//
// LibTorch's own wrappers ask every tensor whether it is on the device that
// their dispatch key belongs to, and meta tensors have no such device. So a
// boxed fallback on an autocast key that no backend here uses (that of HPUs)
// does what ATen/autocast_mode.h does, with the lists of that header: above
// autograd, so that casts have gradients and operators save what was cast.
// The rules reach an operator inside a composite (a loss, an interpolation)
// but not inside a kernel, as LibTorch's do.
//
// The recorder's key comes before every autocast key. It asks Intercept, so
// that casts of a top-level call become nodes of their own before it.
#include "src/program/autocast.h"

#include <ATen/ATen.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include <mutex>
#include <optional>

#include "src/core/failure.h"
#include "src/program/meta/in_autocast.h"
#include "src/program/operator_call.h"

namespace foretell {
namespace {

constexpr c10::DispatchKey kAutocastKey = c10::DispatchKey::AutocastHPU;
thread_local AutocastRegion* current_region = nullptr;
thread_local bool is_casting = false;

class CastingScope {
 public:
  CastingScope() { is_casting = true; }
  ~CastingScope() { is_casting = false; }
  CastingScope(const CastingScope&) = delete;
  CastingScope& operator=(const CastingScope&) = delete;
};

/// Calls `cast` on every tensor of an argument.
template <typename Cast>
c10::IValue CastTensors(const c10::IValue& value, const Cast& cast) {
  if (value.isTensor()) return cast(value.toTensor());
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& tensor : value.toTensorVector()) {
      list.push_back(cast(tensor));
    }
    return list;
  }
  return value;
}

/// Sets the type of the result if it is None. Requires an argument `dtype`.
void AskForFloat(const c10::FunctionSchema& schema, torch::jit::Stack& stack,
                 size_t first) {
  const int place = *schema.argumentIndexWithName("dtype");
  c10::IValue& dtype = stack[first + static_cast<size_t>(place)];
  if (dtype.isNone()) dtype = static_cast<std::int64_t>(at::kFloat);
}

/// `norm.Scalar` becomes `norm.ScalarOpt_dtype`, `norm.ScalarOpt_dim` becomes
/// `norm.ScalarOpt_dim_dtype`; the type comes last.
c10::OperatorHandle OverloadWithType(const c10::OperatorHandle& op) {
  const std::string& overload = op.schema().overload_name();
  const std::string typed = overload.starts_with("ScalarOpt")
                                ? overload + "_dtype"
                                : "ScalarOpt_dtype";
  return c10::Dispatcher::singleton().findSchemaOrThrow(
      op.schema().name().c_str(), typed.c_str());
}

/// Whether calls on this thread come by autocast.
void Switch(bool on) {
  in_autocast = on;
  c10::impl::tls_set_dispatch_key_included(kAutocastKey, on);
  c10::impl::tls_set_dispatch_key_excluded(kAutocastKey, !on);
}

bool IsTakenApart(const c10::OperatorHandle& op) {
  return op.hasKernelForDispatchKey(
      c10::DispatchKey::CompositeImplicitAutograd);
}

}  // namespace

void AutocastRegion::Install() {
  static std::once_flag once;
  std::call_once(once, [] {
    static torch::Library library(torch::Library::IMPL, "_", kAutocastKey,
                                  __FILE__, __LINE__);
    library.fallback(torch::CppFunction::makeFromBoxedFunction<&Fallback>());
  });
}

AutocastRegion::AutocastRegion(c10::DeviceType device, const AutocastMode& mode)
    : device_(device),
      mode_(mode),
      outer_(current_region),
      is_outer_on_(in_autocast) {
  Install();
  current_region = this;
  Switch(true);
}

AutocastRegion::~AutocastRegion() {
  Switch(is_outer_on_);
  current_region = outer_;
  // In an order that does not depend on addresses: a graph shows it.
  while (!order_.empty()) {
    casts_.erase(order_.back());
    order_.pop_back();
  }
}

AutocastPause::AutocastPause() : was_on_(in_autocast) { Switch(false); }

AutocastPause::~AutocastPause() { Switch(was_on_); }

bool AutocastRegion::IsCasting() { return is_casting; }

void AutocastRegion::CountAsParameter(const at::Tensor& view,
                                      const at::Tensor& parameter) {
  if (current_region == nullptr || !current_region->IsKept(parameter)) return;
  current_region->counted_.emplace(view.unsafeGetTensorImpl(), view);
}

bool AutocastRegion::Intercept(const c10::OperatorHandle& op,
                               c10::DispatchKeySet keys,
                               torch::jit::Stack& stack) {
  if (current_region == nullptr || !keys.has(kAutocastKey)) return false;
  const AutocastPolicy policy = current_region->PolicyOf(op);
  if (policy == AutocastPolicy::kLeave) return false;
  current_region->CastAndCall(op, policy, stack);
  return true;
}

void AutocastRegion::Fallback(const c10::OperatorHandle& op,
                              c10::DispatchKeySet keys,
                              torch::jit::Stack* stack) {
  if (Intercept(op, keys, *stack)) return;
  std::optional<c10::impl::ExcludeDispatchKeyGuard> off;
  if (!IsTakenApart(op)) off.emplace(kAutocastKey);
  op.redispatchBoxed(
      keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kAutocastKey),
      stack);
}

AutocastPolicy AutocastRegion::PolicyOf(const c10::OperatorHandle& op) const {
  const std::string& name = op.schema().name();
  if (mode_.half_group_norm && name == "aten::group_norm") {
    return AutocastPolicy::kLower;
  }
  if (mode_.half_layer_norm && name == "aten::layer_norm") {
    return AutocastPolicy::kLower;
  }
  if (mode_.half_upsampling && name.find("upsample_") != std::string::npos) {
    return AutocastPolicy::kLeave;
  }
  return AutocastPolicyOf(op);
}

void AutocastRegion::CastAndCall(const c10::OperatorHandle& op,
                                 AutocastPolicy policy,
                                 torch::jit::Stack& stack) {
  const c10::impl::ExcludeDispatchKeyGuard off(kAutocastKey);
  // The caller's tensors outlive the call, even if only the stack held them.
  const torch::jit::Stack given(
      stack.end() - static_cast<std::ptrdiff_t>(op.schema().arguments().size()),
      stack.end());
  Prepare(op, policy, stack).callBoxed(&stack);
}

c10::OperatorHandle AutocastRegion::Prepare(const c10::OperatorHandle& op,
                                            AutocastPolicy policy,
                                            torch::jit::Stack& stack) {
  const size_t first = stack.size() - op.schema().arguments().size();
  const bool takes_tensor =
      stack[first].isTensor() && IsEligible(stack[first].toTensor());
  switch (policy) {
    case AutocastPolicy::kLeave:
      break;
    case AutocastPolicy::kLower:
    case AutocastPolicy::kLowerAll:
      CastAll(stack, first, mode_.dtype, policy == AutocastPolicy::kLower);
      break;
    case AutocastPolicy::kFloat:
      CastAll(stack, first, at::kFloat, /*cache=*/false);
      break;
    case AutocastPolicy::kPromote:
      CastAll(stack, first, WidestOf(stack, first), /*cache=*/true);
      break;
    case AutocastPolicy::kFloatResult:
      if (takes_tensor) AskForFloat(op.schema(), stack, first);
      break;
    case AutocastPolicy::kFloatOverload:
      if (!takes_tensor) break;
      stack.emplace_back(static_cast<std::int64_t>(at::kFloat));
      return OverloadWithType(op);
    case AutocastPolicy::kRefused:
      throw Unsupported(
          "{} is refused by autocast; PyTorch asks for its variant with logits",
          op.schema().name());
  }
  return op;
}

bool AutocastRegion::IsEligible(const at::Tensor& tensor) const {
  return tensor.defined() && tensor.device().type() == device_ &&
         tensor.is_floating_point() && tensor.scalar_type() != at::kDouble;
}

bool AutocastRegion::IsKept(const at::Tensor& tensor) const {
  if (tensor.scalar_type() != at::kFloat) return false;
  return counted_.contains(tensor.unsafeGetTensorImpl()) ||
         (tensor.requires_grad() && tensor.is_leaf() && !tensor.is_view());
}

at::ScalarType AutocastRegion::WidestOf(const torch::jit::Stack& stack,
                                        size_t first) const {
  at::ScalarType widest = mode_.dtype;
  for (size_t i = first; i < stack.size(); ++i) {
    ForEachTensor(stack[i], [&](const at::Tensor& tensor) {
      if (IsEligible(tensor) && tensor.scalar_type() == at::kFloat) {
        widest = at::kFloat;
      }
    });
  }
  return widest;
}

void AutocastRegion::CastAll(torch::jit::Stack& stack, size_t first,
                             at::ScalarType to, bool cache) {
  const CastingScope casting;
  for (size_t i = first; i < stack.size(); ++i) {
    stack[i] = CastTensors(stack[i], [&](const at::Tensor& tensor) {
      return Cast(tensor, to, cache);
    });
  }
}

at::Tensor AutocastRegion::Cast(const at::Tensor& tensor, at::ScalarType to,
                                bool cache) {
  if (!IsEligible(tensor) || tensor.scalar_type() == to) return tensor;
  if (!cache || to != mode_.dtype || !IsKept(tensor)) return tensor.to(to);
  const auto found = casts_.find(tensor.unsafeGetTensorImpl());
  if (found != casts_.end()) return found->second.second;
  at::Tensor cast = tensor.to(to);
  casts_.emplace(tensor.unsafeGetTensorImpl(), std::pair(tensor, cast));
  order_.push_back(tensor.unsafeGetTensorImpl());
  return cast;
}

}  // namespace foretell
