#include "cli/flags/model_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/graph/expect_error.h"

namespace foretell::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

ModelOptions ParseModel(const std::string& line, bool many = true) {
  ModelOptions options;
  CLI::App app;
  options.AddTo(app, many);
  app.parse(line);
  return options;
}

TEST(ModelOptions, TakeModelsAndBatchesAsLists) {
  const ModelOptions options = ParseModel("a.onnx b.pt --batch 1,8,32 c.onnx");
  EXPECT_THAT(options.models, ElementsAre("a.onnx", "b.pt", "c.onnx"));
  EXPECT_THAT(options.batches, ElementsAre(1, 8, 32));
}

TEST(ModelOptions, RefuseBatchesThatAreNone) {
  for (const char* batch : {"0", "-1", "x", "1,0", "1.5", "9x"}) {
    EXPECT_THROW(ParseModel(std::string("a.onnx --batch ") + batch),
                 CLI::ParseError)
        << batch;
  }
}

TEST(ModelOptions, NeedAModel) {
  EXPECT_THROW(ParseModel("--batch 1"), CLI::RequiredError);
}

TEST(ModelOptions, OfOneModelHaveNeitherASecondNorBatches) {
  EXPECT_THAT(ParseModel("a.onnx", false).models, ElementsAre("a.onnx"));
  EXPECT_THROW(ParseModel("a.onnx b.onnx", false), CLI::ParseError);
  EXPECT_THROW(ParseModel("a.onnx --batch 2", false), CLI::ParseError);
}

TEST(ModelOptions, TakeALengthForFilesAndForTheZoo) {
  const ModelOptions options =
      ParseModel("m.onnx zoo:bert_base zoo:gpt?seq=8 --seq-len 64");
  EXPECT_THAT(options.models, ElementsAre("m.onnx", "zoo:bert_base?seq=64",
                                          "zoo:gpt?seq=8&seq=64"));
  EXPECT_THAT(options.ToRequest(std::nullopt).dims,
              ElementsAre(Pair(kSequenceLength, 64)));
  EXPECT_THROW(ParseModel("m.onnx --seq-len 0"), CLI::ValidationError);
}

TEST(ModelOptions, WritePhaseAndCacheIntoTheNamesOfTheZoo) {
  EXPECT_THAT(ParseModel("zoo:llama2_7b zoo:llama?seq=8 --cache 64 --phase "
                         "decode")
                  .models,
              ElementsAre("zoo:llama2_7b?phase=decode&cache=64",
                          "zoo:llama?seq=8&phase=decode&cache=64"));
  EXPECT_THAT(ParseModel("zoo:llama2_7b --cache 64").models,
              ElementsAre("zoo:llama2_7b?cache=64"));
  EXPECT_THROW(ParseModel("zoo:llama2_7b --phase encode"),
               CLI::ValidationError);
  ExpectError([] { ParseModel("a.onnx --phase decode"); },
              ErrorCode::kInvalidArgument,
              "a.onnx: --phase and --cache are for language models");
}

TEST(ModelOptions, AnInputTakesOneWordOnly) {
  const ModelOptions options =
      ParseModel("--input x=f32[8,3] a.onnx -i y=i64[8] b.onnx");
  EXPECT_THAT(options.models, ElementsAre("a.onnx", "b.onnx"));
  const InputRequest request = options.ToRequest(4);
  ASSERT_EQ(request.inputs.size(), 2u);
  EXPECT_EQ(request.inputs[0].name, "x");
  EXPECT_EQ(ToString(request.inputs[1].type), "i64[8]");
  EXPECT_EQ(request.batch, 4);
}

TEST(ModelOptions, DimensionsEndAtTheLastSign) {
  const InputRequest request =
      ParseModel("m --dim seq=128 -d a=b=3 -d zero=0").ToRequest(std::nullopt);
  EXPECT_THAT(
      request.dims,
      UnorderedElementsAre(Pair("seq", 128), Pair("a=b", 3), Pair("zero", 0)));
  EXPECT_FALSE(request.batch.has_value());
}

TEST(ModelOptions, RefuseDimensionsWithoutNameOrSize) {
  for (const char* dim : {"seq", "=3", "seq=", "seq=x", "seq=-1", "seq=1x",
                          "seq=99999999999999999999"}) {
    ModelOptions options;
    options.dims = {dim};
    ExpectError([&] { options.ToRequest(std::nullopt); },
                ErrorCode::kInvalidArgument,
                "--dim '" + std::string(dim) + "': expected NAME=SIZE");
  }
}

TEST(ModelOptions, ChooseTheFusion) {
  EXPECT_EQ(ParseModel("m").ToLoadOptions().fusion, Fusion::kExported);
  EXPECT_EQ(ParseModel("m --fuse none").ToLoadOptions().fusion, Fusion::kOff);
  EXPECT_EQ(ParseModel("m --fuse equivalent").ToLoadOptions().fusion,
            Fusion::kEquivalent);
  EXPECT_THROW(ParseModel("m --fuse all"), CLI::ValidationError);
}

TEST(ModelOptions, SayWhichStepIsTraced) {
  const TraceOptions plain = ParseModel("m").ToStep({}).options;
  EXPECT_EQ(plain.run.mode, Mode::kInference);
  EXPECT_EQ(plain.run.precision, Precision::kFp32);
  EXPECT_EQ(plain.device, TraceDevice::kMeta);
  EXPECT_FALSE(plain.run.autocast);
  const TraceOptions step =
      ParseModel("m -m training --optimizer adam -p bf16 --trace cpu")
          .ToStep({})
          .options;
  EXPECT_EQ(step.run.mode, Mode::kTraining);
  EXPECT_EQ(step.run.optimizer, Optimizer::kAdam);
  EXPECT_EQ(step.run.precision, Precision::kBf16);
  EXPECT_EQ(step.device, TraceDevice::kCpu);
}

TEST(ModelOptions, RefuseWordsOfNoStep) {
  for (const char* flags : {"--mode train", "--optimizer lars",
                            "--precision fp8", "--trace cuda"}) {
    EXPECT_THROW(ParseModel(std::string("m ") + flags), CLI::ValidationError)
        << flags;
  }
}

struct AutocastCase {
  const char* flags;
  DType cast;
  Precision uncast;
};

TEST(ModelOptions, UnderAutocastPrecisionIsWhatIsCastTo) {
  for (const AutocastCase& one :
       {AutocastCase{"m", DType::kF16, Precision::kFp32},
        AutocastCase{"m -p fp16", DType::kF16, Precision::kFp32},
        AutocastCase{"m -p bf16", DType::kBF16, Precision::kFp32},
        AutocastCase{"m -p tf32", DType::kF16, Precision::kTf32}}) {
    ModelOptions options = ParseModel(one.flags);
    options.run.autocast = true;
    const foretell::Run run = options.ToStep({}).options.run;
    EXPECT_EQ(AutocastType(run), one.cast) << one.flags;
    EXPECT_EQ(UncastPrecision(run), one.uncast) << one.flags;
  }
  foretell::Run run = {.precision = Precision::kBf16, .autocast = true};
  run.half_weights = true;
  EXPECT_EQ(AutocastType(run), DType::kBF16);
  EXPECT_EQ(UncastPrecision(run), Precision::kBf16);
}

TEST(DeviceFlags, NameTheFileThatIsMissing) {
  DeviceFlags flags;
  flags.device_files = {"missing/device.json"};
  ExpectError([&] { flags.Catalog(); }, ErrorCode::kNotFound,
              "missing/device.json");
  flags = {.environment_files = {"missing/environments.json"}};
  ExpectError([&] { flags.Catalog(); }, ErrorCode::kNotFound,
              "missing/environments.json");
}

TEST(DeviceFlags, FindWhatTheCatalogueHas) {
  EXPECT_EQ(DeviceFlags{}.Find().name, "a100-sxm4-40gb");
  EXPECT_EQ(DeviceFlags{.device = "a30"}.Find().name, "a30");
  ExpectError([] { DeviceFlags{.device = "gtx"}.Find(); }, ErrorCode::kNotFound,
              "gtx");
}

ModelOptions ParsePasses(const std::string& line) {
  ModelOptions options;
  CLI::App app;
  options.AddTo(app, /*many=*/true);
  options.passes.AddTo(app);
  app.parse(line);
  return options;
}

TEST(PassFlags, JoinNetworksBetweenWhichAPlusStands) {
  const ModelOptions options = ParsePasses("a.onnx + b.onnx + b.onnx c.onnx");
  EXPECT_THAT(options.models,
              ElementsAre("a.onnx + b.onnx + b.onnx", "c.onnx"));
  EXPECT_EQ(options.passes.FirstOf(options.models[0]), "a.onnx");
  EXPECT_EQ(options.passes.FirstOf("c.onnx"), "c.onnx");
  for (const char* line : {"+ a.onnx", "a.onnx +", "a.onnx + + b.onnx"}) {
    ExpectError([line] { ParsePasses(line); }, ErrorCode::kInvalidArgument,
                std::string(line) + ": '+' stands between networks");
  }
  ExpectError([] { ParseModel("a.onnx + b.onnx"); },
              ErrorCode::kInvalidArgument,
              "which predict, fits and finetune answer");
}

TEST(PassFlags, TakeTheLongestLengthForTheStep) {
  const ModelOptions options =
      ParsePasses("m.onnx zoo:bert_base --lengths 64,512,64");
  EXPECT_THAT(options.models, ElementsAre("m.onnx", "zoo:bert_base?seq=512"));
  EXPECT_THAT(options.passes.other_lengths.at("m.onnx"),
              ElementsAre(Pair(64, "m.onnx")));
  EXPECT_THAT(options.passes.other_lengths.at("zoo:bert_base?seq=512"),
              ElementsAre(Pair(64, "zoo:bert_base?seq=64")));
  EXPECT_THAT(options.ToRequest(std::nullopt).dims,
              ElementsAre(Pair(kSequenceLength, 512)));
}

TEST(ParseLengths, KeepsTheOrderOfAList) {
  EXPECT_THAT(ParseLengths("64,512,384,64"), ElementsAre(64, 512, 384, 64));
  EXPECT_THAT(ParseLengths("8"), ElementsAre(8));
}

TEST(ParseLengths, DrawsEightLengthsOfARangeTwiceEach) {
  const std::vector<std::int64_t> steps = ParseLengths("30..100");
  EXPECT_THAT(steps, UnorderedElementsAre(30, 30, 40, 40, 50, 50, 60, 60, 70,
                                          70, 80, 80, 90, 90, 100, 100));
  EXPECT_FALSE(std::ranges::is_sorted(steps));
  EXPECT_EQ(steps, ParseLengths("30..100"));
  EXPECT_THAT(ParseLengths("7..8"), UnorderedElementsAre(7, 7, 8, 8));
}

TEST(ParseLengths, RefusesWhatIsNeither) {
  for (const char* text :
       {"", "0", "x", "8..4", "8..8", "1..", "1,2,3,4,5,6,7,8,9"}) {
    ExpectError([text] { ParseLengths(text); }, ErrorCode::kInvalidArgument,
                "--lengths '" + std::string(text) + "': expected");
  }
}

TEST(ForEachStep, PlansTheNetworksOfOneProcess) {
  const ModelOptions options =
      ParsePasses("zoo:resnet18 + zoo:resnet50 --batch 2 --mode training");
  int calls = 0;
  EXPECT_THAT(ForEachStep(options,
                          [&](Session& session) {
                            ++calls;
                            EXPECT_EQ(session.program().name(),
                                      "zoo:resnet18 + zoo:resnet50");
                            ASSERT_NE(session.plan(), nullptr);
                            EXPECT_EQ(session.plan()->label, "zoo:resnet18");
                            const GraphInfo& other =
                                session.StepOfPass(1).graph.info();
                            EXPECT_EQ(other.mode, Mode::kInference);
                            EXPECT_EQ(other.batch, 2);
                          }),
              testing::IsEmpty());
  EXPECT_EQ(calls, 1);
}

TEST(ForEachStep, GoesOnAfterAModelThatFails) {
  ModelOptions options;
  options.models = {"missing.onnx", "zoo:resnet18"};
  options.batches = {1, 2};
  std::vector<std::string> seen;
  const std::vector<ReportError> errors =
      ForEachStep(options, [&](Session& session) {
        seen.push_back(session.program().name() + " " +
                       ToString(session.Step().inputs.front().type));
      });
  EXPECT_THAT(seen, ElementsAre(HasSubstr("resnet18 f32[1,3,224,224]"),
                                HasSubstr("resnet18 f32[2,3,224,224]")));
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].model, "missing.onnx");
  EXPECT_EQ(errors[0].code, ErrorCode::kNotFound);
}

TEST(ForEachStep, TurnsExceptionsOfItsUserIntoErrors) {
  ModelOptions options;
  options.models = {"zoo:resnet18", "zoo:resnet18"};
  options.batches = {1};
  int calls = 0;
  const std::vector<ReportError> errors = ForEachStep(options, [&](Session&) {
    if (++calls == 1) throw std::runtime_error("odd\nstack trace");
    throw Error(ErrorCode::kCorrupt, "ours");
  });
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0].code, ErrorCode::kInternal);
  EXPECT_EQ(errors[0].message, "zoo:resnet18: odd");
  EXPECT_EQ(errors[1].code, ErrorCode::kCorrupt);
  EXPECT_EQ(errors[1].message, "ours");
}

TEST(ForEachStep, RefusesBadFlagsBeforeAnyModel) {
  ModelOptions options;
  options.models = {"missing.onnx"};
  options.dims = {"seq"};
  ExpectError([&] { ForEachStep(options, {}); }, ErrorCode::kInvalidArgument,
              "--dim 'seq'");
}

TEST(PrintError, IsOneLineThatCannotSteerATerminal) {
  testing::internal::CaptureStderr();
  PrintError("a\nb\x1b[31m");
  PrintWarning("größe");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "foretell: error: a\\x0ab\\x1b[31m\nforetell: warning: größe\n");
}

TEST(PrintError, IsNoLongerThanAScreen) {
  testing::internal::CaptureStderr();
  PrintError(std::string(5'000'000, 'x'));
  const std::string line = testing::internal::GetCapturedStderr();
  EXPECT_LT(line.size(), 5000);
  EXPECT_TRUE(line.ends_with("x … and 4996000 bytes more\n"));
}

TEST(ModelOptions, SayHowATrainingLoopIsWritten) {
  const TrainingLoop loop =
      ParseModel(
          "a.pt2 --mode training --foreach off --fused on --set-to-none off "
          "--late-zero-grad --optimizer-in-backward --accumulate 4 "
          "--offload-optimizer states --offload-activations "
          "--lora r=16,targets=q|v{1,2} --recompute blocks.* "
          "--kernels rope,swiglu")
          .ToStep({})
          .options.loop;
  EXPECT_EQ(loop.foreach, false);
  EXPECT_TRUE(loop.fused);
  EXPECT_EQ(loop.set_to_none, false);
  EXPECT_TRUE(loop.late_zero_grad);
  EXPECT_TRUE(loop.optimizer_in_backward);
  EXPECT_EQ(loop.offload_optimizer, "states");
  EXPECT_TRUE(loop.offload_activations);
  EXPECT_EQ(loop.accumulation, 4);
  EXPECT_EQ(loop.lora, (LoraSpec{16, "q|v{1,2}"}));
  EXPECT_EQ(loop.recompute, "blocks.*");
  EXPECT_EQ(loop.kernels, "rope,swiglu");
  EXPECT_EQ(ParseModel("a.pt2 --mode training").ToStep({}).options.loop,
            TrainingLoop{});
  EXPECT_TRUE(
      ParseModel("a.pt2 --keep-result").ToStep({}).options.loop.keep_result);
}

TEST(ModelOptions, TakeOptimizersByTheNamesOfTransformers) {
  for (const char* name : {"adamw_bnb_8bit", "adamw_8bit", "adamw-8bit"}) {
    const ModelOptions model =
        ParseModel(std::string("a.pt2 --mode training --optimizer ") + name);
    EXPECT_EQ(model.run.optimizer, Optimizer::kBnbAdamW8bit) << name;
  }
}

TEST(ModelOptions, ReadAdaptersWithARankAndTargets) {
  for (const char* lora : {"16", "r=16", "r=0,targets=q", "r=16,targets="}) {
    ExpectError(
        [lora] { return ParseModel(std::string("a.pt2 --lora ") + lora).loop; },
        ErrorCode::kInvalidArgument, "expected r=16,targets=");
  }
  const TrainingLoop loop =
      ParseModel("a.pt2 --lora r=8,targets=q,dropout=0.1,dora --input-grad")
          .loop;
  EXPECT_EQ(loop.lora.dropout, 0.1);
  EXPECT_TRUE(loop.lora.dora);
  EXPECT_TRUE(loop.input_grad);
}

}  // namespace
}  // namespace foretell::cli
