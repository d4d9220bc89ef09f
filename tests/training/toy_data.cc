#include "tests/training/toy_data.h"

#include <fmt/core.h>

#include <numeric>

#include "foretell/graph_io.h"

namespace foretell::training_test {
namespace {

constexpr int kMaxLayers = 8;

std::string Type(std::int64_t batch, int channels) {
  return fmt::format("f32[{},{},8,8]", batch, channels);
}

}  // namespace

OperatorGraph ChainGraph(std::int64_t batch, int layers, int channels) {
  const std::string type = Type(batch, channels);
  std::string text = fmt::format(
      "graph \"chain\" mode=inference precision=fp32 batch={}\n"
      "%x = input {}\n",
      batch, type);
  std::string last = "%x";
  for (int i = 0; i < layers; ++i) {
    text += fmt::format(
        "%w{0} = parameter f32[{1},{1},3,3]\n"
        "%a{0} = conv2d({2}, %w{0}) {{stride=[1, 1], padding=[1, 1]}} : {3}\n"
        "%r{0} = relu(%a{0}) : {3}\n",
        i, channels, last, type);
    last = fmt::format("%r{}", i);
  }
  return ParseGraph(text + "output " + last + "\n");
}

void MakeToyDataset(const std::string& path, const ToyDataOptions& options) {
  Dataset dataset = Dataset::OpenOrCreate(path);
  Dataset::Batch batch(dataset);
  for (int i = 0; i < options.points; ++i) {
    const int layers = 1 + i % kMaxLayers;
    const std::int64_t images = 1 + i / kMaxLayers;
    const Point point{.model = fmt::format("chain{}", layers),
                      .family = layers % 2 == 0 ? "even" : "odd",
                      .format = "zoo",
                      .batch = images};
    dataset.AddTraced(point, ChainGraph(images, layers, 4 + layers));
    Label label{.point = dataset.Find(point)->id, .device = options.device};
    label.source = "test";
    const double work = layers * static_cast<double>(images);
    label.memory_mib = 500 + 10 * work;
    label.latency_ms = 0.1 * work;
    if (i % options.energy_every == 0) label.energy_j = 0.025 * work;
    dataset.PutLabel(label);
  }
  batch.Commit();
}

training::SampleSet SelectToy(const std::string& path) {
  return training::SelectSamples(
      Dataset::Open(path),
      {.targets = {learned::kAllTargets.begin(), learned::kAllTargets.end()}});
}

training::TrainerOptions TinyTraining() {
  return {.network = {.hidden = 8,
                      .graph_blocks = 1,
                      .head_blocks = 1,
                      .dropout = 0},
          .epochs = 1,
          .batch_size = 4,
          .learning_rate = 3e-3};
}

std::vector<std::size_t> AllOf(const training::SampleSet& set) {
  std::vector<std::size_t> indices(set.samples.size());
  std::iota(indices.begin(), indices.end(), std::size_t{0});
  return indices;
}

}  // namespace foretell::training_test
