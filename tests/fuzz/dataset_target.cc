#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>

#include "foretell/dataset.h"
#include "foretell/error.h"
#include "tests/datasets/scratch.h"
#include "tests/datasets/toy.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/promises.h"

namespace foretell::fuzz {
namespace {

constexpr std::size_t kPatchBytes = 4;
constexpr std::size_t kCutsFrom = std::size_t{1} << 23;

/// The bytes of a file with two points, a label of each, and a split.
std::string SoundDataset() {
  const dataset_test::Scratch scratch;
  const std::string path = scratch / "sound.sqlite";
  {
    Dataset dataset = Dataset::OpenOrCreate(path);
    for (const RowId row : {1, 2}) {
      dataset.AddTraced(dataset_test::ToyPoint("toy", row),
                        dataset_test::ToyGraph(row));
      dataset.PutLabel(dataset_test::ToyLabel(row, 1.5));
    }
    dataset.PutSplit("halves", "model", 1, {{1, "train"}, {2, "test"}});
  }
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string Patched(std::string bytes, std::string_view patches) {
  for (; patches.size() >= kPatchBytes; patches.remove_prefix(kPatchBytes)) {
    if (bytes.empty()) break;
    std::size_t offset = 0;
    for (int i = 2; i >= 0; --i) {
      offset = offset << 8 | static_cast<unsigned char>(patches[i]);
    }
    const std::size_t place = offset % bytes.size();
    bytes[place] = patches[kPatchBytes - 1];
    if (offset >= kCutsFrom) bytes.resize(place);
  }
  return bytes;
}

void ReadAll(const Dataset& dataset) {
  dataset.Metadata();
  dataset.Points();
  dataset.Labels();
  for (const std::string& name : dataset.SplitNames()) dataset.Split(name);
  for (const GraphSummary& graph : dataset.Graphs()) {
    dataset.Features(graph.id);
    dataset.Graph(graph.id);
  }
}

}  // namespace

void ReadDataset(std::string_view patches) {
  static const std::string sound = SoundDataset();
  static const ScratchFile file("data.sqlite");
  file.Write(Patched(sound, patches));
  try {
    ReadAll(Dataset::Open(file.path()));
  } catch (const Error& error) {
    RequireGoodMessage(error, file.path());
  }
  try {
    CheckDataset(file.path());
  } catch (const Error& error) {
    RequireGoodMessage(error, file.path());
  }
}

}  // namespace foretell::fuzz
