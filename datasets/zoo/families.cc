#include "datasets/zoo/families.h"

#include <array>

namespace foretell::zoo {

std::span<const Family> Families() {
  static const std::array kFamilies = {
      kResNet,
  };
  return kFamilies;
}

}  // namespace foretell::zoo
