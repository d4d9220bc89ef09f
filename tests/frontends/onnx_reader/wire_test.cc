#include "frontends/onnx/reader/wire.h"

#include <gtest/gtest.h>

#include "tests/frontends/onnx_reader/messages.h"

namespace foretell::onnx {
namespace {

using std::literals::string_literals::operator""s;

SlimModel Scan(const std::string& bytes, std::int64_t max_payload_bytes) {
  ByteSource source(bytes);
  return ScanModel(source, max_payload_bytes, /*max_mask_bytes=*/0);
}

std::string ScanError(const std::string& bytes) {
  return ErrorOf([&] { Scan(bytes, 0); });
}

::onnx::ModelProto Parse(const SlimModel& slim) {
  ::onnx::ModelProto proto;
  EXPECT_TRUE(proto.ParseFromString(slim.bytes));
  return proto;
}

// Two tensors of 40 bytes: an initializer, and the value of a Constant in the
// branch of an If.
::onnx::ModelProto TwoTensors() {
  ::onnx::ModelProto model = ReluModel();
  ::onnx::GraphProto& graph = *model.mutable_graph();
  ::onnx::TensorProto& first = AddInitializer(graph, "first", kOnnxFloat, {10});
  first.set_raw_data(std::string(40, 'r'));
  ::onnx::GraphProto& branch =
      AddBranch(AddNode(graph, "If", {"x"}, {"z"}), "then_branch");
  ::onnx::AttributeProto& value =
      *AddNode(branch, "Constant", {}, {"c"}).add_attribute();
  value.set_name("value");
  value.set_type(::onnx::AttributeProto::TENSOR);
  value.mutable_t()->set_name("second");
  value.mutable_t()->set_data_type(kOnnxFloat);
  value.mutable_t()->add_dims(10);
  for (int i = 0; i < 10; ++i) {
    value.mutable_t()->add_float_data(static_cast<float>(i));
  }
  return model;
}

TEST(ScanModel, KeepsPayloadsUpToTheLimit) {
  const ::onnx::ModelProto model = TwoTensors();
  const SlimModel slim = Scan(model.SerializeAsString(), 40);
  EXPECT_TRUE(slim.skipped.empty());
  EXPECT_EQ(Parse(slim).SerializeAsString(), model.SerializeAsString());
}

TEST(ScanModel, SkipsLargerPayloadsWhereverTheyAre) {
  const SlimModel slim = Scan(TwoTensors().SerializeAsString(), 39);
  ASSERT_EQ(slim.skipped.size(), 2u);
  const ::onnx::ModelProto proto = Parse(slim);
  // In the order of the file: nodes come before initializers.
  const ::onnx::TensorProto& second =
      proto.graph().node(1).attribute(0).g().node(0).attribute(0).t();
  EXPECT_EQ(second.name(), "second");
  EXPECT_EQ(second.float_data_size(), 0);
  EXPECT_EQ(second.segment().begin(), 0);
  EXPECT_EQ(slim.skipped[0][kFloatData].most, 10);
  const ::onnx::TensorProto& first = proto.graph().initializer(0);
  EXPECT_EQ(first.name(), "first");
  EXPECT_FALSE(first.has_raw_data());
  EXPECT_EQ(first.segment().begin(), 1);
  EXPECT_EQ(slim.skipped[1][kRawData].most, 40);
}

TEST(ScanModel, SumsThePayloadOfOneTensorOverItsFields) {
  // Unpacked float_data: one field of tag 0x25 and four bytes per element.
  std::string tensor = "\x08\x03\x10\x01\x42\x01w";
  for (int i = 0; i < 3; ++i) tensor += "\x25\0\0\x80\x3f"s;
  const std::string graph = "\x2a\x16" + tensor;
  const std::string model = "\x3a\x18" + graph;
  EXPECT_TRUE(Scan(model, 12).skipped.empty());
  const SlimModel slim = Scan(model, 11);
  ASSERT_EQ(slim.skipped.size(), 1u);
  EXPECT_EQ(slim.skipped[0][kFloatData].least, 3);
  EXPECT_EQ(Parse(slim).graph().initializer(0).float_data_size(), 0);
}

TEST(ScanModel, BoundsTheLengthOfASkippedListOfVarints) {
  ::onnx::ModelProto model = EmptyModel();
  ::onnx::TensorProto& tensor =
      AddInitializer(*model.mutable_graph(), "w", kOnnxInt64, {3});
  for (const std::int64_t item : {1, -1, 300}) tensor.add_int64_data(item);
  const SlimModel slim = Scan(model.SerializeAsString(), 0);
  ASSERT_EQ(slim.skipped.size(), 1u);
  EXPECT_EQ(slim.skipped[0][kInt64Data].least, 2);  // 13 bytes
  EXPECT_EQ(slim.skipped[0][kInt64Data].most, 13);
}

TEST(ScanModel, DropsWhatTheReaderHasNoUseFor) {
  ::onnx::ModelProto model = ReluModel();
  model.set_doc_string("words");
  model.mutable_graph()->set_doc_string("words");
  model.mutable_graph()->add_value_info()->set_name("inner");
  model.mutable_graph()->add_metadata_props()->set_key("words");
  model.mutable_graph()->mutable_node(0)->set_doc_string("words");
  model.add_training_info()->mutable_algorithm()->set_name("words");
  const std::string slim = Parse(Scan(model.SerializeAsString() +
                                          "\xfa\x3f\x05words"s,  // field 1023
                                      0))
                               .SerializeAsString();
  EXPECT_EQ(slim, ReluModel().SerializeAsString());
}

TEST(ScanModel, NamesTheFieldThatRunsOverItsMessage) {
  EXPECT_EQ(ScanError("\x08\x08\x3a\x05\x0a"),
            "corrupt: byte 2: field 'graph' of ModelProto claims 5 bytes, but "
            "its message has only 1 left");
  EXPECT_EQ(ScanError("\x08\x08\x3a\x02\x0a\x7f"),
            "corrupt: byte 4: field 'node' of GraphProto claims 127 bytes, but "
            "its message has only 0 left");
}

TEST(ScanModel, RefusesAWrongWireType) {
  EXPECT_EQ(ScanError("\x0a\x01\x08"),
            "corrupt: byte 0: field 'ir_version' of ModelProto has wire type "
            "2, expected 0");
  EXPECT_EQ(ScanError("\x3a\x02\x08\x01"),
            "corrupt: byte 2: field 'node' of GraphProto has wire type 0, "
            "expected 2");
  EXPECT_EQ(ScanError("\xfb\x3f"),
            "corrupt: byte 0: field 1023 of ModelProto has wire type 3");
}

TEST(ScanModel, RefusesMalformedNumbers) {
  EXPECT_EQ(ScanError("\x08\xff"),
            "corrupt: byte 1: a number is cut off by the end of its message");
  EXPECT_EQ(ScanError("\x08" + std::string(10, '\x80') + "\x01"),
            "corrupt: byte 1: a number has more than 10 bytes");
  EXPECT_EQ(ScanError("\x00\x01"s),
            "corrupt: byte 0: field number 0 in ModelProto is out of range");
  EXPECT_EQ(ScanError("\xf8\xff\xff\xff\xff\x01"),
            "corrupt: byte 0: field number 8589934591 in ModelProto is out "
            "of range");
}

TEST(ScanModel, RefusesListsOfBrokenItems) {
  // graph { initializer { float_data: 3 bytes } }
  EXPECT_EQ(ScanError("\x3a\x07\x2a\x05\x22\x03"s + "abc"),
            "corrupt: byte 4: field 'float_data' of TensorProto has 3 bytes, "
            "expected a multiple of 4");
}

TEST(ScanModel, RefusesSegmentedTensors) {
  EXPECT_EQ(ScanError("\x3a\x04\x2a\x02\x1a\0"s),
            "unsupported: byte 4: field 'segment' of TensorProto is not "
            "supported");
}

TEST(ScanModel, StopsBeforeManySmallPartsExhaustTheMemory) {
  // A node without content takes two bytes here and 200 times that once read.
  std::string graph;
  for (int i = 0; i < 2'000'000; ++i) graph += "\x0a\0"s;
  std::string model = "\x3a";
  model += "\x80\x92\xf4\x01";  // 4,000,000
  EXPECT_EQ(ScanError(model + graph).substr(0, 12), "unsupported:");
}

}  // namespace
}  // namespace foretell::onnx
