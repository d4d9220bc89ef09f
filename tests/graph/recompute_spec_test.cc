#include "src/graph/recompute_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "foretell/error.h"

namespace foretell {
namespace {

using testing::HasSubstr;

std::string Refusal(std::string_view text) {
  try {
    ParseRecompute(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(RecomputeSpec, ReadsPathsAndOptions) {
  const RecomputeSpec spec = ParseRecompute("blocks.*/2,head,save=mm/2|sdpa");
  ASSERT_EQ(spec.blocks.size(), 2U);
  EXPECT_EQ(spec.blocks[0].path, "blocks.*");
  EXPECT_EQ(spec.blocks[0].every, 2);
  EXPECT_EQ(spec.blocks[1].path, "head");
  EXPECT_EQ(spec.blocks[1].every, 1);
  ASSERT_EQ(spec.kept.size(), 2U);
  EXPECT_EQ(spec.kept[0].every, 2);
  EXPECT_EQ(spec.kept[1].every, 1);
  EXPECT_FALSE(spec.reentrant);
  EXPECT_TRUE(ParseRecompute("auto,reentrant").reentrant);
}

TEST(RecomputeSpec, KeepsASlashThatCountsNothing) {
  EXPECT_EQ(ParseRecompute("/layer1/block").blocks[0].path, "/layer1/block");
}

TEST(RecomputeSpec, DistinguishesProductsAsPyTorchDoes) {
  const RecomputeSpec spec = ParseRecompute("auto,save=mm|addmm");
  const Node plain{
      .target = "linear", .kind = OpKind::kLinear, .inputs = {0, 1}};
  const Node biased{
      .target = "linear", .kind = OpKind::kLinear, .inputs = {0, 1, 2}};
  EXPECT_TRUE(spec.kept[0].is_kept(plain));
  EXPECT_FALSE(spec.kept[0].is_kept(biased));
  EXPECT_FALSE(spec.kept[1].is_kept(plain));
  EXPECT_TRUE(spec.kept[1].is_kept(biased));
}

TEST(RecomputeSpec, CountsBlocksOnceEach) {
  const BlockOf block_of = BlocksOf(ParseRecompute("layers.*/2,head"), 0);
  EXPECT_EQ(block_of("layers.0.fc"), "");
  EXPECT_EQ(block_of("layers.1.fc"), "layers.1");
  EXPECT_EQ(block_of("layers.1.act"), "layers.1");
  EXPECT_EQ(block_of("layers.2.fc"), "");
  EXPECT_EQ(block_of("head.fc"), "head");
  EXPECT_EQ(block_of("layers.3.fc"), "layers.3");
  EXPECT_EQ(block_of("layers.0.fc"), "");  // of the next step
}

TEST(RecomputeSpec, RefusesWhatItDoesNotKnow) {
  EXPECT_THAT(Refusal("blocks.*,save=softmax"), HasSubstr("'softmax'"));
  EXPECT_THAT(Refusal("reentrant"), HasSubstr("names no blocks"));
  EXPECT_THAT(Refusal("auto,reentrant,save=mm"),
              HasSubstr("use_reentrant=False"));
}

}  // namespace
}  // namespace foretell
