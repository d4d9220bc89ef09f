#include "datasets/zoo/families.h"

#include <array>

namespace foretell::zoo {

std::span<const Family> Families() {
  static const std::array kFamilies = {
      kEfficientNet, kMnasNet,       kMobileNet,  kResNet,     kVgg,
      kSwin,         kVit,           kDenseNet,   kVisformer,  kPoolFormer,
      kConvNext,     kRegNet,        kInception,  kMixer,      kUNet,
      kUNet3d,       kWeather,       kMlp,        kBert,       kGpt,
      kT5,           kDeberta,       kRnn,        kLlama,      kClip,
      kSam,          kDiffusionUNet, kVaeDecoder, kWhisper,    kDetr,
      kFlux,         kSd3,           kWan,        kVaeEncoder, kFlux2,
  };
  return kFamilies;
}

}  // namespace foretell::zoo
