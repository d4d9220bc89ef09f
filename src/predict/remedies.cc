#include "src/predict/remedies.h"

#include <fmt/core.h>

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

/// GPUs of one machine.
constexpr int kShardedOver[] = {2, 8};

/// A remedy without an argument.
struct FixedRemedy {
  std::string_view name;
  std::string_view group;
  bool (*helps)(const StepSetup& setup);
  void (*apply)(StepSetup& setup);
};

constexpr FixedRemedy kFixedRemedies[] = {
    {"torch.no_grad()", "grad",
     [](const StepSetup& setup) { return setup.run.grad_mode; },
     [](StepSetup& setup) { setup.run.grad_mode = false; }},
    {"autocast to fp16", "precision", &IsPlainFloat,
     [](StepSetup& setup) { setup.run.autocast = true; }},
    {"all of it in bf16", "precision", &IsPlainFloat,
     [](StepSetup& setup) { setup.run.precision = Precision::kBf16; }},
    {"recompute blocks", "recompute",
     [](const StepSetup& setup) {
       return Trains(setup) && setup.loop.recompute.empty();
     },
     [](StepSetup& setup) { setup.loop.recompute = "auto"; }},
    {"foreach=False", "foreach",
     [](const StepSetup& setup) {
       return Trains(setup) && setup.loop.foreach && !setup.loop.fused &&
              setup.run.optimizer != Optimizer::kAdafactor;
     },
     [](StepSetup& setup) { setup.loop.foreach = false; }},
    {"fused=True", "foreach",
     [](const StepSetup& setup) {
       return Trains(setup) && !setup.loop.fused &&
              HasFusedStep(setup.run.optimizer);
     },
     [](StepSetup& setup) { setup.loop.fused = true; }},
    {"set_to_none=True", "set_to_none",
     [](const StepSetup& setup) {
       return Trains(setup) && !setup.loop.set_to_none;
     },
     [](StepSetup& setup) { setup.loop.set_to_none = true; }},
    {"channels_last", "channels_last",
     [](const StepSetup& setup) {
       return setup.run.autocast && !setup.run.channels_last;
     },
     [](StepSetup& setup) { setup.run.channels_last = true; }},
    {"expandable segments", "allocator",
     [](const StepSetup& setup) { return !setup.expandable_segments; },
     [](StepSetup& setup) { setup.expandable_segments = true; }},
};

/// Shards of parameters, gradients and states on so many GPUs, each with the
/// batch that was asked for.
void AddShards(const StepSetup& setup, std::vector<RemedyRow>& rows) {
  const bool can_shard = Trains(setup) &&
                         setup.loop.parallel == ParallelSpec{} &&
                         setup.loop.accumulation == 1 && setup.loop.set_to_none;
  if (!can_shard) return;
  for (const int gpus : kShardedOver) {
    rows.push_back({fmt::format("shard over {} GPUs (fsdp:{})", gpus, gpus),
                    "parallel", [gpus](StepSetup& changed) {
                      changed.loop.parallel = {.kind = ParallelKind::kFsdp,
                                               .gpus = gpus};
                    }});
  }
}

void AddOptimizers(const StepSetup& setup, std::vector<RemedyRow>& rows) {
  if (!Trains(setup)) return;
  for (const Optimizer optimizer : kAllOptimizers) {
    if (optimizer == setup.run.optimizer) continue;
    rows.push_back({fmt::format("optimizer {}", OptimizerName(optimizer)),
                    "optimizer", [optimizer](StepSetup& changed) {
                      changed.run.optimizer = optimizer;
                      changed.loop.fused &= HasFusedStep(optimizer);
                    }});
  }
}

}  // namespace

std::vector<RemedyRow> RemediesFor(const AdviceRequest& request) {
  std::vector<RemedyRow> rows;
  for (const FixedRemedy& remedy : kFixedRemedies) {
    if (!remedy.helps(request.setup)) continue;
    rows.push_back({std::string(remedy.name), remedy.group, remedy.apply});
  }
  AddOptimizers(request.setup, rows);
  AddShards(request.setup, rows);
  if (!request.trainable.empty()) {
    rows.push_back({fmt::format("train only {}", request.trainable),
                    "trainable",
                    [pattern = request.trainable](StepSetup& setup) {
                      setup.loop.trainable = pattern;
                    }});
  }
  if (request.lora != LoraSpec{}) {
    rows.push_back({fmt::format("LoRA of rank {} on {}", request.lora.rank,
                                request.lora.targets),
                    "trainable", [lora = request.lora](StepSetup& setup) {
                      setup.loop.lora = lora;
                    }});
  }
  return rows;
}

RemedyRow SplitRemedy(std::int64_t batch, std::int64_t parts, Mode mode) {
  const bool trains = mode == Mode::kTraining;
  return {fmt::format("{} batches of {}{}", parts, batch / parts,
                      trains ? ", gradients added up" : ""),
          "batch", [parts, trains](StepSetup& setup) {
            setup.parts *= parts;
            if (trains) setup.loop.accumulation *= static_cast<int>(parts);
          }};
}

}  // namespace foretell
