#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "foretell/program.h"
#include "tests/graph/expect_error.h"

namespace foretell {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using Dims = std::vector<InputDim>;

InputDim Fixed(std::int64_t value) { return {.value = value, .symbol = {}}; }
InputDim Named(std::string symbol) {
  return {.value = {}, .symbol = std::move(symbol)};
}
InputDim Free() { return {}; }

InputSpec Spec(std::string name, Dims dims, DType dtype = DType::kF32) {
  return {.name = std::move(name), .dtype = dtype, .dims = std::move(dims)};
}

/// Shapes of the bound inputs as text.
std::vector<std::string> Bind(const std::vector<InputSpec>& specs,
                              const InputRequest& request) {
  std::vector<std::string> texts;
  for (const BoundInput& input : BindInputs(specs, request, "m.onnx")) {
    texts.push_back(input.name + "=" + ToString(input.type));
  }
  return texts;
}

/// The message of the error that binding throws.
std::string Refusal(const std::vector<InputSpec>& specs,
                    const InputRequest& request) {
  try {
    BindInputs(specs, request, "m.onnx");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

TEST(ParseInput, ReadsNameTypeAndShape) {
  const BoundInput input = ParseInput("image=f16[8,3,224,224]");
  EXPECT_EQ(input.name, "image");
  EXPECT_EQ(ToString(input.type), "f16[8,3,224,224]");
}

TEST(ParseInput, NameAndTypeMayBeLeftOut) {
  EXPECT_EQ(ParseInput("i64[2]").name, "");
  EXPECT_EQ(ToString(ParseInput("i64[2]").type), "i64[2]");
  EXPECT_EQ(ToString(ParseInput("x=[2,3]").type), "f32[2,3]");
  EXPECT_EQ(ToString(ParseInput("x=f32[]").type), "f32[]");
}

TEST(ParseInput, BracketsMayBeLeftOutWithTheType) {
  for (const char* text : {"8,3,32,32", "(8, 3, 32, 32)", "[8,3,32,32]"}) {
    const BoundInput input = ParseInput(text);
    EXPECT_EQ(ToString(input.type), "f32[8,3,32,32]") << text;
    EXPECT_FALSE(input.says_dtype) << text;
  }
  EXPECT_EQ(ParseInput("x=8,3").name, "x");
  EXPECT_TRUE(ParseInput("f32[8]").says_dtype);
}

TEST(ParseInput, TypesHaveTheNamesOfPyTorch) {
  for (const auto& [text, type] : {std::pair("float32[8,3]", "f32[8,3]"),
                                   {"torch.bfloat16[8]", "bf16[8]"},
                                   {"int64[8]", "i64[8]"},
                                   {"half[8]", "f16[8]"},
                                   {"float[8]", "f32[8]"},
                                   {"ids=Long[8]", "i64[8]"},
                                   {"torch.uint8[8]", "u8[8]"}}) {
    EXPECT_EQ(ToString(ParseInput(text).type), type) << text;
  }
}

TEST(ParseInput, TheLastEqualsSignEndsTheName) {
  EXPECT_EQ(ParseInput("a=b=f32[1]").name, "a=b");
}

TEST(ParseInput, QuotesWhatItRefuses) {
  for (const std::string text :
       {"", "x", "x=", "x=f32", "x=f32[", "x=f32[1", "x=f32]1[", "x=f99[1]",
        "x=f32[1,]", "x=f32[,1]", "x=f32[1;2]", "x=f32[a]", "x=f32[-1]",
        "x=f32[1 ,2]", "x=f32[99999999999999999999]",
        "x=f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]"}) {
    ExpectError([&] { ParseInput(text); }, ErrorCode::kInvalidArgument,
                "--input '" + text + "'");
  }
}

TEST(BindInputs, FixedShapesNeedNothing) {
  EXPECT_THAT(Bind({Spec("x", {Fixed(2), Fixed(3)})}, {}),
              ElementsAre("x=f32[2,3]"));
}

TEST(BindInputs, ARequestWinsOverTheFile) {
  InputRequest request;
  request.inputs = {ParseInput("x=f16[4,5]")};
  EXPECT_THAT(Bind({Spec("x", {Fixed(2), Named("n")})}, request),
              ElementsAre("x=f16[4,5]"));
}

TEST(BindInputs, ANamelessRequestMeansTheOnlyInput) {
  InputRequest request;
  request.inputs = {ParseInput("[4,5]")};
  EXPECT_THAT(Bind({Spec("x", {Free(), Free()})}, request),
              ElementsAre("x=f32[4,5]"));
  EXPECT_THAT(
      Refusal({Spec("x", {Fixed(1)}), Spec("y", {Fixed(1)})}, request),
      HasSubstr("--input 'f32[4,5]' names none of the model's inputs 'x', 'y'; "
                "write x=f32[4,5]"));
}

TEST(BindInputs, AShapeWithoutATypeLeavesItToTheFile) {
  InputRequest request;
  request.inputs = {ParseInput("4,5")};
  EXPECT_THAT(Bind({{.name = "ids",
                     .dtype = DType::kI64,
                     .dims = std::vector<InputDim>{Free(), Free()}}},
                   request),
              ElementsAre("ids=i64[4,5]"));
}

/// What `--seq-len 7` makes of inputs at a batch of 2.
InputRequest WithLength() {
  return {.batch = 2, .dims = {{kSequenceLength, 7}}};
}

TEST(BindInputs, ALengthIsTheOnlyOpenDimensionButForTheBatch) {
  EXPECT_THAT(Bind({Spec("ids", {Named("batch"), Named("s27")}),
                    Spec("mask", {Named("batch"), Named("s27")})},
                   WithLength()),
              ElementsAre("ids=f32[2,7]", "mask=f32[2,7]"));
  EXPECT_THAT(
      Bind({Spec("ids", {Named("s0"), Named("s27"), Fixed(3)})}, WithLength()),
      ElementsAre("ids=f32[2,7,3]"));
  EXPECT_THAT(Bind({Spec("ids", {Free(), Free()})}, WithLength()),
              ElementsAre("ids=f32[2,7]"));
}

TEST(BindInputs, ALengthIsTheOneThatIsCalledSo) {
  InputRequest request = WithLength();
  request.dims["past"] = 4;
  EXPECT_THAT(
      Bind({Spec("ids", {Named("batch"), Named("sequence_length")}),
            Spec("cache", {Named("batch"), Named("past"), Fixed(8)}),
            Spec("mask", {Named("batch"), Named("past+sequence_length")})},
           request),
      ElementsAre("ids=f32[2,7]", "cache=f32[2,4,8]", "mask=f32[2,11]"));
}

TEST(BindInputs, ALengthMayBeTheOneThatTheFileFixes) {
  EXPECT_THAT(Bind({Spec("ids", {Named("batch"), Fixed(7)})}, WithLength()),
              ElementsAre("ids=f32[2,7]"));
  EXPECT_THAT(Refusal({Spec("ids", {Named("batch"), Fixed(9)})}, WithLength()),
              HasSubstr("--seq-len 7: the model leaves no length open"));
}

TEST(BindInputs, ALengthThatMayBeSeveralNamesThem) {
  EXPECT_THAT(Refusal({Spec("x", {Named("batch"), Named("s1"), Named("s2")})},
                      WithLength()),
              HasSubstr("--dim NAME=SIZE sets one of s1 (x.1), s2 (x.2)"));
  InputRequest request = WithLength();
  request.dims["s1"] = 8;
  EXPECT_THAT(Refusal({Spec("x", {Named("batch"), Named("s1")})}, request),
              HasSubstr("--seq-len 7: --dim s1=8 contradicts it"));
}

TEST(BindInputs, RefusesTwoTypesOfOneInput) {
  InputRequest request;
  request.inputs = {ParseInput("x=[4,5]"), ParseInput("x=[4,6]")};
  EXPECT_THAT(Refusal({Spec("x", {Free(), Free()})}, request),
              HasSubstr("--input 'f32[4,5]' and 'f32[4,6]' are for the same"));
}

TEST(BindInputs, RefusesABatchThatContradictsADimension) {
  InputRequest request;
  request.batch = 8;
  request.dims = {{"batch", 4}};
  EXPECT_THAT(Refusal({Spec("x", {Named("batch"), Fixed(3)})}, request),
              HasSubstr("--batch 8 and --dim batch=4 contradict"));
  request.dims = {{"batch", 8}};
  EXPECT_THAT(Bind({Spec("x", {Named("batch"), Fixed(3)})}, request),
              ElementsAre("x=f32[8,3]"));
}

TEST(BindInputs, LeastBatchIsThatOfTheFirstInputThatHasOne) {
  const auto dim =
      InputDim{.value = 4, .symbol = "batch", .at_least = 3, .at_most = 64};
  const std::vector<InputSpec> specs = {Spec("scale", {}), Spec("x", {dim})};
  EXPECT_EQ(LeastBatch(specs), 3);
  EXPECT_EQ(LeastBatch({}), 1);
}

TEST(BindInputs, BatchBindsDimensionsCalledBatch) {
  InputRequest request;
  request.batch = 8;
  EXPECT_THAT(Bind({Spec("x", {Fixed(1), Named("batch_size")}),
                    Spec("y", {Named("N"), Fixed(3)})},
                   request),
              ElementsAre("x=f32[1,8]", "y=f32[8,3]"));
}

TEST(BindInputs, NBehindAnotherBatchIsALength) {
  InputRequest request;
  request.batch = 8;
  request.dims = {{"N", 16000}};
  EXPECT_THAT(Bind({Spec("waveforms", {Named("batch_size"), Named("N")}),
                    Spec("lengths", {Named("batch_size")})},
                   request),
              ElementsAre("waveforms=f32[8,16000]", "lengths=f32[8]"));
}

TEST(BindInputs, BatchBindsFreeLeadingDimensions) {
  InputRequest request;
  request.batch = 8;
  EXPECT_THAT(
      Bind({Spec("x", {Free(), Fixed(3)}), Spec("y", {Free()})}, request),
      ElementsAre("x=f32[8,3]", "y=f32[8]"));
}

TEST(BindInputs, BatchBindsALeadingDimensionOfAnotherName) {
  InputRequest request;
  request.batch = 8;
  EXPECT_THAT(Bind({Spec("x", {Named("samples"), Fixed(3)})}, request),
              ElementsAre("x=f32[8,3]"));
}

TEST(BindInputs, BatchLeavesOtherNamedDimensionsWhereOneIsCalledBatch) {
  InputRequest request;
  request.batch = 8;
  request.dims = {{"seq", 5}};
  EXPECT_THAT(Bind({Spec("x", {Named("batch"), Named("seq")}),
                    Spec("y", {Named("seq")})},
                   request),
              ElementsAre("x=f32[8,5]", "y=f32[5]"));
}

TEST(BindInputs, BatchReplacesAFixedLeadingDimension) {
  InputRequest request;
  request.batch = 8;
  EXPECT_THAT(
      Bind({Spec("x", {Fixed(1), Fixed(3)}), Spec("y", {Fixed(1)}),
            Spec("table", {Fixed(77), Fixed(3)}), Spec("scalar", {})},
           request),
      ElementsAre("x=f32[8,3]", "y=f32[8]", "table=f32[77,3]", "scalar=f32[]"));
}

TEST(BindInputs, BatchReplacesTheOneThatWasAskedFor) {
  InputRequest request;
  request.batch = 8;
  request.inputs = {ParseInput("x=f32[1,3,32,32]")};
  EXPECT_THAT(Bind({Spec("x", {Free(), Fixed(3), Free(), Free()})}, request),
              ElementsAre("x=f32[8,3,32,32]"));
}

TEST(BindInputs, DimsBindEveryUseOfTheirName) {
  InputRequest request;
  request.dims = {{"seq", 128}};
  EXPECT_THAT(Bind({Spec("ids", {Fixed(1), Named("seq")}, DType::kI64),
                    Spec("mask", {Named("seq"), Named("seq")})},
                   request),
              ElementsAre("ids=i64[1,128]", "mask=f32[128,128]"));
}

TEST(BindInputs, ListsAllOpenDimensionsAtOnceWithTheFlagForEach) {
  InputSpec shapeless{.name = "z", .dtype = DType::kI64, .dims = {}};
  const std::string message =
      Refusal({Spec("x", {Named("batch"), Named("seq")}),
               Spec("y", {Fixed(2), Free()}), shapeless},
              {});
  EXPECT_THAT(message, HasSubstr("m.onnx: dimensions without a size"));
  EXPECT_THAT(message, Not(HasSubstr("--batch")));
  EXPECT_THAT(message, HasSubstr("'x' dimension 1 'seq' (use --dim seq=N)"));
  EXPECT_THAT(message, HasSubstr("'y' dimension 1 (use --input y=f32[2,?])"));
  EXPECT_THAT(message, HasSubstr("'z' has no shape (use --input z=i64["));
}

TEST(BindInputs, TakesABatchOfOneWhereNoneIsNamed) {
  const std::vector<InputSpec> named = {Spec("x", {Named("batch"), Fixed(3)})};
  EXPECT_THAT(Bind(named, {}), ElementsAre("x=f32[1,3]"));
  EXPECT_TRUE(TakesBatchOfOne(named, {}));
  const std::vector<InputSpec> leading = {Spec("x", {Free(), Fixed(3)})};
  EXPECT_THAT(Bind(leading, {}), ElementsAre("x=f32[1,3]"));
  InputRequest request;
  request.batch = 1;
  EXPECT_FALSE(TakesBatchOfOne(named, request));
  request = {};
  request.dims = {{"batch", 2}};
  EXPECT_FALSE(TakesBatchOfOne(named, request));
  EXPECT_THAT(Bind(named, request), ElementsAre("x=f32[2,3]"));
  const std::vector<InputSpec> fixed = {Spec("x", {Fixed(8), Fixed(3)})};
  EXPECT_FALSE(TakesBatchOfOne(fixed, {}));
}

TEST(BindInputs, NamesOnlyWhatIsStillOpen) {
  InputRequest request;
  request.batch = 4;
  const std::string message =
      Refusal({Spec("x", {Named("batch"), Named("seq")})}, request);
  EXPECT_THAT(message, Not(HasSubstr("--batch")));
  EXPECT_THAT(message, HasSubstr("--dim seq=N"));
}

TEST(BindInputs, RefusesNamesThatTheModelDoesNotHave) {
  InputRequest inputs;
  inputs.inputs = {ParseInput("imagee=f32[1]")};
  EXPECT_THAT(Refusal({Spec("image", {Free()})}, inputs),
              HasSubstr("'imagee', the model's inputs are 'image'"));
  InputRequest dims;
  dims.dims = {{"sequence", 3}};
  EXPECT_THAT(Refusal({Spec("x", {Named("seq"), Named("n")})}, dims),
              HasSubstr("'sequence', the model's named dimensions are n (x.1), "
                        "seq (x.0)"));
}

TEST(BindInputs, RefusesABatchBelowOne) {
  InputRequest request;
  request.batch = 0;
  EXPECT_THAT(Refusal({Spec("x", {Free()})}, request),
              HasSubstr("--batch is 0, expected at least 1"));
}

TEST(BindInputs, RefusesAnEmptyBatchHoweverItIsGiven) {
  const std::string why =
      "input 'x' is f32[0,3]: the batch, its leading dimension, is 0";
  EXPECT_THAT(Refusal({Spec("x", {Fixed(0), Fixed(3)})}, {}), HasSubstr(why));
  InputRequest request;
  request.inputs = {ParseInput("f32[0,3]")};
  EXPECT_THAT(Refusal({Spec("x", {Free(), Fixed(3)})}, request),
              HasSubstr(why));
  request = {.dims = {{"n", 0}}};
  EXPECT_THAT(Refusal({Spec("x", {Named("n"), Fixed(3)})}, request),
              HasSubstr(why));
  request = {.batch = 4};
  EXPECT_THAT(Bind({Spec("x", {Fixed(0), Fixed(3)})}, request),
              ElementsAre("x=f32[4,3]"));
}

TEST(BindInputs, TakesACacheThatIsEmpty) {
  const auto cache = Spec("past", {Named("batch"), Fixed(8), Named("past")});
  InputRequest request;
  request.batch = 2;
  request.dims = {{"past", 0}};
  EXPECT_THAT(Bind({Spec("ids", {Named("batch"), Fixed(5)}), cache}, request),
              ElementsAre("ids=f32[2,5]", "past=f32[2,8,0]"));
}

TEST(BindInputs, RefusesMoreElementsThanCanBeCounted) {
  const std::int64_t huge = std::int64_t{1} << 40;
  EXPECT_THAT(Refusal({Spec("x", {Fixed(huge), Fixed(huge)})}, {}),
              testing::AllOf(HasSubstr("m.onnx: input 'x': f32[1099511627776,"),
                             HasSubstr("has more than 2^56 elements")));
  EXPECT_THAT(Refusal({Spec("x", {Fixed(huge), Fixed((1 << 16) + 1)})}, {}),
              HasSubstr("has more than 2^56 elements"));
}

/// As a file of torch.export has it: with the size of its example.
InputDim Example(std::string symbol, std::int64_t size) {
  return {.value = size, .symbol = std::move(symbol)};
}

/// A decoder with a cache: the mask is as long as the cache and the new tokens.
std::vector<InputSpec> Decoder() {
  return {Spec("ids", {Example("batch", 2), Example("s1", 3)}),
          Spec("cache", {Example("batch", 2), Example("s9", 7)}),
          Spec("mask", {Example("batch", 2), Example("s1+s9", 10)})};
}

TEST(BindInputs, ComputesWhatFollowsFromOtherSizes) {
  EXPECT_THAT(
      Bind(Decoder(), {.batch = 4, .dims = {{"s1", 1}, {"s9", 128}}}),
      ElementsAre("ids=f32[4,1]", "cache=f32[4,128]", "mask=f32[4,129]"));
  EXPECT_THAT(Bind(Decoder(), {.dims = {{"s1", 1}}}),
              ElementsAre("ids=f32[2,1]", "cache=f32[2,7]", "mask=f32[2,8]"));
  EXPECT_THAT(
      Bind({Spec("image", {Example("b", 2), Example("h", 4), Example("w", 6)}),
            Spec("table", {Example("(h//2)*(w//2)", 6)}),
            Spec("window", {Example("(w-3)//2+1", 2), Example("2*b", 4)}),
            Spec("longest", {Example("Max(h, w)", 6)})},
           {.batch = 3, .dims = {{"h", 8}, {"w", 5}}}),
      ElementsAre("image=f32[3,8,5]", "table=f32[8]", "window=f32[2,6]",
                  "longest=f32[8]"));
}

TEST(BindInputs, FindsASizeFromWhatFollowsFromIt) {
  EXPECT_THAT(
      Bind(Decoder(), {.dims = {{"s1", 1}, {"mask.1", 129}}}),
      ElementsAre("ids=f32[2,1]", "cache=f32[2,128]", "mask=f32[2,129]"));
  EXPECT_THAT(
      Bind(Decoder(),
           {.inputs = {ParseInput("ids=[5,1]"), ParseInput("mask=[5,129]")}}),
      ElementsAre("ids=f32[5,1]", "cache=f32[5,128]", "mask=f32[5,129]"));
  EXPECT_THAT(
      Bind(Decoder(), {.dims = {{"mask.1", 129}}}),
      ElementsAre("ids=f32[2,3]", "cache=f32[2,126]", "mask=f32[2,129]"));
  EXPECT_THAT(
      Bind({Spec("x", {Example("2*k", 8)}), Spec("y", {Fixed(9), Named("k")})},
           {.batch = 6}),
      ElementsAre("x=f32[6]", "y=f32[9,3]"));
}

TEST(BindInputs, DimsOfFormulasAndPlacesAreTaken) {
  EXPECT_THAT(Bind(Decoder(), {.dims = {{"s9 + s1", 20}, {"ids.1", 5}}}),
              ElementsAre("ids=f32[2,5]", "cache=f32[2,15]", "mask=f32[2,20]"));
  EXPECT_THAT(Bind({Spec("x", {Free(), Fixed(3)})}, {.dims = {{"x.0", 4}}}),
              ElementsAre("x=f32[4,3]"));
  EXPECT_THAT(Refusal(Decoder(), {.dims = {{"ids.2", 4}}}),
              HasSubstr("'ids.2', the model's named dimensions are batch "
                        "(ids.0, cache.0, mask.0), s1 (ids.1), s1+s9 (mask.1), "
                        "s9 (cache.1)"));
  EXPECT_THAT(Refusal(Decoder(), {.batch = 8, .dims = {{"ids.0", 4}}}),
              HasSubstr("--batch 8 and --dim ids.0=4 contradict"));
}

TEST(BindInputs, RefusesWhatItCannotComputeForSizesThatAreNotTheExamples) {
  const std::vector<InputSpec> specs = {
      Spec("x", {Example("n", 4)}),
      Spec("y", {Example("Frob(Symbol('n'))", 9)}),
      Spec("z", {Example("a*b", 6)})};
  EXPECT_THAT(Bind(specs, {}), ElementsAre("x=f32[4]", "y=f32[9]", "z=f32[6]"));
  EXPECT_THAT(Bind(specs, {.dims = {{"n", 4}}}),
              ElementsAre("x=f32[4]", "y=f32[9]", "z=f32[6]"));
  EXPECT_THAT(
      Refusal(specs, {.dims = {{"n", 5}}}),
      HasSubstr("m.onnx: input 'y': dimension 0 is 'Frob(Symbol('n'))', "
                "9 in the file's example, and cannot be computed for "
                "other sizes; use --dim y.0=N or --input y="));
  EXPECT_THAT(Refusal(specs, {.dims = {{"a", 5}}}),
              HasSubstr("use --dim z.0=N"));
  EXPECT_THAT(Bind(specs, {.dims = {{"n", 5}, {"y.0", 8}, {"a", 5}, {"b", 2}}}),
              ElementsAre("x=f32[5]", "y=f32[8]", "z=f32[10]"));
}

TEST(BindInputs, SaysWhichSizesAreThoseOfTheExample) {
  const auto open = [](const InputRequest& request) {
    std::vector<std::string> places;
    for (const BoundInput& input : BindInputs(Decoder(), request, "m.pt2")) {
      for (const auto& [dim, symbol] : input.from_example) {
        places.push_back(input.name + std::to_string(dim) + symbol);
      }
    }
    return places;
  };
  EXPECT_THAT(open({}), ElementsAre("ids0batch", "ids1s1", "cache0batch",
                                    "cache1s9", "mask0batch"));
  EXPECT_THAT(open({.batch = 2, .dims = {{"mask.1", 12}, {"s1", 4}}}),
              ElementsAre());
}

TEST(BindInputs, BatchLeavesWhatAFileFixesBesideALeadingDimensionThatIsOpen) {
  EXPECT_THAT(
      Bind({Spec("x", {Example("s0", 4), Fixed(3)}),
            Spec("table", {Fixed(4), Fixed(5)}), Spec("y", {Example("s1", 4)}),
            Spec("pairs", {Example("2*s0", 8)})},
           {.batch = 6}),
      ElementsAre("x=f32[6,3]", "table=f32[4,5]", "y=f32[6]", "pairs=f32[12]"));
}

TEST(BindInputs, RefusesNegativeDimensions) {
  EXPECT_THAT(Refusal({Spec("x", {Fixed(-3)})}, {}), HasSubstr("-3"));
  InputRequest request;
  request.dims = {{"n", -2}};
  EXPECT_THAT(Refusal({Spec("x", {Named("n")})}, request), HasSubstr("-2"));
}

}  // namespace
}  // namespace foretell
