#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "foretell/error.h"
#include "foretell/lora.h"

namespace foretell {
namespace {

LoraSpec Parsed(const std::string& text) { return ParseLora("--lora", text); }

TEST(LoraSpec, ReadsWhatItWrites) {
  for (const std::string text :
       {"r=16,targets=q_proj|v_proj", "r=1,targets=h.{1,2}",
        "r=8,targets=[q,k],dropout=0.05",
        "r=8,targets=q,type=bf16,save=lm_head|embed,bias=lora_only",
        "r=8,targets=q,bias=all,dora,kbit", "r=8,targets=q,vera",
        "targets=k|down,ia3,feedforward=down", "r=8,targets=q,method=loha",
        "r=8,targets=q,method=lokr,factor=4,both",
        "targets=q,bias=all,method=oft,block=32", "r=8,targets=q,method=boft",
        "method=prompt,tokens=20",
        "type=bf16,method=ptuning,tokens=20,hidden=8",
        "method=prefix,tokens=20,hidden=64"}) {
    EXPECT_EQ(ToString(Parsed(text)), text);
  }
  EXPECT_EQ(ToString(LoraSpec{}), "");
}

TEST(LoraSpec, KnowsItsKeysInAnyOrder) {
  const LoraSpec expected = {.rank = 8,
                             .targets = "q.{0,3}x",
                             .dropout = 0.1,
                             .type = DType::kF16,
                             .save = "lm_head",
                             .bias = TrainedBiases::kAdaptedBias,
                             .dora = true,
                             .kbit = true};
  EXPECT_EQ(Parsed("dora,targets=q.{0,3}x,alpha=16,dropout=0.1,r=8,rslora,"
                   "save=lm_head,kbit,bias=lora_only,type=f16"),
            expected);
}

TEST(LoraSpec, HasTwoWordsForTwoMethods) {
  EXPECT_EQ(Parsed("r=8,targets=q,method=vera"), Parsed("r=8,targets=q,vera"));
  EXPECT_EQ(Parsed("targets=q,method=ia3"), Parsed("targets=q,ia3"));
}

TEST(LoraSpec, WithoutEffectOnCostsAreScales) {
  EXPECT_EQ(Parsed("r=8,targets=q,alpha=32,rslora"), Parsed("r=8,targets=q"));
}

TEST(LoraSpec, RefusesOtherTexts) {
  for (const std::string text : {"",
                                 "16",
                                 "r=16",
                                 "targets=q",
                                 "r=0,targets=q",
                                 "r=16,targets=",
                                 "r=16,targets=q,droput=0.1",
                                 "r=16,targets=q,dropout=1",
                                 "r=16,targets=q,dropout=0,1",
                                 "r=16,targets=q,type=f64",
                                 "r=16,targets=q,type=i32",
                                 "r=16,targets=q,bias=some",
                                 "r=16,targets=q,dora=true",
                                 "r=16,targets=q,save",
                                 "r=16,targets=q,",
                                 "r=16,targets=q,ia3",
                                 "targets=q,ia3,dropout=0.1",
                                 "r=16,targets=q,feedforward=q",
                                 "r=16,targets=q,vera,dora",
                                 "r=16,targets=q,method=lilly",
                                 "targets=q,method=loha",
                                 "r=8,targets=q,method=oft,block=32",
                                 "targets=q,method=boft",
                                 "r=8,targets=q,method=loha,dropout=0.1",
                                 "r=8,targets=q,block=4",
                                 "r=8,targets=q,factor=4",
                                 "r=8,targets=q,method=loha,bias=all",
                                 "method=prompt",
                                 "method=prompt,tokens=8,hidden=8",
                                 "targets=q,method=prefix,tokens=8",
                                 "r=8,targets=q,tokens=8"}) {
    SCOPED_TRACE(text);
    try {
      Parsed(text);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      EXPECT_THAT(error.what(), testing::StartsWith("--lora '" + text));
      EXPECT_THAT(error.what(), testing::HasSubstr("dropout=0.05"));
    }
  }
}

}  // namespace
}  // namespace foretell
