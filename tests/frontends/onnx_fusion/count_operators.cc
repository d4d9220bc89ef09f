// Prints how often each operator occurs in ONNX files, one line per file,
// setting and operator: "PATH<tab>SETTING<tab>OPERATOR<tab>COUNT". Feeds
// scripts/generate/count_fusions.py.
#include <array>
#include <exception>
#include <iostream>
#include <map>
#include <string>
#include <utility>

#include "frontends/onnx/fusion/fuse.h"

namespace foretell::onnx {
namespace {

constexpr std::array<std::pair<const char*, Fusion>, 3> kSettings = {
    {{"off", Fusion::kOff},
     {"exported", Fusion::kExported},
     {"equivalent", Fusion::kEquivalent}}};

void Count(const Graph& graph, std::map<std::string, int>& counts) {
  for (const Node& node : graph.nodes) {
    ++counts[(node.domain.empty() ? "" : node.domain + ".") + node.op_type];
    for (const Attribute& attribute : node.attributes) {
      for (const auto& held : attribute.graphs) Count(*held, counts);
    }
  }
}

void PrintCounts(const std::string& path) {
  const Model model = ReadModel(path);
  for (const auto& [name, setting] : kSettings) {
    std::map<std::string, int> counts;
    Count(RecogniseFusedPatterns(model, setting).graph, counts);
    for (const auto& [op, count] : counts) {
      std::cout << path << '\t' << name << '\t' << op << '\t' << count << '\n';
    }
  }
}

}  // namespace
}  // namespace foretell::onnx

int main(int argc, char** argv) {
  int status = 0;
  for (int i = 1; i < argc; ++i) {
    try {
      foretell::onnx::PrintCounts(argv[i]);
    } catch (const std::exception& error) {
      std::cerr << error.what() << '\n';
      status = 1;
    }
  }
  return status;
}
