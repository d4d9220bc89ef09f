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

/// A network that comes with foretell, a hash of its weights as they were
/// trained, and how far its terms have moved since: zero once it is trained
/// again.
struct Shipped {
  const char* file;
  std::uint64_t weights;
  TermDrift moved = {};
};

/// One kernel, a strided convolution in groups of 32 channels, takes up to 2.04
/// times as long. The kernels' sum is 4.70 / 6.66 % off the labels as before.
constexpr TermDrift kGroupedConvolution = {.amounts = 0.712, .features = 0.005};
/// The simulation holds copies of strided operands.
constexpr TermDrift kStridedCopies = {.amounts = 0.123, .features = 0.177};

constexpr Shipped kShipped[] = {
    {"latency-autocast-portable.safetensors", 0x386b77991e50f87,
     kGroupedConvolution},
    {"latency-autocast.safetensors", 0xb97f0db19bfc2bdb},
    {"memory-training.safetensors", 0xcba90f7c1e4101ad, kStridedCopies},
    {"pmgns/inference-autocast.safetensors", 0x147bd01d3cc6bd4d,
     kGroupedConvolution},
    {"pmgns/inference.safetensors", 0xe621b7b8738cff4b},
    {"pmgns/training-memory.safetensors", 0x241f11a73bed74ef},
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
// change what a network sees: train it again by docs/how_learned.md, or judge
// the change by its labels and state it above.
TEST(ShippedCheckpoints, SeeWhatTheyWereTrainedOn) {
  for (const Shipped& shipped : kShipped) {
    const CheckpointInfo info = ReadCheckpoint(PathOf(shipped)).info;
    if (!info.recipe.terms) continue;
    const std::optional<TermDrift> drift = info.Drift();
    ASSERT_TRUE(drift) << shipped.file;
    EXPECT_NEAR(drift->amounts, shipped.moved.amounts, kLargeTermDrift)
        << shipped.file;
    EXPECT_NEAR(drift->features, shipped.moved.features, kLargeTermDrift)
        << shipped.file;
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
