#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "foretell/graph_io.h"
#include "src/kernels/kernels.h"

namespace foretell::cost {
namespace {

const std::filesystem::path kFolder =
    FORETELL_SOURCE_DIR "/tests/golden/kernels";

struct GoldenMode {
  const char* file;
  const char* graph;
  Run mode;
};

constexpr GoldenMode kModes[] = {
    {"as_traced.kernels", "block.graph", {}},
    {"autocast.kernels",
     "block_autocast.graph",
     {.restore_folded_norms = true}},
    {"autocast_channels_last.kernels",
     "block_autocast_channels_last.graph",
     {.restore_folded_norms = true}},
};

std::string Read(const std::filesystem::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path << " is missing";
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string LineOf(const OperatorGraph& graph, const Kernel& kernel) {
  std::ostringstream line;
  line << KernelClassName(kernel.kernel_class) << " of "
       << graph.node(kernel.node).target << ": bytes " << kernel.bytes_in << "+"
       << kernel.bytes_weight << ">" << kernel.bytes_out << ", elements "
       << kernel.element_bytes_in << ">" << kernel.element_bytes_out;
  if (kernel.macs > 0) {
    line << ", macs " << kernel.macs << " as " << kernel.batch << "x"
         << kernel.m << "x" << kernel.n << "x" << kernel.k << " in "
         << PrecisionName(kernel.arithmetic);
  }
  if (kernel.channels_last) line << ", channels last";
  if (kernel.mixed_layouts) line << ", mixed";
  line << "\n";
  return line.str();
}

class GoldenKernels : public testing::TestWithParam<GoldenMode> {};

TEST_P(GoldenKernels, AreListedAsRecorded) {
  const OperatorGraph graph = ParseGraph(Read(kFolder / GetParam().graph));
  std::string text;
  for (const Kernel& kernel : ExpandKernels(graph, GetParam().mode)) {
    text += LineOf(graph, kernel);
  }
  const std::filesystem::path path = kFolder / GetParam().file;
  if (std::getenv("FORETELL_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << text;
  }
  EXPECT_EQ(text, Read(path));
}

INSTANTIATE_TEST_SUITE_P(Modes, GoldenKernels, testing::ValuesIn(kModes),
                         [](const auto& test) {
                           const std::string file = test.param.file;
                           return file.substr(0, file.find('.'));
                         });

}  // namespace
}  // namespace foretell::cost
