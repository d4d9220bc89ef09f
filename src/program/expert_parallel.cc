#include "src/program/expert_parallel.h"

#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "src/core/checked.h"
#include "src/core/failure.h"
#include "src/program/exchanges.h"

// Expert parallelism by all_to_all_single of torch.distributed's functional
// collectives (PyTorch 2.13), as torchtitan's ExpertParallel has it: GPUs tell
// each other how many rows each expert gets, exchange the rows, and send the
// results back; gradients go the same ways. The sizes of an exchange are read
// on the host, which waits for the router.

namespace foretell {
namespace {

using torch::autograd::AutogradContext;
using Tensors = torch::autograd::variable_list;

thread_local ExpertParallelScope* current_experts = nullptr;
constexpr std::int64_t kPercent = 100;

struct AllToAllFunction : torch::autograd::Function<AllToAllFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& rows,
                            std::int64_t received, const ParallelSpec& spec) {
    context->saved_data["rows"] = rows.size(0);
    context->saved_data["plan"] = ToString(spec);
    return exchanges::AllToAll(rows.contiguous(), received, spec);
  }

  static Tensors backward(AutogradContext* context, const Tensors& gradients) {
    const ParallelSpec spec =
        ParseParallel("parallel", context->saved_data["plan"].toStringRef());
    return {exchanges::AllToAll(gradients[0].contiguous(),
                                context->saved_data["rows"].toInt(), spec),
            {},
            {}};
  }
};

}  // namespace

ExpertParallelScope::ExpertParallelScope(const TraceOptions& options)
    : spec_(options.loop.parallel) {
  if (spec_.kind == ParallelKind::kExpert) current_experts = this;
}

ExpertParallelScope::~ExpertParallelScope() { current_experts = nullptr; }

bool ExpertParallelScope::Shares() { return current_experts != nullptr; }

std::int64_t ExpertParallelScope::ExpertsHere(std::int64_t experts) {
  if (current_experts == nullptr) return experts;
  const ParallelSpec& spec = current_experts->spec_;
  current_experts->is_used_ = true;
  if (experts % spec.gpus == 0) return experts / spec.gpus;
  throw InvalidArgument("{}: {} experts are no {} equal groups", ToString(spec),
                        experts, spec.gpus);
}

at::Tensor ExpertParallelScope::Dispatch(const at::Tensor& rows,
                                         std::int64_t experts) {
  const ParallelSpec& spec = current_experts->spec_;
  const at::Tensor counts =
      at::zeros({experts}, rows.options().dtype(at::kLong));
  exchanges::AllToAll(counts, experts, spec);
  const std::int64_t sent = rows.size(0);
  const std::int64_t received =
      std::min(CeilDiv(sent * spec.imbalance, kPercent), sent * spec.gpus);
  return AllToAllFunction::apply(rows, received, spec);
}

at::Tensor ExpertParallelScope::Combine(const at::Tensor& results,
                                        std::int64_t rows) {
  return AllToAllFunction::apply(results, rows, current_experts->spec_);
}

void ExpertParallelScope::RequireUse() const {
  if (spec_.kind != ParallelKind::kExpert || is_used_) return;
  throw InvalidArgument(
      "{}: experts are shared of networks of the zoo that have some, one layer "
      "each",
      ToString(spec_));
}

}  // namespace foretell
