#include <gtest/gtest.h>

#include <optional>

#include "tests/core/process_usage.h"
#include "tests/frontends/onnx_reader/messages.h"

namespace foretell::onnx {
namespace {

// Reads `bytes`; anything but success or a proper Error fails the test.
bool IsRead(const std::string& bytes, const ReadOptions& options) {
  try {
    ReadModelFromBytes(bytes, "m.onnx", options);
    return true;
  } catch (const Error& error) {
    const std::string what = error.what();
    EXPECT_TRUE(what.starts_with("m.onnx: ")) << what;
    EXPECT_EQ(what.find('\n'), std::string::npos) << what;
    EXPECT_NE(error.code(), ErrorCode::kInternal) << what;
    return false;
  }
}

constexpr std::int64_t kLimits[] = {0, 4096};

TEST(Robustness, ReadsATruncationOnlyWhereProtobufParsesIt) {
  int num_read = 0;
  for (const std::string& name : TinyFiles()) {
    const std::string bytes = FileBytes(DataPath(name));
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const std::string cut = bytes.substr(0, size);
      // A cut between two fields of the model leaves a shorter message.
      const bool is_message = ::onnx::ModelProto().ParseFromString(cut);
      for (const std::int64_t limit : kLimits) {
        const bool is_read = IsRead(cut, {.max_payload_bytes = limit});
        EXPECT_TRUE(!is_read || is_message) << name << " cut to " << size;
        num_read += is_read;
      }
    }
  }
  EXPECT_LT(num_read, 50);
}

TEST(Robustness, EveryFlippedBitEndsInAModelOrAnError) {
  int num_read = 0;
  int num_tried = 0;
  for (const std::string& name : TinyFiles()) {
    std::string bytes = FileBytes(DataPath(name));
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      const auto mask = static_cast<char>(1 << (bit % 8));
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ mask);
      for (const std::int64_t limit : kLimits) {
        num_read += IsRead(bytes, {.max_payload_bytes = limit});
        ++num_tried;
      }
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ mask);
    }
  }
  // Bits of weights and names do no harm, bits of lengths and tags do.
  EXPECT_GT(num_read, num_tried / 5);
  EXPECT_LT(num_read, num_tried * 4 / 5);
}

// A length-delimited field; `tag` is its number times eight plus two.
std::string Field(char tag, const std::string& content) {
  std::string field(1, tag);
  std::size_t size = content.size();
  for (; size >= 0x80; size >>= 7) field += static_cast<char>(size | 0x80);
  field += static_cast<char>(size);
  return field + content;
}

std::string ModelWithGraph(const std::string& graph) {
  ::onnx::ModelProto model = EmptyModel();
  model.clear_graph();
  return model.SerializeAsString() + Field('\x3a', graph);
}

// `levels` graphs, each in an attribute of the only node of the one around it.
std::string NestedGraphs(int levels) {
  std::string graph;
  for (int i = 0; i < levels; ++i) {
    // node { op_type: "If" attribute { name: "g" type: GRAPH g { … } } }
    const std::string attribute =
        "\x0a\x01g\xa0\x01\x05" + Field('\x32', graph);
    graph = Field('\x0a', "\x22\x02If" + Field('\x2a', attribute));
  }
  return ModelWithGraph(graph);
}

TEST(Robustness, ReadsSubgraphsOfThirtyLevels) {
  const Model model = ReadModelFromBytes(NestedGraphs(30), "m.onnx");
  const Graph* graph = &model.graph;
  int levels = 0;
  for (; !graph->nodes.empty(); ++levels) {
    graph = graph->nodes[0].attributes.at(0).graphs.at(0).get();
  }
  EXPECT_EQ(levels, 30);
}

TEST(Robustness, RefusesNestingOfTenThousandLevels) {
  const std::string bytes = NestedGraphs(10'000);
  const std::string error =
      ErrorOf([&] { ReadModelFromBytes(bytes, "m.onnx"); });
  EXPECT_TRUE(error.starts_with("unsupported: m.onnx: byte ")) << error;
  EXPECT_TRUE(error.ends_with("messages are nested more than 96 deep"));
}

TEST(Robustness, RefusesTypesNestedTenThousandLevels) {
  std::string type;
  for (int i = 0; i < 10'000; ++i) {
    // sequence_type { elem_type { … } }
    type = Field('\x22', Field('\x0a', type));
  }
  const std::string input = "\x0a\x01x" + Field('\x12', type);
  const std::string bytes = ModelWithGraph(Field('\x5a', input));
  EXPECT_TRUE(ErrorOf([&] {
                ReadModelFromBytes(bytes, "m.onnx");
              }).ends_with("messages are nested more than 96 deep"));
}

TEST(Robustness, BoundsTheWorkOnManyTinyParts) {
  // One byte per name: the densest valid graph.
  ::onnx::ModelProto model = ReluModel();
  ::onnx::GraphProto& graph = *model.mutable_graph();
  for (int i = 0; i < 300'000; ++i) AddNode(graph, "R", {"x"}, {""});
  const std::string bytes = model.SerializeAsString();
  ForgetPeakResidentBytes();
  const std::int64_t resident = PeakResidentBytes();
  IsRead(bytes, {});
  // What ScanModel promises of the structure that it lets through.
  const auto most = static_cast<std::int64_t>((256 << 20) + 24 * bytes.size());
  EXPECT_LT(PeakResidentBytes() - resident, most);
}

TEST(Robustness, ReadsALongChainInReverse) {
  ::onnx::ModelProto proto = EmptyModel();
  ::onnx::GraphProto& graph = *proto.mutable_graph();
  constexpr int kLength = 20'000;
  for (int i = kLength; i > 0; --i) {
    AddNode(graph, "Relu", {"v" + std::to_string(i - 1)},
            {"v" + std::to_string(i)});
  }
  AddInput(graph, "v0");
  AddOutput(graph, "v" + std::to_string(kLength));
  const Model model = Read(proto);
  EXPECT_EQ(model.graph.nodes.front().inputs, Names{"v0"});
  EXPECT_EQ(model.graph.nodes.back().outputs,
            Names{"v" + std::to_string(kLength)});
}

}  // namespace
}  // namespace foretell::onnx
