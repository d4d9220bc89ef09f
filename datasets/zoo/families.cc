#include "datasets/zoo/families.h"

#include <array>

namespace foretell::zoo {

std::span<const Family> Families() {
  static const std::array kFamilies = {
      kEfficientNet, kMnasNet, kMobileNet, kResNet, kVgg,    kDenseNet,
      kConvNext,     kRegNet,  kInception, kUNet,   kUNet3d, kWeather,
  };
  return kFamilies;
}

}  // namespace foretell::zoo
