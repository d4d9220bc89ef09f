#include <gtest/gtest.h>

#include <string>

#include "foretell/error.h"
#include "foretell/parallel.h"
#include "src/graph/parallel_plan.h"

namespace foretell {
namespace {

TEST(ParallelSpec, ReadsWhatItWrites) {
  for (const std::string text :
       {"ddp:8",
        "ddp:2,bucket-view",
        "zero1:4",
        "zero1:4,bucket-view",
        "zero2:2",
        "fsdp:65536",
        "fsdp:8,blocks=model.layers.*",
        "fsdp1:8",
        "fsdp1:8,blocks=h.*",
        "tp:4",
        "tp:4,vocabulary",
        "tp:4,vocabulary,sp",
        "hsdp:2x4",
        "hsdp:2x32768",
        "hsdp1:2x4,reentrant",
        "fsdp:8,fp32-shards,reduce=fp32",
        "fsdp:4,cpu-offload",
        "zero2:4,no-sync",
        "ep:4,imbalance=150+fsdp:2",
        "ep:8+fsdp:1",
        "ep:2+hsdp:2x2",
        "fsdp1:2,cpu-offload,no-sync",
        "fsdp1:2,fp32-shards,reentrant,orig-params,reduce=bf16,blocks=h.*",
        "pp:4",
        "pp:4,schedule=gpipe",
        "pp:2,schedule=interleaved:2,microbatches=8",
        "pp:3,microbatches=6,split=h.4:h.8",
        "tp:2+ddp:4",
        "tp:2,vocabulary+ddp:4,bucket-view",
        "tp:4+fsdp:2,blocks=h.*",
        "tp:4+zero2:2",
        "tp:2+hsdp:2x4,fp32-shards,reduce=bf16",
        "pp:2,microbatches=8+ddp:4",
        "pp:2,microbatches=8+zero2:2,blocks=h.*",
        "pp:2+hsdp:2x2",
        "tp:2,sp+pp:4,schedule=gpipe,microbatches=8",
        "cp:4",
        "cp:4,all-to-all,unbalanced",
        "cp:2+ddp:4",
        "cp:8+fsdp:1,blocks=h.*",
        "cp:2+hsdp:2x4",
        "ep:4",
        "ep:4,imbalance=150"}) {
    EXPECT_EQ(ToString(ParseParallel("--parallel", text)), text);
  }
  EXPECT_EQ(ToString(ParallelSpec{}), "");
}

TEST(ParallelSpec, KnowsItsParts) {
  const ParallelSpec spec = ParseParallel("--parallel", "fsdp:8,blocks=h.*");
  EXPECT_EQ(spec.kind, ParallelKind::kFsdp);
  EXPECT_EQ(spec.gpus, 8);
  EXPECT_EQ(spec.blocks, "h.*");
  const ParallelSpec groups = ParseParallel("--parallel", "hsdp:2x4");
  EXPECT_EQ(groups.kind, ParallelKind::kFsdp);
  EXPECT_EQ(groups.gpus, 8);
  EXPECT_EQ(ShardGroup(groups), 4);
}

TEST(ParallelSpec, HasAMicroBatchForEachGpuByDefault) {
  const auto batches = [](const std::string& text) {
    return MicroBatchesOf(ParseParallel("--parallel", text));
  };
  EXPECT_EQ(batches("pp:4"), 4);
  EXPECT_EQ(batches("pp:4,microbatches=16"), 16);
  EXPECT_EQ(batches("ddp:4"), 1);
  EXPECT_EQ(ToString(ParseParallel("--parallel", "pp:4,schedule=1f1b")),
            "pp:4");
}

TEST(ParallelSpec, TakesCombinedPlansApart) {
  const ParallelSpec spec =
      ParseParallel("--parallel", "tp:2+fsdp:4,blocks=h.*");
  EXPECT_EQ(ToString(ModelPart(spec)), "tp:2");
  EXPECT_EQ(ToString(DataPart(spec)), "fsdp:4,blocks=h.*");
  EXPECT_TRUE(ShardsParameters(spec));
  EXPECT_FALSE(SharesInference(spec));
  EXPECT_EQ(DataPart(ModelPart(spec)), ParallelSpec{});
  const ParallelSpec groups = ParseParallel("--parallel", "tp:2+hsdp:2x4");
  EXPECT_EQ(ShardGroup(ModelPart(groups)), 2);
  EXPECT_EQ(ShardGroup(DataPart(groups)), 4);
}

TEST(ParallelSpec, ReadsStagesOfGroupsInEitherOrder) {
  const ParallelSpec spec =
      ParseParallel("--parallel", "pp:4,microbatches=8+tp:2,sp");
  EXPECT_EQ(ToString(spec), "tp:2,sp+pp:4,microbatches=8");
  EXPECT_EQ(ToString(ModelPart(spec)), "tp:2,sp");
  EXPECT_EQ(ToString(DataPart(spec)), "pp:4,microbatches=8");
  EXPECT_EQ(MicroBatchesOf(spec), 8);
  EXPECT_TRUE(HasStages(spec));
}

TEST(ParallelSpec, SaysWhatIsWrong) {
  const auto refusal = [](const std::string& text) -> std::string {
    try {
      ParseParallel("--parallel", text);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(
      refusal("pp:2,microbatches=0"),
      "--parallel 'pp:2,microbatches=0': expected microbatches=1 to 1024, "
      "got '0'");
  EXPECT_EQ(refusal("tp:2,blocks=h.*"),
            "--parallel 'tp:2,blocks=h.*': expected an option of tp "
            "(vocabulary, sp), got 'blocks=h.*'");
  EXPECT_EQ(refusal("pp:2+fsdp1:2"),
            "--parallel 'pp:2+fsdp1:2': expected one of ddp, zero2, fsdp, "
            "hsdp, tp after pp, got fsdp1");
}

TEST(ParallelSpec, ShardsAmongGpusThatShareSequences) {
  const ParallelSpec data =
      DataPart(ParseParallel("--parallel", "cp:2+hsdp:2x4"));
  EXPECT_EQ(data.gpus, 16);
  EXPECT_EQ(ShardGroup(data), 8);
  EXPECT_EQ(ToString(data), "hsdp:2x4");
}

TEST(ParallelSpec, ReadsDeepSpeedsStageThreeAsShards) {
  EXPECT_EQ(ToString(ParseParallel("--parallel", "zero3:8,fp32-shards")),
            "fsdp:8,fp32-shards");
}

TEST(ParallelSpec, RefusesOtherTexts) {
  for (const std::string text : {"",
                                 "ddp",
                                 "ddp:",
                                 "ddp:1",
                                 "ddp:0",
                                 "ddp:-2",
                                 "ddp:2.5",
                                 "ddp:65537",
                                 "hsdp:8",
                                 "hsdp:1x8",
                                 "hsdp:2x1",
                                 "hsdp:2x65536",
                                 "fsdp:2x4",
                                 "fsdp:8,reentrant",
                                 "zero2:8,fp32-shards",
                                 "zero2:8,cpu-offload",
                                 "fsdp:8,reduce=tf32",
                                 "fsdp:8,reduce=",
                                 "tp:4,bucket-view",
                                 "tp:4,blocks=h.*",
                                 "fsdp:8,",
                                 "cp:1",
                                 "cp:4,vocabulary",
                                 "cp:2+zero1:2",
                                 "cp:2+tp:2",
                                 "tp:2+fsdp:1",
                                 "ep:4,imbalance=99",
                                 "ep:4+ddp:2",
                                 "ep:4+fsdp1:2",
                                 "fsdp:8,blocks=",
                                 "fsdp:8,bucket-view",
                                 "fsdp1:8,bucket-view",
                                 "ddp:8,blocks=h.*",
                                 " ddp:8",
                                 "DDP:8",
                                 "fsdp:8,vocabulary",
                                 "tp:4,vocabulary=8",
                                 "pp:4,schedule=",
                                 "pp:4,schedule=interleaved",
                                 "pp:4,schedule=interleaved:1",
                                 "pp:4,microbatches=0",
                                 "pp:4,split=",
                                 "ddp:4,microbatches=8",
                                 "pp:4,vocabulary",
                                 "tp:2,fp32-shards+fsdp:2",
                                 "tp:2+ddp:2,reentrant",
                                 "ddp:4+tp:2",
                                 "tp:2+tp:2",
                                 "tp:2+zero1:2",
                                 "tp:2,vocabulary+fsdp:2",
                                 "pp:2+fsdp1:2",
                                 "pp:2+fsdp:2,no-sync",
                                 "pp:2+fsdp:2,reduce=fp32",
                                 "pp:2,schedule=interleaved:2+fsdp:2",
                                 "tp:2,vocabulary+pp:2",
                                 "pp:2+tp:2,vocabulary",
                                 "pp:2+pp:2",
                                 "tp:2+",
                                 "tp:2+ddp:2+ddp:2"}) {
    try {
      ParseParallel("--parallel", text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      EXPECT_TRUE(std::string(error.what())
                      .starts_with("--parallel '" + text + "': expected"))
          << error.what();
    }
  }
}

}  // namespace
}  // namespace foretell
