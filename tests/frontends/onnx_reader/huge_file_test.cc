#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "tests/core/process_usage.h"
#include "tests/frontends/onnx_reader/messages.h"

namespace foretell::onnx {
namespace {

constexpr std::int64_t kMiB = 1 << 20;
constexpr std::int64_t kPayload = 2500 * kMiB;

void AppendVarint(std::uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

// A message in pieces: the payload between them is a hole in the file.
struct Pieces {
  std::string before;
  std::string after;
};

Pieces Wrap(std::uint8_t tag, const Pieces& inner) {
  Pieces pieces = {std::string(1, static_cast<char>(tag)), inner.after};
  AppendVarint(inner.before.size() + kPayload + inner.after.size(),
               pieces.before);
  pieces.before += inner.before;
  return pieces;
}

// A model with one float initializer of kPayload zero bytes, followed by more
// of the graph. Removed again with the object; path() is empty if the file
// system has no holes.
class HoleyFile {
 public:
  HoleyFile() {
    ::onnx::GraphProto tensor_fields;
    const std::string header =
        AddInitializer(tensor_fields, "w", kOnnxFloat, {kPayload / 4})
            .SerializeAsString();
    ::onnx::ModelProto rest = ReluModel();
    const std::string rest_of_graph = rest.graph().SerializeAsString();
    rest.clear_graph();
    Pieces pieces = {header + "\x4a", ""};
    AppendVarint(kPayload, pieces.before);
    pieces = Wrap(0x2a, pieces);
    pieces.after += rest_of_graph;
    pieces = Wrap(0x3a, pieces);
    pieces.after += rest.SerializeAsString();
    Write(pieces);
  }
  ~HoleyFile() { std::filesystem::remove(path_); }

  const std::string& path() const { return path_; }
  bool exists() const { return exists_; }

 private:
  void Write(const Pieces& pieces) {
    const int file = open(path_.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
    const auto begin = static_cast<std::int64_t>(pieces.before.size());
    const auto put = [&](const std::string& text, std::int64_t at) {
      return pwrite(file, text.data(), text.size(), at) ==
             static_cast<ssize_t>(text.size());
    };
    exists_ = put(pieces.before, 0) && put(pieces.after, begin + kPayload);
    struct stat status = {};
    exists_ = exists_ && fstat(file, &status) == 0 &&
              status.st_blocks * 512 < kPayload / 10;
    close(file);
  }

  std::string path_ = testing::TempDir() + "foretell_huge_" +
                      std::to_string(getpid()) + ".onnx";
  bool exists_ = false;
};

TEST(HugeFile, ReadsTheStructureOfMoreThanTwoGiB) {
  const HoleyFile file;
  if (!file.exists()) GTEST_SKIP() << "no file with holes in the temp folder";
  ForgetPeakResidentBytes();
  const std::int64_t memory_before = PeakResidentBytes();
  const std::int64_t read_before = BytesRead();
  const Model model = ReadModel(file.path());
  const std::int64_t bytes_read = BytesRead() - read_before;
  ASSERT_EQ(model.graph.initializers.size(), 1u);
  EXPECT_EQ(model.graph.initializers[0].payload,
            TensorLiteral::Payload::kSkipped);
  EXPECT_EQ(model.FloatInitializerElements(), kPayload / 4);
  EXPECT_EQ(model.graph.nodes.at(0).name, "relu1");
  EXPECT_EQ(model.opset_imports.at(""), 17);
  EXPECT_LT(PeakResidentBytes() - memory_before, 10 * kMiB);
  EXPECT_LT(bytes_read, kMiB);
}

TEST(HugeFile, NoticesThatItIsCutOff) {
  const HoleyFile file;
  if (!file.exists()) GTEST_SKIP() << "no file with holes in the temp folder";
  std::filesystem::resize_file(file.path(), 2200 * kMiB);
  const std::string error = ErrorOf([&] { ReadModel(file.path()); });
  EXPECT_NE(error.find("field 'graph' of ModelProto claims 26214"),
            std::string::npos)
      << error;
}

}  // namespace
}  // namespace foretell::onnx
