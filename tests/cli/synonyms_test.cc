#include "cli/flags/synonyms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace foretell::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A program with a command of the flags that predictions have.
std::unique_ptr<CLI::App> SmallProgram() {
  auto app = std::make_unique<CLI::App>("", "foretell");
  CLI::App* predict = app->add_subcommand("predict");
  for (const char* flag :
       {"-b,--batch", "--device", "-p,--precision", "-m,--mode", "--optimizer",
        "-o,--out", "--seq-len"}) {
    predict->add_option(flag);
  }
  predict->add_flag("--autocast");
  CLI::App* train = app->add_subcommand("train");
  train->add_option("--batch-size");
  train->add_option("--batch");
  app->add_subcommand("inspect")->add_option("--format");
  app->add_subcommand("compare")->add_option("--devices");
  return app;
}

std::vector<std::string> Own(std::vector<std::string> words) {
  return InOwnWords(*SmallProgram(), std::move(words));
}

TEST(Synonyms, ReplaceFlagsOfOtherTools) {
  EXPECT_THAT(
      Own({"predict", "m.onnx", "--batch-size", "8", "--gpu=a100"}),
      ElementsAre("predict", "m.onnx", "--batch", "8", "--device=a100"));
}

TEST(Synonyms, NameOneDeviceAndSeveralAsTheCommandDoes) {
  EXPECT_THAT(
      Own({"compare", "m.onnx", "--device=a30,a40", "--gpu", "a2"}),
      ElementsAre("compare", "m.onnx", "--devices=a30,a40", "--devices", "a2"));
  EXPECT_THAT(Own({"predict", "m.onnx", "--devices", "a30"}),
              ElementsAre("predict", "m.onnx", "--device", "a30"));
}

TEST(Synonyms, AskForTheTreeWhereThereAreFormats) {
  EXPECT_THAT(Own({"inspect", "m.onnx", "--tree"}),
              ElementsAre("inspect", "m.onnx", "--format", "tree"));
  EXPECT_THAT(Own({"predict", "m.onnx", "--tree"}),
              ElementsAre("predict", "m.onnx", "--tree"));
}

TEST(Synonyms, AskForJsonWhereItIsOneOfSeveralFormats) {
  EXPECT_THAT(Own({"inspect", "m.onnx", "--json"}),
              ElementsAre("inspect", "m.onnx", "--format", "json"));
}

TEST(Synonyms, HaveManyNamesForALength) {
  for (const char* flag : {"--max-seq-len", "--sequence-length", "--seq_len",
                           "--context-length", "--seq-len"}) {
    EXPECT_THAT(Own({"predict", flag, "128"}),
                ElementsAre("predict", "--seq-len", "128"));
  }
}

TEST(Synonyms, GiveSwitchesTheirValue) {
  EXPECT_THAT(Own({"predict", "--train", "--amp", "--fp16"}),
              ElementsAre("predict", "--mode", "training", "--autocast",
                          "--precision", "fp16"));
}

TEST(Synonyms, NameValuesAsUsual) {
  EXPECT_THAT(Own({"predict", "--dtype", "torch.BFloat16", "-m", "train",
                   "--optimizer=AdamW"}),
              ElementsAre("predict", "--precision", "bf16", "-m", "training",
                          "--optimizer=adamw"));
}

TEST(Synonyms, LeaveAFlagThatTheCommandHas) {
  EXPECT_THAT(Own({"train", "--batch-size", "8"}),
              ElementsAre("train", "--batch-size", "8"));
}

TEST(Synonyms, LeaveOtherWordsAlone) {
  EXPECT_THAT(
      Own({"predict", "Train", "--nonsense", "--device", "A100"}),
      ElementsAre("predict", "Train", "--nonsense", "--device", "A100"));
  EXPECT_THAT(Own({"predict", "--autocast", "Model.ONNX"}),
              ElementsAre("predict", "--autocast", "Model.ONNX"));
  EXPECT_THAT(Own({"predict", "--", "--gpu"}),
              ElementsAre("predict", "--", "--gpu"));
  EXPECT_THAT(Own({}), IsEmpty());
}

TEST(Synonyms, HintAtWhatReplacesAFlag) {
  EXPECT_THAT(std::string(HintFor("--gpus")), HasSubstr("--parallel"));
  EXPECT_TRUE(HintFor("--batch").empty());
}

}  // namespace
}  // namespace foretell::cli
