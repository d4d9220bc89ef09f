#include <gtest/gtest.h>

#include <string>

#include "foretell/error.h"
#include "foretell/parallel.h"

namespace foretell {
namespace {

TEST(ParallelSpec, ReadsWhatItWrites) {
  for (const std::string text :
       {"ddp:8", "ddp:2,bucket-view", "zero1:4", "zero1:4,bucket-view",
        "zero2:2", "fsdp:65536", "fsdp:8,blocks=model.layers.*", "fsdp1:8",
        "fsdp1:8,blocks=h.*", "tp:4", "tp:4,vocabulary", "hsdp:2x4",
        "hsdp1:2x4,reentrant", "fsdp:8,fp32-shards,reduce=fp32",
        "fsdp1:2,fp32-shards,reentrant,orig-params,reduce=bf16,blocks=h.*"}) {
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
                                 "fsdp:8,reduce=tf32",
                                 "fsdp:8,reduce=",
                                 "tp:4,bucket-view",
                                 "tp:4,blocks=h.*",
                                 "fsdp:8,",
                                 "fsdp:8,blocks=",
                                 "fsdp:8,bucket-view",
                                 "fsdp1:8,bucket-view",
                                 "ddp:8,blocks=h.*",
                                 " ddp:8",
                                 "DDP:8",
                                 "fsdp:8,vocabulary",
                                 "tp:4,vocabulary=8"}) {
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
