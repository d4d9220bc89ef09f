#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include "foretell/error.h"
#include "foretell/measure.h"
#include "src/measure/measured_step.h"
#include "tests/program/fake_program.h"
#include "tests/program/layers.h"

namespace foretell {
namespace {

using program_test::FakeProgram;
using program_test::Forward;
using program_test::Layer;
using program_test::Layers;
using program_test::Tensors;
using program_test::Weights;
using testing::HasSubstr;

/// Quick: what is timed does not matter here.
MeasureRequest Request(Mode mode = Mode::kInference) {
  return {.model = "net",
          .run = {.mode = mode},
          .device = "cpu",
          .options = {.warmup_runs = 3,
                      .min_runs = 4,
                      .min_seconds = 0,
                      .powercap_folder = "/nowhere"}};
}

Program TwoLinears() {
  return FakeProgram("net", {{"x", {DType::kF32, {256, 1024}}}},
                     [](Weights& weights) -> Forward {
                       Layers layers(weights);
                       const Layer first = layers.Linear(1024, 512);
                       const Layer second = layers.Linear(512, 1024);
                       return [first, second](Tensors inputs) -> Tensors {
                         return {second(first(inputs[0]))};
                       };
                     });
}

/// Weights 512 × 1024 + 512 and 1024 × 512 + 1024, f32.
constexpr std::int64_t kWeightBytes =
    (512 * 1024 + 512 + 1024 * 512 + 1024) * 4;
constexpr std::int64_t kInputBytes = 256 * 1024 * 4;
constexpr std::int64_t kHiddenBytes = 256 * 512 * 4;
constexpr std::int64_t kOutputBytes = 256 * 1024 * 4;

TEST(MeasureHere, CountsRunsAndOrdersQuantiles) {
  const Measurement row = MeasureHere(TwoLinears(), Request());
  ASSERT_EQ(row.status, MeasureStatus::kOk) << row.message;
  EXPECT_EQ(row.latency->runs, 4);
  EXPECT_GT(row.latency->p5_ms, 0);
  EXPECT_LE(row.latency->p5_ms, row.latency->median_ms);
  EXPECT_LE(row.latency->median_ms, row.latency->p95_ms);
}

TEST(MeasureHere, PeakOfInferenceIsWeightsInputAndLiveActivations) {
  const Measurement row = MeasureHere(TwoLinears(), Request());
  ASSERT_EQ(row.status, MeasureStatus::kOk) << row.message;
  EXPECT_EQ(row.memory.peak_allocated_bytes,
            kWeightBytes + kInputBytes + kHiddenBytes + kOutputBytes);
  EXPECT_GT(row.memory.peak_rss_bytes, *row.memory.peak_allocated_bytes);
}

TEST(MeasureHere, PeakOfTrainingHasGradientsAndOptimizerState) {
  MeasureRequest sgd = Request(Mode::kTraining);
  MeasureRequest adam = sgd;
  adam.run.optimizer = Optimizer::kAdam;
  const Measurement sgd_row = MeasureHere(TwoLinears(), sgd);
  const Measurement adam_row = MeasureHere(TwoLinears(), adam);
  ASSERT_EQ(sgd_row.status, MeasureStatus::kOk) << sgd_row.message;
  ASSERT_EQ(adam_row.status, MeasureStatus::kOk) << adam_row.message;
  EXPECT_EQ(sgd_row.optimizer, "sgd");
  // Weights and their gradients at the least; Adam's two moments beside.
  EXPECT_GE(*sgd_row.memory.peak_allocated_bytes,
            2 * kWeightBytes + kInputBytes);
  EXPECT_GE(*adam_row.memory.peak_allocated_bytes,
            *sgd_row.memory.peak_allocated_bytes + kWeightBytes);
}

TEST(MeasureHere, RefusesOptimizersOfOtherLibraries) {
  MeasureRequest request = Request(Mode::kTraining);
  request.run.optimizer = Optimizer::kLion8bit;
  const Measurement row = MeasureHere(TwoLinears(), request);
  EXPECT_NE(row.status, MeasureStatus::kOk);
  EXPECT_THAT(row.message, HasSubstr("optimizer lion8bit: the kernels"));
}

TEST(MeasureHere, HalfPrecisionTakesLessMemory) {
  MeasureRequest request = Request();
  request.run.precision = Precision::kBf16;
  const Measurement row = MeasureHere(TwoLinears(), request);
  ASSERT_EQ(row.status, MeasureStatus::kOk) << row.message;
  // Half of everything; a CPU's kernels may add packed weights.
  constexpr std::int64_t kInFp32 =
      kWeightBytes + kInputBytes + kHiddenBytes + kOutputBytes;
  EXPECT_GE(*row.memory.peak_allocated_bytes, kInFp32 / 2);
  EXPECT_LT(*row.memory.peak_allocated_bytes, kInFp32 * 3 / 4);
}

TEST(MeasureHere, SaysWhatItRanAndOnWhat) {
  MeasureRequest request = Request();
  request.run.precision = Precision::kTf32;
  request.options.threads = 1;
  const Measurement row = MeasureHere(TwoLinears(), request);
  EXPECT_EQ(row.format, "fake");
  EXPECT_EQ(row.batch, 256);
  ASSERT_EQ(row.inputs.size(), 1u);
  EXPECT_EQ(ToString(row.inputs[0].type), "f32[256,1024]");
  EXPECT_EQ(row.environment.threads, 1);
  EXPECT_TRUE(row.environment.tf32_matmul);
  EXPECT_FALSE(row.environment.device_name.empty());
  EXPECT_THAT(row.environment.libtorch, HasSubstr("2."));
  request.run.precision = Precision::kFp32;
  EXPECT_FALSE(MeasureHere(TwoLinears(), request).environment.tf32_matmul);
}

TEST(MeasureHere, RunsUnderAutocastFrom32BitParameters) {
  MeasureRequest request = Request();
  request.run.autocast = true;
  const Measurement row = MeasureHere(TwoLinears(), request);
  ASSERT_EQ(row.status, MeasureStatus::kOk) << row.message;
  EXPECT_TRUE(row.environment.autocast);
  // While the second layer runs its weight and the hidden values live in 16
  // bits too, and its result is made in 16 bits, without a copy in 32.
  EXPECT_GE(*row.memory.peak_allocated_bytes,
            kWeightBytes + kInputBytes + 512 * 1024 * 2 +
                (kHiddenBytes + kOutputBytes) / 2);
  const Measurement plain = MeasureHere(TwoLinears(), Request());
  EXPECT_FALSE(plain.environment.autocast);
  EXPECT_EQ(*plain.memory.peak_allocated_bytes,
            kWeightBytes + kInputBytes + kHiddenBytes + kOutputBytes);
}

TEST(MeasureHere, AutocastCastsWhatIsIn32Bits) {
  MeasureRequest request = Request();
  request.run.autocast = true;
  request.run.precision = Precision::kFp16;
  const Measurement row = MeasureHere(TwoLinears(), request);
  EXPECT_EQ(row.status, MeasureStatus::kFailed);
  EXPECT_THAT(row.message, HasSubstr("not in fp16"));
}

TEST(MeasureHere, TrainsUnderAutocast) {
  MeasureRequest request = Request(Mode::kTraining);
  request.run.autocast = true;
  const Measurement row = MeasureHere(TwoLinears(), request);
  EXPECT_EQ(row.status, MeasureStatus::kOk) << row.message;
}

TEST(MeasureHere, StoresWeightsAndImagesChannelsLast) {
  const auto strides = std::make_shared<std::vector<std::int64_t>>();
  const Program network =
      FakeProgram("net", {{"x", {DType::kF32, {2, 8, 6, 6}}}},
                  [strides](Weights& weights) -> Forward {
                    Layers layers(weights);
                    const Layer convolution = layers.Conv(8, 16, {3, 3});
                    return [convolution, strides](Tensors inputs) -> Tensors {
                      *strides = inputs[0].strides().vec();
                      return {convolution(inputs[0])};
                    };
                  });
  MeasureRequest request = Request();
  request.run.channels_last = true;
  const Measurement row = MeasureHere(network, request);
  ASSERT_EQ(row.status, MeasureStatus::kOk) << row.message;
  EXPECT_EQ(row.environment.memory_format, "channels_last");
  EXPECT_THAT(*strides, testing::ElementsAre(288, 1, 48, 8));
  EXPECT_EQ(MeasureHere(network, Request()).environment.memory_format,
            "contiguous");
  EXPECT_THAT(*strides, testing::ElementsAre(288, 36, 6, 1));
}

std::string ReasonFor(const Measurement& row, const std::string& what) {
  for (const MeasureNote& note : row.notes) {
    if (note.what == what) return note.reason;
  }
  return "";
}

TEST(MeasureHere, NeverGuessesEnergy) {
  MeasureRequest request = Request();
  EXPECT_EQ(ReasonFor(MeasureHere(TwoLinears(), request), "energy"),
            "not asked for");
  request.options.energy = true;
  const Measurement row = MeasureHere(TwoLinears(), request);
  EXPECT_EQ(row.status, MeasureStatus::kOk);
  EXPECT_FALSE(row.energy.energy_j.has_value());
  EXPECT_THAT(ReasonFor(row, "energy"), HasSubstr("/nowhere"));
}

Program Failing(const std::string& message) {
  return FakeProgram(
      "net", {{"x", {DType::kF32, {1}}}},
      program_test::Stateless([message](const at::Tensor&) -> at::Tensor {
        throw std::runtime_error(message);
      }));
}

TEST(MeasureHere, RecordsErrors) {
  const Measurement row = MeasureHere(Failing("no such thing"), Request());
  EXPECT_EQ(row.status, MeasureStatus::kFailed);
  EXPECT_EQ(row.message, "no such thing");
  EXPECT_EQ(MeasureHere(Failing("CUDA out of memory"), Request()).status,
            MeasureStatus::kOutOfMemory);
}

TEST(MeasureHere, RecordsThatTheHostRunsOutOfMemory) {
  const Program program =
      FakeProgram("net", {{"x", {DType::kF32, {1}}}},
                  program_test::Stateless([](const at::Tensor&) {
                    return at::empty({std::int64_t{1} << 46}, at::kFloat);
                  }));
  EXPECT_EQ(MeasureHere(program, Request()).status,
            MeasureStatus::kOutOfMemory);
}

TEST(MeasureHere, RecordsADeviceThatIsNotThere) {
  MeasureRequest request = Request();
  request.device = "cuda:99";
  const Measurement row = MeasureHere(TwoLinears(), request);
  EXPECT_EQ(row.status, MeasureStatus::kFailed);
  EXPECT_THAT(row.message, HasSubstr("'cuda:99'"));
}

TEST(MeasureHere, RecordsAMigInstanceThatCudaDoesNotOffer) {
  if (at::hasCUDA()) GTEST_SKIP() << "CUDA would offer some device";
  MeasureRequest request = Request();
  request.device = "MIG-01234567-89ab-cdef-0123-456789abcdef";
  EXPECT_EQ(MeasureHere(TwoLinears(), request).status,
            MeasureStatus::kMigUnsupported);
}

TEST(MeasureHere, ReadsAGpuWhereThereIsOne) {
  if (!at::hasCUDA()) GTEST_SKIP() << "no CUDA device";
  MeasureRequest request = Request();
  request.device = "cuda:0";
  const Measurement row = MeasureHere(TwoLinears(), request);
  ASSERT_EQ(row.status, MeasureStatus::kOk) << row.message;
  EXPECT_GT(row.latency->p5_ms, 0);
  // Weights and input are blocks of their own, rounded to 512 B.
  EXPECT_GE(*row.memory.peak_allocated_bytes, kWeightBytes + kInputBytes);
  EXPECT_GE(*row.memory.peak_reserved_bytes, *row.memory.peak_allocated_bytes);
  EXPECT_TRUE(row.environment.cuda.has_value());
}

TEST(MeasureHere, RefusesOptionsThatMeasureNothing) {
  MeasureRequest request = Request();
  request.options.min_runs = 0;
  EXPECT_EQ(MeasureHere(TwoLinears(), request).status, MeasureStatus::kFailed);
}

}  // namespace
}  // namespace foretell
