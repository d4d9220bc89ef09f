// With FORETELL_UPDATE_GOLDEN in the environment the files are rewritten in the
// newest schema; their weights stay.

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
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
    {"latency-autocast-portable.safetensors", 0x386b77991e50f87},
    {"latency-autocast.safetensors", 0xb97f0db19bfc2bdb},
    {"memory-training.safetensors", 0xcba90f7c1e4101ad},
    {"pmgns/inference-autocast.safetensors", 0x147bd01d3cc6bd4d},
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
