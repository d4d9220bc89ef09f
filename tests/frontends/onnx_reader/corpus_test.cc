#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/frontends/onnx_reader/dump.h"
#include "tests/frontends/onnx_reader/messages.h"

namespace foretell::onnx {
namespace {

std::vector<std::string> SplitRow(const std::string& row) {
  std::vector<std::string> cells;
  std::istringstream stream(row);
  for (std::string cell; std::getline(stream, cell, ',');) {
    cells.push_back(cell);
  }
  return cells;
}

// Column `initializer_elements` of truth.csv by model, where it is given.
std::map<std::string, std::int64_t> Truth(const std::filesystem::path& file) {
  std::map<std::string, std::int64_t> truth;
  std::ifstream stream(file);
  std::string row;
  if (!std::getline(stream, row)) return truth;
  const std::vector<std::string> header = SplitRow(row);
  const auto column = static_cast<std::size_t>(
      std::find(header.begin(), header.end(), "initializer_elements") -
      header.begin());
  while (std::getline(stream, row)) {
    const std::vector<std::string> cells = SplitRow(row);
    if (column >= cells.size() || cells[column].empty()) continue;
    truth[cells[0]] = std::stoll(cells[column]);
  }
  return truth;
}

TEST(Corpus, IsReadWithTheRightNumberOfWeights) {
  const char* folder = std::getenv("FORETELL_ONNX_CORPUS");
  if (folder == nullptr) GTEST_SKIP() << "FORETELL_ONNX_CORPUS is not set";
  const std::filesystem::path root = folder;
  const std::map<std::string, std::int64_t> truth = Truth(root / "truth.csv");
  int num_files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    if (entry.path().extension() != ".onnx") continue;
    ++num_files;
    const std::string path = entry.path().string();
    const Model model = ReadModel(path);
    EXPECT_EQ(Dump(model, false),
              Dump(ReadModel(path, {.max_payload_bytes = 0}), false))
        << path;
    const auto row = truth.find(entry.path().stem().string());
    if (row == truth.end()) continue;
    EXPECT_EQ(model.FloatInitializerElements(), row->second) << path;
  }
  EXPECT_GT(num_files, 0);
}

}  // namespace
}  // namespace foretell::onnx
