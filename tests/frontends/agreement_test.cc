// The ONNX and the TorchScript file of one network give the same graph, up to
// what the exporters themselves change, which is listed here.

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "foretell/frontends.h"
#include "foretell/trace.h"
#include "tests/program/trace_queries.h"

namespace foretell {
namespace {

constexpr std::int64_t kBatch = 2;

Trace TraceFile(const std::string& path, const std::string& input,
                const TraceOptions& options = {},
                std::optional<std::int64_t> batch = kBatch) {
  const Program program =
      LoadModel(std::string(FORETELL_SOURCE_DIR) + "/" + path);
  InputRequest request;
  request.inputs = {ParseInput(input)};
  request.batch = batch;
  return TraceProgram(
      program, BindInputs(program.inputs(), request, program.name()), options);
}

Trace TraceOnnx(const std::string& stem, const std::string& shape) {
  return TraceFile(stem + ".onnx", "image=f32" + shape);
}

Trace TraceTorchScript(const std::string& stem, const std::string& shape) {
  return TraceFile(stem + ".pt", "x=f32" + shape);
}

std::int64_t PeakLiveBytes(const OperatorGraph& graph) {
  std::int64_t peak = 0;
  for (NodeId node = 0; node < std::ssize(graph.nodes()); ++node) {
    peak = std::max(peak, LiveBytesAfter(graph, node));
  }
  return peak;
}

/// How often each kind occurs.
std::map<std::string, int> Count(const OperatorGraph& graph) {
  std::map<std::string, int> counts;
  for (const Node& node : graph.nodes()) {
    ++counts[std::string(OpKindName(node.kind))];
  }
  return counts;
}

/// Counts of a kind that differ.
struct Exception {
  std::string kind;
  int onnx = 0;
  int torchscript = 0;
  std::string reason;
};

/// Expects the counts to differ exactly where `exceptions` say so.
void ExpectSameOperators(const OperatorGraph& onnx,
                         const OperatorGraph& torchscript,
                         const std::vector<Exception>& exceptions) {
  std::map<std::string, int> from_onnx = Count(onnx);
  std::map<std::string, int> from_torchscript = Count(torchscript);
  for (const Exception& exception : exceptions) {
    SCOPED_TRACE(exception.kind + ": " + exception.reason);
    EXPECT_EQ(from_onnx[exception.kind], exception.onnx);
    EXPECT_EQ(from_torchscript[exception.kind], exception.torchscript);
    EXPECT_NE(exception.onnx, exception.torchscript) << "needs no exception";
    from_onnx.erase(exception.kind);
    from_torchscript.erase(exception.kind);
  }
  EXPECT_EQ(from_onnx, from_torchscript);
}

TEST(Agreement, ResNet18) {
  const Trace onnx = TraceOnnx("examples/resnet18", "[1,3,224,224]");
  const Trace torchscript =
      TraceTorchScript("examples/resnet18", "[1,3,224,224]");

  EXPECT_EQ(onnx.graph.ForwardMacs(), kBatch * 1'814'073'344);
  EXPECT_EQ(torchscript.graph.ForwardMacs(), onnx.graph.ForwardMacs());

  // The published count. The ONNX exporter folds a batch norm's scale and
  // shift, two numbers per channel, into a bias, one per channel; there are
  // 4,800 channels.
  EXPECT_EQ(torchscript.graph.ParameterElements(), 11'689'512);
  EXPECT_EQ(onnx.graph.ParameterElements(), 11'689'512 - 4'800);

  ExpectSameOperators(
      onnx.graph, torchscript.graph,
      {{"batch_norm", 0, 20, "folded into convolutions by the exporter"}});
  EXPECT_EQ(ToString(onnx.outputs[0].type),
            ToString(torchscript.outputs[0].type));
}

TEST(Agreement, TinyVisionTransformer) {
  const std::string stem = "tests/frontends/data/vit_tiny";
  const Trace onnx = TraceOnnx(stem, "[1,3,32,32]");
  const Trace torchscript = TraceTorchScript(stem, "[1,3,32,32]");

  // Per image: 16 patches of 3·8·8 → 48; per block 16 tokens times (48·144 +
  // 48·48 + 2·48·192), and two products of 16·16·48; 48·10 at the end.
  constexpr std::int64_t kBlock =
      16 * (48 * 144 + 48 * 48 + 2 * 48 * 192) + 2 * 16 * 16 * 48;
  EXPECT_EQ(onnx.graph.ForwardMacs(),
            kBatch * (16 * 3 * 8 * 8 * 48 + 2 * kBlock + 48 * 10));
  EXPECT_EQ(torchscript.graph.ForwardMacs(), onnx.graph.ForwardMacs());
  EXPECT_EQ(torchscript.graph.ParameterElements(),
            onnx.graph.ParameterElements());

  ExpectSameOperators(onnx.graph, torchscript.graph, {});
  EXPECT_EQ(PeakLiveBytes(onnx.graph), PeakLiveBytes(torchscript.graph));
}

std::vector<OpKind> Kinds(const OperatorGraph& graph) {
  std::vector<OpKind> kinds;
  for (const Node& node : graph.nodes()) kinds.push_back(node.kind);
  return kinds;
}

// A batch norm is one operator, and the shape of a slope no operation.
TEST(Agreement, InferenceOfBatchNormsThatAreThere) {
  const std::string stem = "tests/frontends/data/norms";
  const Trace onnx = TraceOnnx(stem, "[1,3,16,16]");
  const Trace torchscript = TraceFile(stem + ".pt", "input=f32[1,3,16,16]");
  // An initializer does not say that it is a running statistic.
  EXPECT_EQ(onnx.graph.ParameterElements(),
            torchscript.graph.ParameterElements() + 2 * 2 * 8);
  EXPECT_EQ(Kinds(onnx.graph), Kinds(torchscript.graph));
}

/// Every operator's kind with the bytes that are alive once it has run.
std::vector<std::string> Steps(const OperatorGraph& graph) {
  std::vector<std::string> lines;
  for (NodeId id = 0; id < std::ssize(graph.nodes()); ++id) {
    lines.push_back(fmt::format("{}, alive {}", OpKindName(graph.node(id).kind),
                                LiveBytesAfter(graph, id)));
  }
  return lines;
}

TEST(Agreement, TrainingOfGroupNormsExportedForTraining) {
  const TraceOptions training = {
      .run = {.mode = Mode::kTraining, .optimizer = Optimizer::kAdam}};
  const std::string stem = "tests/frontends/data/groups";
  const Trace onnx =
      TraceFile(stem + ".onnx", "image=f32[1,3,16,16]", training);
  const Trace torchscript =
      TraceFile(stem + ".pt", "input=f32[1,3,16,16]", training);
  EXPECT_EQ(onnx.graph.ParameterElements(),
            torchscript.graph.ParameterElements());
  EXPECT_EQ(Steps(onnx.graph), Steps(torchscript.graph));
}

// ---- Causal attention, as torch.onnx.export writes it today ----------------

struct CausalExport {
  std::string onnx;
  std::string exported;
  std::int64_t tokens;
};

const CausalExport kCausalExports[] = {
    {"folded", "causal", 16},   {"ones", "causal", 96},
    {"sizes", "causal", 600},   {"dynamic", "causal", 16},
    {"dynamic", "causal", 600}, {"shared", "shared", 600},
    {"boolean", "boolean", 16}};

Trace TraceCausal(const std::string& file, std::int64_t tokens) {
  return TraceFile("tests/frontends/data/causal/" + file,
                   fmt::format("x=f32[1,{},32]", tokens), {}, std::nullopt);
}

/// The only attention of a trace.
const Node* AttentionOf(const OperatorGraph& graph) {
  const Node* found = nullptr;
  for (const Node& node : graph.nodes()) {
    if (node.kind != OpKind::kAttention) continue;
    if (found != nullptr) return nullptr;
    found = &node;
  }
  return found;
}

/// Types of what an attention reads: q, k, v and a mask if it has one.
std::vector<std::string> OperandsOf(const OperatorGraph& graph,
                                    const Node& node) {
  std::vector<std::string> types;
  for (const ValueId input : node.inputs) {
    types.push_back(ToString(graph.value(input).type));
  }
  return types;
}

TEST(Agreement, CausalAttentionOfThePresentExporter) {
  for (const CausalExport& row : kCausalExports) {
    SCOPED_TRACE(fmt::format("{} of {} tokens", row.onnx, row.tokens));
    const Trace onnx = TraceCausal(row.onnx + ".onnx", row.tokens);
    const Trace exported = TraceCausal(row.exported + ".pt2", row.tokens);
    EXPECT_EQ(onnx.graph.ForwardMacs(), exported.graph.ForwardMacs());
    // The numbers of the formula are initializers, the mask is none that
    // counts.
    const std::int64_t numbers =
        onnx.graph.ParameterElements() - exported.graph.ParameterElements();
    EXPECT_GE(numbers, 0);
    EXPECT_LE(numbers, 4);
    EXPECT_EQ(PeakLiveBytes(onnx.graph), PeakLiveBytes(exported.graph));
    const Node* a = AttentionOf(onnx.graph);
    const Node* b = AttentionOf(exported.graph);
    ASSERT_TRUE(a != nullptr && b != nullptr);
    EXPECT_EQ(a->target, b->target);
    EXPECT_EQ(a->Int("is_causal", 0), b->Int("is_causal", 0));
    EXPECT_EQ(a->Int("enable_gqa", 0), b->Int("enable_gqa", 0));
    EXPECT_EQ(OperandsOf(onnx.graph, *a), OperandsOf(exported.graph, *b));
  }
}

}  // namespace
}  // namespace foretell
