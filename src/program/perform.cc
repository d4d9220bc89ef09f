#include "src/program/perform.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>

#include "foretell/program.h"
#include "src/core/failure.h"
#include "src/program/operator_call.h"

namespace foretell {
namespace {

/// Largest number of input elements of an operator that is run for its shapes.
constexpr std::int64_t kMaxElements = std::int64_t{1} << 24;

/// Calls `convert` on every tensor of an argument or result.
template <typename Convert>
c10::IValue ConvertTensors(const c10::IValue& value, const Convert& convert) {
  if (value.isTensor()) return convert(value.toTensor());
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& tensor : value.toTensorVector()) {
      list.push_back(convert(tensor));
    }
    return list;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> list;
    for (const std::optional<at::Tensor>& tensor :
         value.toOptionalTensorVector()) {
      list.push_back(tensor ? std::optional(convert(*tensor)) : std::nullopt);
    }
    return list;
  }
  return value;
}

/// Turns meta tensors into CPU tensors, while they are small.
class CpuStandIns {
 public:
  at::Tensor operator()(const at::Tensor& tensor) {
    if (!tensor.defined() || !tensor.is_meta()) return tensor;
    requires_grad_ = requires_grad_ || tensor.requires_grad();
    elements_ += tensor.numel();
    if (elements_ > kMaxElements) return tensor;
    return at::ones(tensor.sizes(), tensor.options().device(at::kCPU));
  }
  bool too_large() const { return elements_ > kMaxElements; }
  bool requires_grad() const { return requires_grad_; }

 private:
  std::int64_t elements_ = 0;
  bool requires_grad_ = false;
};

/// True of operators that read the content of an operand on the host, as they
/// do on a GPU.
bool ReadsHost(const c10::FunctionSchema& schema) {
  constexpr std::string_view kReadHost[] = {"aten::_pack_padded_sequence",
                                            "aten::_pad_packed_sequence",
                                            "aten::lstm",
                                            "aten::gru",
                                            "aten::rnn_tanh",
                                            "aten::rnn_relu",
                                            "aten::tensor_split",
                                            "aten::repeat_interleave"};
  return std::ranges::find(kReadHost, schema.name()) != std::end(kReadHost);
}

at::Tensor ToMeta(const at::Tensor& tensor) {
  if (!tensor.defined()) return tensor;
  return at::empty_strided(tensor.sizes(), tensor.strides(),
                           tensor.options().device(at::kMeta));
}

[[noreturn]] void Refuse(const std::string& why) {
  throw Unsupported("has no meta kernel and {}", why);
}

bool RunsOnCpu(const c10::OperatorHandle& op) {
  constexpr c10::DispatchKey kKeys[] = {
      c10::DispatchKey::CPU, c10::DispatchKey::CompositeExplicitAutograd,
      c10::DispatchKey::CompositeImplicitAutograd,
      c10::DispatchKey::CompositeExplicitAutogradNonFunctional};
  return std::any_of(
      std::begin(kKeys), std::end(kKeys),
      [&](c10::DispatchKey key) { return op.hasKernelForDispatchKey(key); });
}

}  // namespace

bool MixesDevices(const c10::FunctionSchema& schema,
                  const torch::jit::Stack& stack) {
  constexpr std::string_view kTakeBoth[] = {
      "aten::_index_put_impl_", "aten::copy_",      "aten::index",
      "aten::index_put",        "aten::index_put_", "aten::to",
      "aten::type_as"};
  bool has_host_tensor = false;
  auto value = stack.end() - std::ssize(schema.arguments());
  for (const c10::Argument& argument : schema.arguments()) {
    const bool is_written =
        argument.alias_info() != nullptr && argument.alias_info()->isWrite();
    ForEachTensor(*value++, [&](const at::Tensor& tensor) {
      if (!tensor.is_cpu() || tensor.dim() == 0) return;
      has_host_tensor = true;
      if (!is_written) return;
      throw Unsupported(
          "writes into a tensor on the host, {}, which is not traced; make it "
          "on the device (device=x.device)",
          ToString(TypeOf(tensor)));
    });
  }
  return has_host_tensor && !ReadsHost(schema) &&
         std::ranges::find(kTakeBoth, schema.name()) == std::end(kTakeBoth);
}

void MoveToMeta(const c10::FunctionSchema& schema, torch::jit::Stack& stack) {
  if (ReadsHost(schema)) return;
  const bool indexes = schema.name().starts_with("aten::index");
  for (size_t i = stack.size() - schema.arguments().size(); i < stack.size();
       ++i) {
    stack[i] = ConvertTensors(stack[i], [&](const at::Tensor& tensor) {
      const bool stays = !tensor.defined() || tensor.is_meta() ||
                         tensor.dim() == 0 ||
                         (indexes && tensor.scalar_type() == at::kBool);
      return stays ? tensor : ToMeta(tensor);
    });
  }
}

std::string_view WayOut(const c10::OperatorHandle& op) {
  if (ReadsHost(op.schema())) {
    return "state its content with --value if it is an input, or use --trace "
           "cpu";
  }
  return RunsOnCpu(op) ? "use --trace cpu"
                       : "LibTorch alone has no kernel that runs it; an ONNX "
                         "export may work";
}

void PerformOnCpuForShapes(const c10::OperatorHandle& op,
                           torch::jit::Stack& stack) {
  const c10::FunctionSchema& schema = op.schema();
  if (!RunsOnCpu(op)) Refuse(std::string(WayOut(op)));
  if (schema.is_mutable()) {
    Refuse("writes into its argument; try --trace cpu");
  }
  CpuStandIns to_cpu;
  for (size_t i = stack.size() - schema.arguments().size(); i < stack.size();
       ++i) {
    if (stack[i].isDevice()) stack[i] = at::Device(at::kCPU);
    stack[i] = ConvertTensors(
        stack[i], [&](const at::Tensor& tensor) { return to_cpu(tensor); });
  }
  if (to_cpu.too_large()) {
    Refuse(
        fmt::format("its inputs have more than {} elements; try --trace cpu or "
                    "a smaller batch",
                    kMaxElements));
  }
  if (to_cpu.requires_grad() && at::GradMode::is_enabled()) {
    Refuse("its gradient cannot be traced without one; try --trace cpu");
  }
  {
    const c10::impl::ExcludeDispatchKeyGuard no_grad(
        c10::autograd_dispatch_keyset);
    op.callBoxed(&stack);
  }
  const size_t results = stack.size() - schema.returns().size();
  for (size_t i = results; i < stack.size(); ++i) {
    stack[i] = ConvertTensors(stack[i], ToMeta);
  }
}

}  // namespace foretell
