#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "datasets/zoo/network.h"

namespace foretell::zoo {

/// A U-Net: downsampled `depth` times, then upsampled and concatenated with
/// each level's result. Convolutions are 3 wide and padded, so that sizes
/// agree.
struct UNetShape {
  std::int64_t dimensions = 2;  ///< Dimensions of the image: 2 or 3.
  std::int64_t in = 3;
  std::int64_t out = 2;     ///< Channels of the result.
  std::int64_t width = 64;  ///< Channels of the first level, doubled per level.
  std::int64_t depth = 4;   ///< Poolings.
  /// Convolutions of each encoder level and the bottom, depth + 1 numbers;
  /// empty: two each. Decoder levels have two.
  std::vector<std::int64_t> encoder_layers;
  bool batch_norm = true;
  bool bias = false;  ///< Bias in convolutions.
  /// Channels double in a level's last convolution and upsampling keeps them
  /// (Çiçek et al. 2016); otherwise they double in its first, and upsampling
  /// halves them (Ronneberger et al. 2015).
  bool doubles_late = false;
  bool raises_with_bias = true;
};

/// Throws Error(kInvalidArgument) for invalid numbers.
std::shared_ptr<UnaryNetwork> MakeUNet(const UNetShape& shape);

/// Throws Error(kInvalidArgument) unless `size` can be halved `depth` times.
void RequireHalves(std::int64_t size, std::int64_t depth);

}  // namespace foretell::zoo
