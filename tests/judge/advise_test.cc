// Advice on steps whose memory is a sum by hand: what is left of 1000 MiB after
// each change, with a time of its own.

#include "foretell/advise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "foretell/error.h"
#include "src/judge/advice_json.h"
#include "src/judge/remedies.h"
#include "tests/cost/test_device.h"

namespace foretell {
namespace {

using test::A100;
using testing::AllOf;
using testing::AnyOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Not;

Prediction Taking(double mib, double ms) {
  Prediction prediction;
  prediction[Target::kMemory] = {.value = mib, .interval = {0, mib}};
  prediction[Target::kLatency] = {.value = ms, .interval = {ms, ms}};
  return prediction;
}

/// Training in Adam: 1000 MiB and 10 ms. SGD takes 200 off, checkpointing 300
/// for 3 ms, half a batch 100 for 1 ms, expandable segments 50.
Prediction SimulateTraining(const StepSetup& setup) {
  double mib = 1000;
  double ms = 10;
  if (setup.run.optimizer != Optimizer::kAdam) mib -= 200;
  if (!setup.loop.recompute.empty()) mib -= 300, ms += 3;
  if (setup.loop.accumulation > 1) mib -= 100, ms += 1;
  if (setup.expandable_segments) mib -= 50;
  if (setup.run.precision == Precision::kBf16 && !setup.run.autocast) {
    throw Error(ErrorCode::kInvalidArgument, "the file fixes element types");
  }
  return Taking(mib, ms);
}

Advice AdviseTraining(double max_memory_mib,
                      const SimulateStep& simulate = &SimulateTraining) {
  const AdviceRequest request = {
      .setup = {.run = {.mode = Mode::kTraining,
                        .optimizer = Optimizer::kAdam}},
      .batch = 6,
      .limits = {.max_memory_mib = max_memory_mib}};
  return Advise(request, A100(), simulate);
}

AdviceRequest BatchNormRequest() {
  return {.setup = {.run = {.mode = Mode::kTraining,
                            .optimizer = Optimizer::kAdam}},
          .batch = 6,
          .normalizes_over_batch = true};
}

std::vector<std::string> NamesOfRemedies(const Advice& advice) {
  std::vector<std::string> names;
  for (const Remedy& remedy : advice.remedies) {
    names.push_back(remedy.names.front());
  }
  return names;
}

TEST(Advise, BatchNormSeesPartsOfABatch) {
  const auto keeps_numerics = [](const AdviceRequest& request) {
    for (const Remedy& remedy :
         Advise(request, A100(), &SimulateTraining).remedies) {
      if (remedy.names.front() == "gradient accumulation 2 x 3") {
        return remedy.keeps_numerics;
      }
    }
    throw std::logic_error("the batch was not divided");
  };
  AdviceRequest request = BatchNormRequest();
  EXPECT_FALSE(keeps_numerics(request));
  request.normalizes_over_batch = false;
  EXPECT_TRUE(keeps_numerics(request));
}

TEST(Advise, RanksWhatKeepsTheNumericsFirst) {
  const Advice advice = AdviseTraining(2000);
  EXPECT_TRUE(advice.unchanged.fits);
  EXPECT_FALSE(advice.smallest);
  // Of a batch of 6 only halves are whole.
  EXPECT_THAT(
      NamesOfRemedies(advice),
      ElementsAre(
          "activation checkpointing", "checkpointing of every second block",
          "gradient accumulation 2 x 3", "expandable segments",
          "saved tensors on the host", "optimizer in the backward pass",
          "optimizer states on the host", "foreach=False", "fused=True",
          "torch.compile", "shard over 2 GPUs (fsdp:2)",
          "shard over 8 GPUs (fsdp:8)", "optimizer sgd", "optimizer momentum",
          "optimizer adamw", "optimizer rmsprop", "optimizer adagrad",
          "optimizer adafactor", "optimizer adamw8bit", "autocast to bf16"));
  const Remedy& first = advice.remedies.front();
  EXPECT_EQ(first.saved_mib, 300);
  EXPECT_EQ(first.time_factor, 1.3);
  EXPECT_EQ(first.setup.loop.recompute, "auto");
}

TEST(Advise, TriesSingleChangesAloneWhenAsked) {
  AdviceRequest request = {.setup = {.run = {.mode = Mode::kTraining,
                                             .optimizer = Optimizer::kAdam}},
                           .batch = 6,
                           .limits = {.max_memory_mib = 450}};
  const Advice all = Advise(request, A100(), &SimulateTraining);
  request.alone = true;
  request.unchanged = Taking(1000, 10);
  std::size_t calls = 0;
  const Advice alone = Advise(request, A100(), [&](const StepSetup& setup) {
    ++calls;
    return SimulateTraining(setup);
  });
  EXPECT_EQ(calls, alone.remedies.size() + alone.untried.size());
  EXPECT_EQ(NamesOfRemedies(alone), NamesOfRemedies(all));
  EXPECT_EQ(alone.remedies.front().saved_mib, all.remedies.front().saved_mib);
  EXPECT_FALSE(alone.smallest);
  EXPECT_TRUE(all.smallest);
}

/// Shards take 900 MiB off, and nothing else as much.
Prediction SimulateShards(const StepSetup& setup) {
  Prediction prediction = SimulateTraining(setup);
  if (setup.loop.parallel.gpus < 8) return prediction;
  return Taking(100, prediction[Target::kLatency].value);
}

TEST(Advise, AsksForMoreGpusOnlyWhereNothingElseHelps) {
  const Advice on_one = AdviseTraining(700, &SimulateShards);
  ASSERT_TRUE(on_one.smallest);
  EXPECT_EQ(on_one.smallest->setup.loop.parallel, ParallelSpec{});
  EXPECT_EQ(on_one.remedies.front().names.front(),
            "shard over 8 GPUs (fsdp:8)");
  const Advice on_eight = AdviseTraining(150, &SimulateShards);
  ASSERT_TRUE(on_eight.smallest);
  EXPECT_EQ(on_eight.smallest->setup.loop.parallel,
            (ParallelSpec{.kind = ParallelKind::kFsdp, .gpus = 8}));
}

TEST(Advise, SaysWhatCouldNotBeSimulated) {
  const Advice advice = AdviseTraining(2000);
  ASSERT_EQ(advice.untried.size(), 1u);
  EXPECT_EQ(advice.untried[0].name, "pure bf16 (weights too)");
  EXPECT_EQ(advice.untried[0].reason, "the file fixes element types");
}

TEST(Advise, RecommendsWhatKeepsTheNumericsWhereThatIsEnough) {
  const Advice one = AdviseTraining(800);
  ASSERT_TRUE(one.smallest);
  // SGD fits alone and is faster: 10 ms instead of 13.
  EXPECT_THAT(one.smallest->names, ElementsAre("activation checkpointing"));
  EXPECT_TRUE(one.combinations.empty());
  const Advice two = AdviseTraining(600);
  ASSERT_TRUE(two.smallest);
  EXPECT_THAT(two.smallest->names, ElementsAre("activation checkpointing",
                                               "gradient accumulation 2 x 3"));
  EXPECT_TRUE(two.smallest->keeps_numerics);
}

TEST(Advise, ChangesTheNumericsWhereNothingElseHelps) {
  const Advice advice = AdviseTraining(500);
  ASSERT_TRUE(advice.smallest);
  EXPECT_THAT(advice.smallest->names,
              ElementsAre("activation checkpointing", "optimizer sgd"));
  EXPECT_FALSE(advice.smallest->keeps_numerics);
  EXPECT_EQ(advice.smallest->saved_mib, 500);
  // With momentum and adamw8bit, too.
  EXPECT_EQ(advice.combinations.size(), 3u);
}

TEST(Advise, AddsRemediesUntilItFits) {
  const Advice advice = AdviseTraining(350);
  ASSERT_TRUE(advice.smallest);
  EXPECT_EQ(advice.smallest->names.size(), 4u);
  EXPECT_EQ(advice.smallest->step.needed_mib, 350);
  EXPECT_FALSE(AdviseTraining(349).smallest);
}

TEST(Advise, TriesCombinationsInsteadOfAddingUp) {
  // Together the two save no more than one.
  const auto overlapping = [](const StepSetup& setup) {
    const bool saves = setup.run.optimizer != Optimizer::kAdam ||
                       !setup.loop.recompute.empty();
    return Taking(saves ? 800 : 1000, 10);
  };
  EXPECT_TRUE(AdviseTraining(800, overlapping).smallest);
  EXPECT_FALSE(AdviseTraining(700, overlapping).smallest);
}

TEST(Advise, HalvesABatchUntilItFits) {
  const AdviceRequest request = {.batch = 64,
                                 .limits = {.max_memory_mib = 100}};
  const auto by_sample = [](const StepSetup& setup) {
    return Taking(10.0 * 64 / static_cast<double>(setup.parts), 8);
  };
  const Advice advice = Advise(request, A100(), by_sample);
  ASSERT_TRUE(advice.smallest);
  EXPECT_THAT(advice.smallest->names, ElementsAre("8 batches of 8"));
  // 8 runs of 8 ms, where one of 64 took 8.
  EXPECT_EQ(advice.smallest->time_factor, 8);
  EXPECT_THAT(NamesOfRemedies(advice), Contains("2 batches of 32"));
  EXPECT_THAT(NamesOfRemedies(advice), Not(Contains("4 batches of 16")));
}

TEST(Remedies, ShardWhatIsCompiled) {
  const RemedyRow compiled{"torch.compile", "runtime", true, {}};
  const RemedyRow shard{"shard over 2 GPUs (fsdp:2)", "parallel", true, {}};
  const RemedyRow offload{"saved tensors on the host", "offload", true, {}};
  EXPECT_FALSE(Exclude(compiled, shard));
  EXPECT_TRUE(Exclude(compiled, offload));
  EXPECT_TRUE(Exclude(offload, compiled));
}

TEST(Remedies, AreThoseThatApply) {
  const auto names_of = [](const AdviceRequest& request) {
    std::vector<std::string> names;
    for (const RemedyRow& row : RemediesFor(request, A100())) {
      names.push_back(row.name);
    }
    return names;
  };
  EXPECT_THAT(names_of({.setup = {.run = {.grad_mode = true}}}),
              ElementsAre("autocast to bf16", "torch.no_grad()",
                          "pure bf16 (weights too)", "torch.compile",
                          "expandable segments"));
  EXPECT_THAT(names_of({.setup = {.run = {.autocast = true},
                                  .expandable_segments = true}}),
              ElementsAre("channels_last", "torch.compile"));
  EXPECT_THAT(
      names_of({.setup = {.run = {.mode = Mode::kTraining,
                                  .runtime = {.runtime = Runtime::kCompile}}}}),
      AllOf(
          Contains("activation checkpointing"),
          Contains("shard over 2 GPUs (fsdp:2)"),
          Not(Contains(AnyOf("torch.compile", "saved tensors on the host")))));
  EXPECT_THAT(
      names_of(
          {.setup = {.run = {.mode = Mode::kTraining,
                             .runtime = {.runtime = Runtime::kTensorRt}}}}),
      Not(Contains("shard over 2 GPUs (fsdp:2)")));
  const auto shared = [&](const char* plan) {
    return names_of({.setup = {.run = {.mode = Mode::kTraining},
                               .loop = {.parallel = ParseParallel("", plan)}}});
  };
  EXPECT_THAT(shared("fsdp:8"), Contains("torch.compile"));
  EXPECT_THAT(shared("tp:8"), Not(Contains("torch.compile")));
  const AdviceRequest training = {.setup = {.run = {.mode = Mode::kTraining},
                                            .loop = {.foreach = false,
                                                     .set_to_none = false,
                                                     .recompute = "blocks.*"}},
                                  .trainable = "head"};
  EXPECT_THAT(names_of(training), Contains("set_to_none=True"));
  EXPECT_THAT(names_of(training), Contains("train only head"));
  EXPECT_THAT(names_of(training), Not(Contains("activation checkpointing")));
  EXPECT_THAT(names_of(training), Not(Contains("foreach=False")));
}

TEST(Remedies, CastToWhatTheTensorCoresTake) {
  const DeviceSpec& v100 = DeviceCatalog::BuiltIn().FindDevice("v100");
  EXPECT_EQ(RemediesFor({}, v100).front().name, "autocast to fp16");
}

TEST(Remedies, FuseOnlyWhatPyTorchHasFused) {
  AdviceRequest fused = {
      .setup = {.run = {.mode = Mode::kTraining, .optimizer = Optimizer::kAdam},
                .loop = {.fused = true}}};
  for (const RemedyRow& row : RemediesFor(fused, A100())) {
    EXPECT_NE(row.name, "fused=True");
    EXPECT_NE(row.name, "foreach=False");
    StepSetup setup = fused.setup;
    row.apply(setup);
    EXPECT_TRUE(!setup.loop.fused || HasFusedStep(setup.run.optimizer))
        << row.name;
  }
  fused.setup = {
      .run = {.mode = Mode::kTraining, .optimizer = Optimizer::kRmsProp}};
  for (const RemedyRow& row : RemediesFor(fused, A100())) {
    EXPECT_NE(row.name, "fused=True");
  }
}

TEST(AdviceJson, HasTheStepAndItsRemedies) {
  const AdvisedModel advised = {.model = "net",
                                .place = "a100",
                                .usable_mib = 500,
                                .advice = AdviseTraining(500)};
  const nlohmann::ordered_json json = AdviceToJson({&advised, 1}, {});
  const auto& result = json["results"][0];
  EXPECT_EQ(result["unchanged"]["needed_mib"], 1000);
  EXPECT_EQ(result["remedies"][0]["remedies"][0], "activation checkpointing");
  EXPECT_EQ(result["remedies"][0]["keeps_numerics"], true);
  EXPECT_EQ(result["remedies"][0]["saved_mib"], 300);
  EXPECT_EQ(result["smallest"]["needed_mib"], 500);
  EXPECT_EQ(result["untried"][0]["remedy"], "pure bf16 (weights too)");
  EXPECT_TRUE(json["errors"].empty());
}

}  // namespace
}  // namespace foretell
