#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

#include "tests/fuzz/fuzz_targets.h"

namespace foretell::fuzz {
namespace {

// Runs `target` over every file of a corpus and returns their number. A broken
// promise aborts the process.
int Replay(const std::string& corpus,
           const std::function<void(std::string_view)>& target) {
  const std::filesystem::path folder =
      std::filesystem::path(FORETELL_SOURCE_DIR) / "tests/fuzz/corpus" / corpus;
  int num_files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    SCOPED_TRACE(entry.path());
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes = {std::istreambuf_iterator<char>(file), {}};
    EXPECT_NO_THROW(target(bytes));
    ++num_files;
  }
  return num_files;
}

TEST(FuzzReplay, OnnxReaderKeepsItsPromises) {
  EXPECT_GE(Replay("onnx", ReadOnnx), 10);
}

TEST(FuzzReplay, GraphTextKeepsItsPromises) {
  EXPECT_GE(Replay("graph_text", ParseGraphText), 10);
}

}  // namespace
}  // namespace foretell::fuzz
