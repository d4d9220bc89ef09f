#include "tests/training/toy_data.h"

#include <numeric>

#include "foretell/graph_io.h"

namespace foretell::training_test {
namespace {

constexpr int kMaxLayers = 8;

std::string Type(std::int64_t batch, int channels) {
  return "f32[" + std::to_string(batch) + "," + std::to_string(channels) +
         ",8,8]";
}

}  // namespace

OperatorGraph ChainGraph(std::int64_t batch, int layers, int channels) {
  std::string text = "graph \"chain\" mode=inference precision=fp32 batch=" +
                     std::to_string(batch) + "\n%x = input " +
                     Type(batch, channels) + "\n";
  std::string last = "%x";
  for (int i = 0; i < layers; ++i) {
    const std::string number = std::to_string(i);
    const std::string weight = std::to_string(channels);
    text +=
        "%w" + number + " = parameter f32[" + weight + "," + weight + ",3,3]\n";
    text += "%a" + number + " = conv2d(" + last + ", %w" + number +
            ") {stride=[1, 1], padding=[1, 1]} : " + Type(batch, channels) +
            "\n%r" + number + " = relu(%a" + number +
            ") : " + Type(batch, channels) + "\n";
    last = "%r" + number;
  }
  return ParseGraph(text + "output " + last + "\n");
}

void MakeToyDataset(const std::string& path, const ToyDataOptions& options) {
  Dataset dataset = Dataset::OpenOrCreate(path);
  Dataset::Batch batch(dataset);
  for (int i = 0; i < options.points; ++i) {
    const int layers = 1 + i % kMaxLayers;
    const std::int64_t images = 1 + i / kMaxLayers;
    const Point point{.model = "chain" + std::to_string(layers),
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

std::vector<std::size_t> AllOf(const training::SampleSet& set) {
  std::vector<std::size_t> indices(set.samples.size());
  std::iota(indices.begin(), indices.end(), std::size_t{0});
  return indices;
}

}  // namespace foretell::training_test
