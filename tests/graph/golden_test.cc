#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "foretell/graph_io.h"

namespace foretell {
namespace {

const std::filesystem::path kFolder = FORETELL_SOURCE_DIR "/tests/golden/graph";

std::string Read(const std::filesystem::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path << " is missing";
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Compares `text` with the golden file `name`, or writes that file.
void ExpectGolden(const std::string& name, const std::string& text) {
  if (std::getenv("FORETELL_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(kFolder / name) << text;
  }
  EXPECT_EQ(text, Read(kFolder / name)) << name;
}

/// The first indented block of the documentation.
std::string DocumentedExample() {
  std::istringstream document(Read(FORETELL_SOURCE_DIR "/docs/graph_text.md"));
  std::string example;
  for (std::string line; std::getline(document, line);) {
    if (line.starts_with("    ")) {
      example += line.substr(4) + "\n";
    } else if (!example.empty()) {
      break;
    }
  }
  return example;
}

TEST(GraphText, ReadsTheDocumentedExampleAndPrintsItBack) {
  const OperatorGraph graph = ParseGraph(DocumentedExample());
  EXPECT_EQ(graph.node(0).macs, std::int64_t{8} * 64 * 56 * 56 * 64 * 9);
  EXPECT_EQ(PrintGraph(graph, {.with_timeline = true}), DocumentedExample());
}

class GoldenGraph : public testing::TestWithParam<const char*> {};

TEST_P(GoldenGraph, IsPrintedAsRecorded) {
  const std::string name = GetParam();
  const OperatorGraph graph =
      ParseGraph(Read(kFolder / (name + ".graph")), name);
  ExpectGolden(name + ".timeline", PrintGraph(graph, {.with_timeline = true}));
  ExpectGolden(name + ".json", GraphToJson(graph));
  ExpectGolden(name + ".dot", GraphToDot(graph));
}

TEST_P(GoldenGraph, ReadsBackFromItsTimeline) {
  const std::string name = GetParam();
  const std::string text = Read(kFolder / (name + ".timeline"));
  EXPECT_EQ(PrintGraph(ParseGraph(text, name), {.with_timeline = true}), text);
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenGraph,
                         testing::Values("residual", "attention", "training"),
                         [](const auto& test) {
                           return std::string(test.param);
                         });

}  // namespace
}  // namespace foretell
