#include "src/kernels/upsample.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace foretell::cost {
namespace {

constexpr std::string_view kInterpolating[] = {
    "upsample_linear1d", "upsample_bilinear2d", "upsample_bicubic2d",
    "upsample_trilinear3d"};
constexpr double kStepUs = 0.3;
/// Registers allow no more of these kernels' threads on a multiprocessor.
constexpr double kThreadsPerSm = 1024;

/// Of 16 elements a thread takes twice as long as of four, of eight in three
/// dimensions three times (kinds.jsonl.gz).
std::int64_t StepsPerResult(const Node& node) {
  if (node.target == "upsample_bicubic2d") return 2;
  return node.target == "upsample_trilinear3d" ? 3 : 1;
}

}  // namespace

std::int64_t SerialSteps(const Node& node, std::span<const std::int64_t> shape,
                         bool channels_last) {
  if (channels_last || shape.size() < 2) return 0;
  const bool interpolates = std::ranges::count(kInterpolating, node.target) > 0;
  return interpolates ? shape[0] * shape[1] * StepsPerResult(node) : 0;
}

double SerialUs(std::int64_t steps, std::int64_t positions, int sms) {
  const double rounds =
      std::ceil(static_cast<double>(positions) / (kThreadsPerSm * sms));
  return kStepUs * static_cast<double>(steps) * std::max(rounds, 1.0);
}

}  // namespace foretell::cost
