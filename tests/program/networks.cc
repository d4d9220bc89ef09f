#include "tests/program/networks.h"

#include <utility>

namespace foretell::program_test {

std::vector<NamedNetwork> AllNetworks() {
  std::vector<NamedNetwork> all;
  for (auto part : {&ConvolutionalNetworks, &MobileNetworks, &AttentionNetworks,
                    &SequenceNetworks}) {
    for (NamedNetwork& network : part()) all.push_back(std::move(network));
  }
  return all;
}

BoundInput Image(std::int64_t batch, std::int64_t channels, std::int64_t size) {
  return {"image", {DType::kF32, {batch, channels, size, size}}};
}

BoundInput Tokens(std::int64_t batch, std::int64_t length) {
  return {"tokens", {DType::kI64, {batch, length}}};
}

}  // namespace foretell::program_test
