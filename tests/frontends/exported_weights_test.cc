// Weights under several names in files without records, as of the meta device.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/frontends/exported_file.h"
#include "tests/graph/expect_error.h"

namespace foretell::exported {
namespace {

/// A parameter, and the modules that read it; nobody where there are none. The
/// value of the graph has its name, with '_' for '.'.
struct Weight {
  std::string name;
  std::vector<std::string> readers;
  std::string sizes = "4,4";
  std::string target = "linear";
};

std::string ValueOf(std::string name) {
  std::ranges::replace(name, '.', '_');
  return name;
}

/// A call in `module` of x and `weight`, whose result has the given name.
std::string ReadBy(const std::string& module, const Weight& weight,
                   const std::string& result) {
  const std::string value = TensorArgument(ValueOf(weight.name));
  const std::string x = TensorArgument("x");
  const std::string operands =
      weight.target == "embedding"
          ? Named("weight", value) + ", " + Named("indices", x)
          : Named("input", x) + ", " + Named("weight", value);
  const std::string scope =
      fmt::format(R"("metadata": {{"nn_module_stack": "k,{},Layer"}})", module);
  std::string node =
      NodeJson(result, fmt::format("torch.ops.aten.{}.default", weight.target),
               operands);
  const std::string none = R"("metadata": {})";
  return node.replace(node.find(none), none.size(), scope);
}

/// A model of those weights and an input of whole numbers i64[4,4] or f32.
std::string ModelOf(const std::vector<Weight>& weights, int input_type = 7) {
  std::string specs;
  std::string values = R"("x": )" + TensorJson("4,4", input_type);
  std::string nodes;
  std::vector<std::string> names;
  int count = 0;
  for (const Weight& weight : weights) {
    const std::string value = ValueOf(weight.name);
    names.push_back(value);
    values +=
        fmt::format(R"(, "{}": {})", value, TensorJson(weight.sizes, 7, true));
    specs += fmt::format(
        R"({{"parameter": {{"arg": {{"name": "{}"}}, "parameter_name": "{}"}}}},)",
        value, weight.name);
    for (const std::string& reader : weight.readers) {
      nodes += nodes.empty() ? "" : ", ";
      nodes += ReadBy(reader, weight, fmt::format("y{}", ++count));
    }
  }
  names.emplace_back("x");
  const std::string result = TensorArgument("y1");
  return fmt::format(
      R"({{"schema_version": {{"major": 8, "minor": 20}},
           "graph_module": {{"graph": {}, "signature": {{"input_specs": [{}
             {{"user_input": {{"arg": {}}}}}],
           "output_specs": [{{"user_output": {{"arg": {}}}}}]}}}}}})",
      GraphJson(names, nodes, result, values), specs, TensorArgument("x"),
      result);
}

std::int64_t ParametersOf(const std::vector<Weight>& weights,
                          int input_type = 7) {
  return SavedProgram(ModelOf(weights, input_type)).Load().parameter_elements();
}

TEST(ExportedWeights, OnesThatNothingReadsAreTheirOwn) {
  EXPECT_EQ(ParametersOf({{"auxiliary.weight", {}}, {"head.weight", {"head"}}}),
            2 * 16);
}

TEST(ExportedWeights, AreTiedWhereTheModuleOfOneReadsTheOther) {
  EXPECT_EQ(ParametersOf({{"first.weight", {}},
                          {"second.weight", {"first", "second"}},
                          {"third.weight", {"third"}}}),
            2 * 16);
}

// BART: shared.weight and those of the encoder and the decoder are one.
TEST(ExportedWeights, JoinThoseThatAreTied) {
  EXPECT_EQ(ParametersOf({{"shared.weight", {}},
                          {"encoder.weight", {}},
                          {"decoder.weight", {"encoder", "decoder"}}}),
            16);
}

TEST(ExportedWeights, OfAnotherShapeAreNotJoined) {
  EXPECT_EQ(ParametersOf({{"shared.weight", {}, "2,8"},
                          {"encoder.weight", {}},
                          {"decoder.weight", {"encoder", "decoder"}}}),
            2 * 16);
}

// The encoder of T5 alone.
TEST(ExportedWeights, JoinTheTableOfAnEmbedding) {
  constexpr int kInt64 = 5;
  EXPECT_EQ(ParametersOf({{"shared.weight", {}},
                          {"encoder.weight", {"encoder"}, "4,4", "embedding"}},
                         kInt64),
            16);
}

// BERT: cls.predictions.bias is that of its decoder.
TEST(ExportedWeights, JoinTheSameNameInAModuleInside) {
  EXPECT_EQ(ParametersOf(
                {{"cls.weight", {}}, {"cls.decoder.weight", {"cls.decoder"}}}),
            16);
  EXPECT_EQ(
      ParametersOf({{"cls.bias", {}}, {"cls.decoder.weight", {"cls.decoder"}}}),
      2 * 16);
}

// BEiT: a mask token that inference does not read has the class token's shape.
TEST(ExportedWeights, OfOneModuleAreTheirOwn) {
  EXPECT_EQ(ParametersOf({{"embeddings.mask", {}},
                          {"embeddings.token", {"embeddings"}}}),
            2 * 16);
}

TEST(ExportedWeights, OfTheNetworkItselfAreFound) {
  EXPECT_EQ(ParametersOf({{"weight", {}}, {"table.weight", {"table", ""}}}),
            16);
}

TEST(ExportedWeights, WithoutBoundsAreRefused) {
  for (const std::string sizes : {"-1,4", "4611686018427387904,4"}) {
    const SavedProgram saved(
        ModelOf({{"head.weight", {"head"}, sizes}, {"b.weight", {"b"}}}));
    EXPECT_THROW(saved.Load(), Error) << sizes;
  }
}

}  // namespace
}  // namespace foretell::exported
