#pragma once

#include <fstream>
#include <string>

#include "src/network/checkpoint.h"

namespace foretell::answer_test {

/// The committed checkpoint of memory and latency, with inputs scaled so that
/// every network is near those that it learned from; its weights are few and
/// random, so that it says much the same of all: about exp(`log_memory`) MiB
/// and 3 ms. Written to `path`.
inline void WriteOwnCheckpoint(const std::string& path, double log_memory) {
  learned::Checkpoint checkpoint = learned::ReadCheckpoint(
      FORETELL_SOURCE_DIR "/tests/golden/checkpoint/first.safetensors");
  for (learned::InputColumn& column : checkpoint.info.recipe.columns) {
    column.scale = 0.01;
  }
  checkpoint.info.targets.front().scale.mean = log_memory;
  std::ofstream(path, std::ios::binary)
      << learned::SerializeCheckpoint(checkpoint);
}

}  // namespace foretell::answer_test
