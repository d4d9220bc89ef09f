// The torch.export and the TorchScript file of one network give the same graph:
// operators, shapes, module paths and, after every operator, the same bytes.
// The one difference is a name: torch.jit.trace records `_convolution` for
// `conv2d`. Traces do not know Python's variables, which hold values of an
// exported file; so its stacks, which show them, are taken out.

#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "foretell/frontends.h"
#include "foretell/trace.h"
#include "tests/frontends/exported_file.h"
#include "tests/program/trace_queries.h"

namespace foretell {
namespace {

constexpr char kFolder[] = FORETELL_SOURCE_DIR "/tests/frontends/data/";

/// The file, of an exported one a copy without stacks.
Program LoadWithoutStacks(const std::string& path) {
  if (!path.ends_with(".pt2")) return LoadModel(path);
  caffe2::serialize::PyTorchStreamReader reader(path);
  exported::Records records;
  for (const std::string& name : reader.getAllRecords()) {
    if (name.starts_with(".data/") || name == "version") continue;
    const auto [data, size] = reader.getRecord(name);
    std::string text(static_cast<const char*>(data.get()), size);
    if (name.ends_with(".json")) {
      text =
          std::regex_replace(text, std::regex("\"stack_trace\""), "\"none\"");
    }
    records.emplace_back(name, std::move(text));
  }
  return exported::SavedProgram(records).Load();
}

Trace TraceFile(const std::string& path, const std::string& input,
                const TraceOptions& options) {
  const Program program = LoadWithoutStacks(kFolder + path);
  InputRequest request;
  if (!input.empty()) request.inputs = {ParseInput(input)};
  return TraceProgram(
      program, BindInputs(program.inputs(), request, program.name()), options);
}

/// Each node as text: target, types and scope, with the bytes alive after it.
std::vector<std::string> Lines(const OperatorGraph& graph) {
  std::vector<std::string> lines;
  for (NodeId id = 0; id < std::ssize(graph.nodes()); ++id) {
    const Node& node = graph.nodes()[static_cast<std::size_t>(id)];
    const bool is_traced = node.target == "_convolution";
    std::string line = (is_traced ? "conv2d" : node.target) + " " + node.scope;
    for (const ValueId input : node.inputs) {
      line += " " + ToString(graph.value(input).type);
    }
    line += " ->";
    for (const ValueId output : node.outputs) {
      line += " " + ToString(graph.value(output).type);
    }
    lines.push_back(line + ", alive " +
                    std::to_string(LiveBytesAfter(graph, id)));
  }
  return lines;
}

/// Expects the same graph of two files in the folder of test data, of more than
/// `least_nodes` nodes.
void ExpectSame(const std::string& one, const std::string& other,
                const std::string& input, const TraceOptions& options,
                std::size_t least_nodes) {
  const Trace first = TraceFile(one, input, options);
  const Trace second = TraceFile(other, input, options);
  EXPECT_EQ(first.graph.ParameterElements(), second.graph.ParameterElements());
  ASSERT_GT(first.graph.nodes().size(), least_nodes);
  EXPECT_EQ(Lines(first.graph), Lines(second.graph));
}

void ExpectAgreement(const TraceOptions& options,
                     const std::string& name = "vit_tiny",
                     const std::string& input = "x=f32[2,3,32,32]",
                     std::size_t least_nodes = 30) {
  ExpectSame("exported/" + name + ".pt2", name + ".pt", input, options,
             least_nodes);
}

TEST(ExportedAgreement, Inference) { ExpectAgreement({}); }

TEST(ExportedAgreement, Training) {
  ExpectAgreement(
      {.run = {.mode = Mode::kTraining, .optimizer = Optimizer::kAdamW}});
}

TEST(ExportedAgreement, HalfPrecision) {
  ExpectAgreement({.run = {.precision = Precision::kFp16}});
}

TEST(ExportedAgreement, Autocast) {
  ExpectAgreement({.run = {.mode = Mode::kTraining,
                           .precision = Precision::kBf16,
                           .autocast = true}});
}

TEST(ExportedAgreement, TrainingOfAResidualBlock) {
  ExpectAgreement(
      {.run = {.mode = Mode::kTraining, .optimizer = Optimizer::kSgd}},
      "residual", "x=f32[4,8,14,14]", 20);
}

TEST(ExportedAgreement, TrainingOfRecurrentLayers) {
  ExpectAgreement(
      {.run = {.mode = Mode::kTraining, .optimizer = Optimizer::kSgd}},
      "recurrent", "x=f32[4,5,8]", 4);
}

TEST(ExportedAgreement, RecurrentLayersInHalfPrecision) {
  for (const Mode mode : {Mode::kInference, Mode::kTraining}) {
    ExpectAgreement({.run = {.mode = mode, .precision = Precision::kBf16}},
                    "recurrent", "x=f32[4,5,8]", 2);
  }
}

TEST(ExportedAgreement, PartsOfTensors) {
  for (const Mode mode : {Mode::kInference, Mode::kTraining}) {
    for (const char* const file : {"indexing", "indexing_script"}) {
      SCOPED_TRACE(file);
      ExpectSame("exported/indexing.pt2", std::string(file) + ".pt",
                 "x=f32[4,6,8]", {.run = {.mode = mode}}, 10);
    }
  }
}

TEST(ExportedAgreement, AutocastInTheCodeOfAScript) {
  for (const Mode mode : {Mode::kInference, Mode::kTraining}) {
    ExpectSame("exported/casting.pt2", "casting_script.pt", "x=f32[4,8]",
               {.run = {.mode = mode}}, 5);
  }
}

TEST(ExportedAgreement, OfFilesThatWereMadeInEval) {
  for (const Mode mode : {Mode::kInference, Mode::kTraining}) {
    ExpectSame("exported/modes_eval.pt2", "modes_eval.pt", "f32[4,3,8,8]",
               {.run = {.mode = mode}}, 7);
  }
}

TEST(ExportedAgreement, OfFilesThatWereMadeInTrain) {
  ExpectSame("exported/modes_train.pt2", "modes_train.pt", "f32[4,3,8,8]",
             {.run = {.mode = Mode::kTraining}}, 20);
  ExpectSame("modes_eval.pt", "modes_train.pt", "f32[4,3,8,8]", {}, 7);
}

TEST(ExportedAgreement, GradMode) {
  ExpectAgreement({.run = {.grad_mode = true}});
}

}  // namespace
}  // namespace foretell
