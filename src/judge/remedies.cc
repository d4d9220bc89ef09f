#include "src/judge/remedies.h"

#include <fmt/core.h>

#include "src/graph/parallel_plan.h"

namespace foretell {
namespace {

bool Trains(const StepSetup& setup) {
  return setup.run.mode == Mode::kTraining;
}

bool IsPlainFloat(const StepSetup& setup) {
  const Precision precision = setup.run.precision;
  return !setup.run.autocast &&
         (precision == Precision::kFp32 || precision == Precision::kTf32);
}

bool RunsEagerly(const StepSetup& setup) {
  return setup.run.runtime.runtime == Runtime::kEager;
}

bool CanRecompute(const StepSetup& setup) {
  return Trains(setup) && setup.loop.recompute.empty();
}

/// On one GPU, with everything that the optimizer needs there.
bool StepsOnOneGpu(const StepSetup& setup) {
  return Trains(setup) && setup.loop.parallel == ParallelSpec{} &&
         !setup.loop.optimizer_in_backward &&
         setup.loop.offload_optimizer.empty();
}

/// GPUs of one machine.
constexpr int kShardedOver[] = {2, 8};

ParallelSpec ShardedOver(int gpus) {
  return {.kind = ParallelKind::kFsdp, .gpus = gpus};
}

/// Optimizers to try instead: those of torch.optim that any network can use,
/// and the one of bitsandbytes with the smallest states of Adam's.
constexpr Optimizer kOtherOptimizers[] = {
    Optimizer::kSgd,       Optimizer::kMomentum, Optimizer::kAdam,
    Optimizer::kAdamW,     Optimizer::kRmsProp,  Optimizer::kAdagrad,
    Optimizer::kAdafactor, Optimizer::kAdamW8bit};

/// A remedy without an argument.
struct FixedRemedy {
  std::string_view name;
  std::string_view group;
  bool keeps_numerics;
  bool (*helps)(const StepSetup& setup);
  void (*apply)(StepSetup& setup);
};

constexpr FixedRemedy kFixedRemedies[] = {
    {"torch.no_grad()", "grad", true,
     [](const StepSetup& setup) { return setup.run.grad_mode; },
     [](StepSetup& setup) { setup.run.grad_mode = false; }},
    {"pure bf16 (weights too)", "precision", false, &IsPlainFloat,
     [](StepSetup& setup) { setup.run.precision = Precision::kBf16; }},
    {"activation checkpointing", "recompute", true, &CanRecompute,
     [](StepSetup& setup) { setup.loop.recompute = "auto"; }},
    {"checkpointing of every second block", "recompute", true, &CanRecompute,
     [](StepSetup& setup) { setup.loop.recompute = "auto/2"; }},
    {"saved tensors on the host", "offload", true,
     [](const StepSetup& setup) {
       return Trains(setup) && RunsEagerly(setup) &&
              setup.loop.parallel == ParallelSpec{} &&
              !setup.loop.offload_activations;
     },
     [](StepSetup& setup) { setup.loop.offload_activations = true; }},
    {"optimizer in the backward pass", "step", true,
     [](const StepSetup& setup) {
       return StepsOnOneGpu(setup) && setup.loop.accumulation == 1;
     },
     [](StepSetup& setup) { setup.loop.optimizer_in_backward = true; }},
    {"optimizer states on the host", "step", true,
     [](const StepSetup& setup) {
       return StepsOnOneGpu(setup) && HasListStep(setup.run.optimizer) &&
              setup.run.optimizer != Optimizer::kSgd &&
              DropsGradients(setup.loop, setup.run.torch);
     },
     [](StepSetup& setup) { setup.loop.offload_optimizer = kOffloadStates; }},
    {"foreach=False", "foreach", true,
     [](const StepSetup& setup) {
       return Trains(setup) && !setup.loop.fused &&
              UpdatesLists(setup.loop, setup.run.torch) &&
              HasListStep(setup.run.optimizer);
     },
     [](StepSetup& setup) { setup.loop.foreach = false; }},
    {"fused=True", "foreach", true,
     [](const StepSetup& setup) {
       return Trains(setup) && !setup.loop.fused &&
              HasFusedStep(setup.run.optimizer);
     },
     [](StepSetup& setup) { setup.loop.fused = true; }},
    {"set_to_none=True", "set_to_none", true,
     [](const StepSetup& setup) {
       return Trains(setup) && !DropsGradients(setup.loop, setup.run.torch);
     },
     [](StepSetup& setup) { setup.loop.set_to_none = true; }},
    {"zero_grad() before the forward pass", "zero_grad", true,
     [](const StepSetup& setup) {
       return Trains(setup) && setup.loop.late_zero_grad;
     },
     [](StepSetup& setup) { setup.loop.late_zero_grad = false; }},
    {"channels_last", "channels_last", true,
     [](const StepSetup& setup) {
       return setup.run.autocast && !setup.run.channels_last;
     },
     [](StepSetup& setup) { setup.run.channels_last = true; }},
    {"torch.compile", "runtime", true,
     [](const StepSetup& setup) {
       return RunsEagerly(setup) &&
              CanShareStep(Runtime::kCompile, setup.loop.parallel) &&
              !setup.loop.offload_activations;
     },
     [](StepSetup& setup) { setup.run.runtime.runtime = Runtime::kCompile; }},
    {"expandable segments", "allocator", true,
     [](const StepSetup& setup) { return !setup.expandable_segments; },
     [](StepSetup& setup) { setup.expandable_segments = true; }},
};

/// Shards of parameters, gradients and states on so many GPUs, each with the
/// batch that was asked for.
void AddShards(const StepSetup& setup, std::vector<RemedyRow>& rows) {
  const bool can_shard =
      StepsOnOneGpu(setup) &&
      CanShareStep(setup.run.runtime.runtime, ShardedOver(kShardedOver[0])) &&
      !setup.loop.offload_activations && setup.loop.accumulation == 1 &&
      !setup.loop.late_zero_grad && DropsGradients(setup.loop, setup.run.torch);
  if (!can_shard) return;
  for (const int gpus : kShardedOver) {
    rows.push_back({fmt::format("shard over {} GPUs (fsdp:{})", gpus, gpus),
                    "parallel", true, [gpus](StepSetup& changed) {
                      changed.loop.parallel = ShardedOver(gpus);
                    }});
  }
}

void AddOptimizers(const StepSetup& setup, std::vector<RemedyRow>& rows) {
  if (!Trains(setup)) return;
  for (const Optimizer optimizer : kOtherOptimizers) {
    if (optimizer == setup.run.optimizer) continue;
    rows.push_back({fmt::format("optimizer {}", OptimizerName(optimizer)),
                    "optimizer", false, [optimizer](StepSetup& changed) {
                      changed.run.optimizer = optimizer;
                      changed.loop.fused &= HasFusedStep(optimizer);
                    }});
  }
}

/// Automatic mixed precision, in the type that the device's tensor cores have:
/// BF16 since Ampere, which needs no loss scaling.
void AddAutocast(const StepSetup& setup, const DeviceSpec& device,
                 std::vector<RemedyRow>& rows) {
  if (!IsPlainFloat(setup)) return;
  const Precision precision = AutocastPrecision(device);
  rows.push_back({fmt::format("autocast to {}", PrecisionName(precision)),
                  "precision", false, [precision](StepSetup& changed) {
                    changed.run.autocast = true;
                    changed.run.precision = precision;
                  }});
}

/// Is modelled in eager PyTorch alone.
constexpr std::string_view kEagerGroup = "offload";
constexpr std::string_view kRuntimeGroup = "runtime";

}  // namespace

bool Exclude(const RemedyRow& one, const RemedyRow& other) {
  return one.group == other.group ||
         (one.group == kRuntimeGroup && other.group == kEagerGroup) ||
         (other.group == kRuntimeGroup && one.group == kEagerGroup);
}

std::vector<RemedyRow> RemediesFor(const AdviceRequest& request,
                                   const DeviceSpec& device) {
  std::vector<RemedyRow> rows;
  AddAutocast(request.setup, device, rows);
  for (const FixedRemedy& remedy : kFixedRemedies) {
    if (!remedy.helps(request.setup)) continue;
    rows.push_back({std::string(remedy.name), remedy.group,
                    remedy.keeps_numerics, remedy.apply});
  }
  AddOptimizers(request.setup, rows);
  // GPUs that share a step are not MIG instances.
  if (request.limits.profile.empty()) AddShards(request.setup, rows);
  if (!request.trainable.empty()) {
    rows.push_back({fmt::format("train only {}", request.trainable),
                    "trainable", false,
                    [pattern = request.trainable](StepSetup& setup) {
                      setup.loop.trainable = pattern;
                    }});
  }
  if (request.lora != LoraSpec{}) {
    const bool has_rank = request.lora.method == AdapterMethod::kLora;
    rows.push_back(
        {has_rank ? fmt::format("LoRA of rank {} on {}", request.lora.rank,
                                request.lora.targets)
                  : "adapters " + ToString(request.lora),
         "trainable", false,
         [lora = request.lora](StepSetup& setup) { setup.loop.lora = lora; }});
  }
  return rows;
}

RemedyRow SplitRemedy(const AdviceRequest& request, std::int64_t parts) {
  const bool trains = request.setup.run.mode == Mode::kTraining;
  const std::int64_t samples = request.batch / parts;
  return {trains ? fmt::format("gradient accumulation {} x {}", parts, samples)
                 : fmt::format("{} batches of {}", parts, samples),
          "batch", !(trains && request.normalizes_over_batch),
          [parts, trains](StepSetup& setup) {
            setup.parts *= parts;
            if (trains) setup.loop.accumulation *= static_cast<int>(parts);
          }};
}

}  // namespace foretell
