// U-Nets: `unet` on images (Ronneberger et al. 2015, with the padding and batch
// norm that became usual) and `unet3d` on cubes (Çiçek et al. 2016, padded).
// The latter has the published 19,069,955 weights; batch norms come on top.

#include <array>

#include "datasets/zoo/families.h"
#include "datasets/zoo/unet_network.h"

namespace foretell::zoo {
namespace {

struct UNetConfig {
  std::int64_t width = 64;  ///< Channels of the first level.
  std::int64_t depth = 4;   ///< Poolings.
  bool batch_norm = true;
  std::int64_t image_size = 512;
  std::int64_t channels = 3;
  std::int64_t classes = 2;

  FORETELL_FIELDS(width, depth, batch_norm, image_size, channels, classes)

  std::vector<InputSpec> Inputs() const {
    return {ImageInput(channels, image_size)};
  }
  std::shared_ptr<Network> Make() const {
    RequireHalves(image_size, depth);
    return MakeUNet({.in = channels,
                     .out = classes,
                     .width = width,
                     .depth = depth,
                     .batch_norm = batch_norm,
                     .bias = !batch_norm});
  }
};

struct UNet3dConfig {
  std::int64_t width = 64;  ///< Channels of the first level's result.
  std::int64_t depth = 3;   ///< Poolings.
  bool batch_norm = true;
  std::int64_t edge = 128;  ///< Edge of the cube, in voxels.
  std::int64_t channels = 3;
  std::int64_t classes = 3;
  /// As Çiçek et al.; else as Ronneberger et al., whose raising halves the
  /// channels, with a bias.
  bool doubles_late = true;

  FORETELL_FIELDS(width, depth, batch_norm, edge, channels, classes,
                  doubles_late)

  std::vector<InputSpec> Inputs() const {
    return {BatchedInput("volume", DType::kF32, {channels, edge, edge, edge})};
  }
  std::shared_ptr<Network> Make() const {
    RequireHalves(edge, depth);
    return MakeUNet({.dimensions = 3,
                     .in = channels,
                     .out = classes,
                     .width = width,
                     .depth = depth,
                     .batch_norm = batch_norm,
                     .bias = true,
                     .doubles_late = doubles_late,
                     .raises_with_bias = !doubles_late});
  }
};

constexpr std::array<Variant, 1> kUNetVariants = {{{"unet", ""}}};
constexpr std::array<Variant, 1> kUNet3dVariants = {{{"unet3d", ""}}};

}  // namespace

const Family kUNet = {"unet", kUNetVariants, &Configure<UNetConfig>};
const Family kUNet3d = {"unet3d", kUNet3dVariants, &Configure<UNet3dConfig>};

}  // namespace foretell::zoo
