// With FORETELL_UPDATE_GOLDEN in the environment the files are rewritten in the
// newest schema; their weights stay.

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "src/network/checkpoint.h"

namespace foretell::learned {
namespace {

/// A network that comes with foretell, and a hash of its weights as they were
/// trained.
struct Shipped {
  const char* file;
  std::uint64_t weights;
};

constexpr Shipped kShipped[] = {
    {"latency-autocast-portable.safetensors", 0x2ae6546c95734577},
    {"latency-autocast.safetensors", 0xa95d1fc47b5264fc},
    {"memory-training.safetensors", 0x52098cee009a94c9},
    {"pmgns/inference-autocast.safetensors", 0x56dcd8d6e8a05efc},
    {"pmgns/inference.safetensors", 0x4488223444dc39ab},
    {"pmgns/training-memory.safetensors", 0x52ff91f006877ade},
    {"pmgns/training.safetensors", 0x8941a2bcb3d7eae7},
};

std::string PathOf(const Shipped& shipped) {
  return std::string(FORETELL_SOURCE_DIR "/data/predictors/") + shipped.file;
}

/// FNV-1a over names and bytes.
std::uint64_t HashOf(const std::map<std::string, StoredTensor>& weights) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const auto& [name, tensor] : weights) {
    for (const char byte : name + tensor.bytes) {
      hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
    }
  }
  return hash;
}

TEST(ShippedCheckpoints, HaveTheWeightsThatWereTrained) {
  for (const Shipped& shipped : kShipped) {
    EXPECT_EQ(HashOf(ReadCheckpoint(PathOf(shipped)).weights), shipped.weights)
        << shipped.file;
  }
}

// Fails when kernels, the cost model, a device or the simulation of memory
// change what a network sees: train it again by docs/how_learned.md.
TEST(ShippedCheckpoints, SeeWhatTheyWereTrainedOn) {
  for (const Shipped& shipped : kShipped) {
    const CheckpointInfo info = ReadCheckpoint(PathOf(shipped)).info;
    if (!info.recipe.terms) continue;
    const std::optional<TermDrift> drift = info.Drift();
    ASSERT_TRUE(drift) << shipped.file;
    EXPECT_FALSE(drift->IsLarge())
        << shipped.file << ": amounts " << drift->amounts << ", features "
        << drift->features;
  }
}

TEST(ShippedCheckpoints, AreOfTheNewestSchema) {
  for (const Shipped& shipped : kShipped) {
    const std::string path = PathOf(shipped);
    const std::string newest = SerializeCheckpoint(ReadCheckpoint(path));
    if (std::getenv("FORETELL_UPDATE_GOLDEN") != nullptr) {
      std::ofstream(path, std::ios::binary) << newest;
    }
    std::ifstream file(path, std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    EXPECT_TRUE(bytes == newest) << path;
  }
}

}  // namespace
}  // namespace foretell::learned
