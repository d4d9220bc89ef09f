#include "benchmarks/graph_files.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace foretell::benchmarks {
namespace {

constexpr std::size_t kStatics = 5;
constexpr std::int64_t kTargets = 3;

// A file of numbers, read in order.
template <typename T>
class NumberFile {
 public:
  explicit NumberFile(const std::string& path)
      : path_(path), numbers_(std::filesystem::file_size(path) / sizeof(T)) {
    std::ifstream file(path, std::ios::binary);
    file.read(reinterpret_cast<char*>(numbers_.data()),
              static_cast<std::streamsize>(numbers_.size() * sizeof(T)));
    if (!file) throw std::runtime_error("cannot read " + path);
  }

  std::size_t size() const { return numbers_.size(); }

  /// The next `count` numbers.
  const T* Take(std::size_t count) {
    if (next_ + count > numbers_.size()) {
      throw std::runtime_error(path_ + " is too short");
    }
    next_ += count;
    return numbers_.data() + (next_ - count);
  }

 private:
  std::string path_;
  std::vector<T> numbers_;
  std::size_t next_ = 0;
};

}  // namespace

learned::GraphBatch GraphSet::Batch(std::size_t first, std::size_t last) const {
  std::vector<learned::GraphInput> inputs;
  for (std::size_t g = first; g < last; ++g) {
    inputs.push_back({&graphs[g], statics[g]});
  }
  return learned::Collate(inputs);
}

GraphSet ReadGraphSet(const std::string& folder) {
  NumberFile<std::int32_t> sizes(folder + "/sizes.i32");
  NumberFile<std::int32_t> edges(folder + "/edges.i32");
  NumberFile<float> nodes(folder + "/nodes.f32");
  NumberFile<float> statics(folder + "/statics.f32");
  NumberFile<float> targets(folder + "/targets.f32");
  GraphSet set;
  for (std::size_t g = 0; g < sizes.size() / 2; ++g) {
    const std::int32_t* size = sizes.Take(2);
    GraphFeatures& graph = set.graphs.emplace_back();
    graph.nodes.resize(static_cast<std::size_t>(size[0]));
    for (NodeFeatureRow& node : graph.nodes) {
      std::copy_n(nodes.Take(node.size()), node.size(), node.begin());
    }
    for (std::int32_t e = 0; e < size[1]; ++e) {
      const std::int32_t* edge = edges.Take(2);
      graph.sources.push_back(edge[0]);
      graph.targets.push_back(edge[1]);
    }
    const float* row = statics.Take(kStatics);
    set.statics.emplace_back(row, row + kStatics);
  }
  const auto count = static_cast<std::int64_t>(set.graphs.size());
  set.targets = at::empty({count, kTargets}, at::kFloat);
  std::copy_n(targets.Take(set.graphs.size() * kTargets), count * kTargets,
              set.targets.mutable_data_ptr<float>());
  return set;
}

}  // namespace foretell::benchmarks
