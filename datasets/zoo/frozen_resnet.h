#pragma once

#include <cstdint>
#include <vector>

#include "datasets/zoo/network.h"

namespace foretell::zoo {

/// A bottleneck ResNet without a classifier, as detectors fine-tune it: norms
/// are fixed scales and shifts, and the stem and the first stage are not
/// trained. Untrained tensors are buffers.
struct FrozenResNetOptions {
  std::vector<std::int64_t> layers;  ///< Blocks per stage.
  /// The last stage keeps the size of its input and dilates its windows.
  bool dilated = false;
};

/// x: [batch, 3, height, width]; gives [batch, 2048, height / 32, width / 32]
/// (/ 16 if dilated), rounded up.
Chain FrozenResNet(const FrozenResNetOptions& options);

}  // namespace foretell::zoo
