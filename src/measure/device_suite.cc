#include "src/measure/device_suite.h"

#include <fmt/core.h>

#include <array>

namespace foretell::measure {
namespace {

constexpr int kChainLayers = 40;

/// Rows, depth and columns.
constexpr std::array<std::int64_t, 3> kProducts[] = {
    {8192, 4096, 4096}, {4096, 4096, 8192}, {4096, 8192, 4096},
    {4096, 4096, 4096}, {2048, 4096, 4096}, {2048, 2048, 4096},
    {4096, 2048, 2048}, {2048, 2048, 2048}};
constexpr Precision kProductTypes[] = {Precision::kFp32, Precision::kTf32,
                                       Precision::kFp16, Precision::kBf16};
constexpr Precision kOtherTypes[] = {Precision::kFp32, Precision::kFp16};
constexpr std::int64_t kWideBatches[] = {8192, 16384, 24576};
constexpr std::int64_t kMediumBatches[] = {32768, 49152, 65536, 98304};
constexpr std::int64_t kThinBatches[] = {1, 16, 64};
constexpr const char* kHostBound[] = {"zoo:resnet50", "zoo:mobilenet_v2",
                                      "zoo:vit_base_patch16_224"};

/// `layers` of the given width, each with a norm and an activation.
std::string Chain(int inputs, int layers, int width) {
  std::string widths;
  for (int i = 0; i < layers; ++i) {
    widths += fmt::format("{}{}", i == 0 ? "" : ",", width);
  }
  return fmt::format(
      "zoo:mlp?inputs={}&hidden={}&outputs={}&activation=gelu&batch_norm=true",
      inputs, widths, inputs);
}

void AddProducts(std::vector<SuiteStep>& steps) {
  for (const Precision precision : kProductTypes) {
    for (const auto& [rows, depth, columns] : kProducts) {
      steps.push_back(
          {fmt::format("zoo:mlp?inputs={}&hidden=&outputs={}", depth, columns),
           rows, precision});
    }
  }
}

/// The chains of one width at the batches.
template <std::size_t kCount>
void AddChains(const std::string& model, const std::int64_t (&batches)[kCount],
               std::vector<SuiteStep>& steps) {
  for (const Precision precision : kOtherTypes) {
    for (const std::int64_t batch : batches) {
      steps.push_back({model, batch, precision});
    }
  }
}

}  // namespace

std::vector<SuiteStep> DeviceSuite() {
  std::vector<SuiteStep> steps;
  AddProducts(steps);
  AddChains(Chain(16, 1, 4096), kWideBatches, steps);
  AddChains(Chain(64, kChainLayers, 64), kMediumBatches, steps);
  AddChains(Chain(64, kChainLayers, 64), kThinBatches, steps);
  for (const char* model : kHostBound) {
    steps.push_back({model, 1, Precision::kFp32});
  }
  return steps;
}

}  // namespace foretell::measure
