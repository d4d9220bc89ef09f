#include "frontends/onnx/reader/file_type.h"

#include <gtest/gtest.h>

#include "tests/frontends/onnx_reader/messages.h"

namespace foretell::onnx {
namespace {

using std::literals::string_literals::operator""s;

std::string ErrorOfBytes(const std::string& bytes) {
  return ErrorOf([&] { ReadModelFromBytes(bytes, "m.onnx"); });
}

TEST(GuessFileType, RecognisesWhatPeopleConfuseWithOnnx) {
  const std::pair<std::string, std::string> files[] = {
      {"\x89PNG\r\n\x1a\n", "a PNG image"},
      {"PK\x03\x04\x14", "a zip archive, such as a TorchScript file"},
      {"\x80\x02}q",
       "a Python pickle, for example of weights, not a network; save the "
       "network with torch.export.save, torch.jit.save or torch.onnx.export"},
      {"0123TFL3abc", "a TensorFlow Lite model"},
      {"\x40\0\0\0\0\0\0\0{\"a\":"s, "a safetensors file"},
      {"{\"ir_version\": 8}", "a JSON file"},
      {"ir_version: 8\n", "a text file"},
      {"version https://git-lfs.github.com/spec/v1\n",
       "a git-lfs pointer, so the model itself was not downloaded"},
  };
  for (const auto& [bytes, type] : files) {
    EXPECT_EQ(GuessFileType(bytes), type);
    EXPECT_EQ(ErrorOfBytes(bytes),
              "corrupt: m.onnx: not an ONNX model: it looks like " + type);
  }
}

TEST(GuessFileType, IsEmptyForOnnxAndNoise) {
  EXPECT_EQ(GuessFileType(""), "");
  EXPECT_EQ(GuessFileType("\x01\x02\x03"), "");
  for (const std::string& name : TinyFiles()) {
    EXPECT_EQ(GuessFileType(FileBytes(DataPath(name))), "") << name;
  }
}

TEST(GuessFileType, LeavesTheMessageAboutADamagedModelAlone) {
  std::string bytes = ReluModel().SerializeAsString();
  bytes.resize(bytes.size() - 1);
  EXPECT_EQ(
      ErrorOfBytes(bytes),
      "corrupt: m.onnx: byte 62: field 'opset_import' of ModelProto claims "
      "2 bytes, but its message has only 1 left");
}

}  // namespace
}  // namespace foretell::onnx
