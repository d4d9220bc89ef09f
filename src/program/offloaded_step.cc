#include "src/program/offloaded_step.h"

#include <torch/library.h>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <string>

#include "src/core/failure.h"
#include "src/graph/collective.h"

namespace foretell {
namespace {

constexpr std::int64_t kFewestOnHost = 4096;  ///< minimal_size there.

struct HostStates {
  Optimizer optimizer;
  std::int64_t states;  ///< Per element of a parameter.
};

constexpr HostStates kHostStates[] = {
    {Optimizer::kSgd, 0},     {Optimizer::kMomentum, 1},
    {Optimizer::kAdam, 2},    {Optimizer::kAdamW, 2},
    {Optimizer::kAmsgrad, 3}, {Optimizer::kRmsProp, 1},
    {Optimizer::kAdagrad, 1},
};

std::int64_t StatesOnHost(Optimizer optimizer) {
  const auto* const row =
      std::ranges::find(kHostStates, optimizer, &HostStates::optimizer);
  if (row != std::end(kHostStates)) return row->states;
  throw InvalidArgument(
      "optimizer {}: its step on the host is not modelled; that of sgd, "
      "momentum, adam, adamw, amsgrad, rmsprop and adagrad is",
      OptimizerName(optimizer));
}

void RequireLoop(const TrainingLoop& loop) {
  const bool drops = loop.offload_optimizer == kOffloadGradients;
  if (!drops && loop.offload_optimizer != kOffloadStates) {
    throw InvalidArgument("offload_optimizer is '{}', expected {} or {}",
                          loop.offload_optimizer, kOffloadStates,
                          kOffloadGradients);
  }
  const bool is_plain =
      loop.parallel == ParallelSpec{} && !loop.optimizer_in_backward &&
      loop.set_to_none.value_or(true) && !(drops && loop.accumulation > 1);
  if (is_plain) return;
  throw InvalidArgument(
      "an optimizer on the host is modelled on one GPU, after the backward "
      "pass, with gradients that zero_grad() drops, and without accumulation "
      "where gradients go to the host");
}

void IgnoreOperands(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  torch::jit::drop(*stack, op.schema().arguments().size());
}

void DefineHostOperators() {
  // Never destroyed, as an operator's kernel may run at the end of a process.
  static auto& library = *new torch::Library(
      torch::Library::FRAGMENT, "offload", std::nullopt, __FILE__, __LINE__);
  // Written, for an operator without a result is not recorded.
  library.def("to_host(Tensor(a!) g) -> ()");
  library.def("step(Tensor(a!) p, int states) -> ()");
  for (const char* name : {"to_host", "step"}) {
    library.impl(
        name,
        torch::dispatch(
            c10::DispatchKey::CompositeExplicitAutograd,
            torch::CppFunction::makeFromBoxedFunction<&IgnoreOperands>()));
  }
}

void CallOnHost(std::string_view name, torch::jit::Stack operands) {
  c10::Dispatcher::singleton()
      .findSchemaOrThrow(std::string(name).c_str(), "")
      .callBoxed(&operands);
}

}  // namespace

OffloadedStep::OffloadedStep(const TrainingLoop& loop, Optimizer optimizer)
    : drops_gradients_(loop.offload_optimizer == kOffloadGradients),
      states_(StatesOnHost(optimizer)) {
  RequireLoop(loop);
  static std::once_flag once;
  std::call_once(once, &DefineHostOperators);
}

void OffloadedStep::Take(std::vector<at::Tensor>& parameters) {
  const auto rest = std::ranges::stable_partition(
      parameters, [](const at::Tensor& parameter) {
        return parameter.numel() < kFewestOnHost;
      });
  parameters_.assign(rest.begin(), rest.end());
  parameters.erase(rest.begin(), rest.end());
}

void OffloadedStep::SendGradient(const at::Tensor& parameter) {
  CallOnHost(kToHost, {parameter.grad()});
  std::erase_if(
      sent_, [&](const at::Tensor& sent) { return sent.is_same(parameter); });
  sent_.push_back(parameter);
  if (drops_gradients_) parameter.mutable_grad().reset();
}

void OffloadedStep::Step() {
  for (const at::Tensor& parameter : sent_) {
    CallOnHost(kStepOnHost, {parameter, states_});
  }
  sent_.clear();
}

void OffloadedStep::ZeroGrad() {
  for (const at::Tensor& parameter : parameters_) {
    parameter.mutable_grad().reset();
  }
}

}  // namespace foretell
