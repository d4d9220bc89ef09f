#include "foretell/fit.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "foretell/error.h"
#include "foretell/graph_io.h"
#include "foretell/predictor.h"
#include "src/core/units.h"
#include "tests/cost/test_device.h"
#include "tests/graph/expect_error.h"

namespace foretell {
namespace {

using test::A100;
using testing::ElementsAre;

Prediction Needing(double hi_mib) {
  Prediction prediction;
  prediction.memory.total =
      std::llround(0.9 * hi_mib * static_cast<double>(kMiB));
  prediction[Target::kMemory] = {.value = 0.9 * hi_mib,
                                 .interval = {0, hi_mib}};
  return prediction;
}

/// 100 MiB, 10 ms (5 to 20), 2 J (1 to 8); 30 ms and 1 J on 1g.5gb.
Prediction Small() {
  Prediction prediction = Needing(100);
  prediction[Target::kLatency] = {.value = 10, .interval = {5, 20}};
  prediction[Target::kEnergy] = {.value = 2, .interval = {1, 8}};
  prediction.slices = {{.profile = "1g.5gb", .latency = 3, .energy = 0.5}};
  return prediction;
}

std::vector<std::string> NamesOf(const FitVerdict& verdict) {
  std::vector<std::string> names;
  for (const FitCheck& check : verdict.checks) {
    names.emplace_back(check.what);
    names.back() += check.within ? " <= " : " > ";
    names.back() += std::to_string(std::lround(check.limit));
    names.back() += " " + std::string(check.unit);
  }
  return names;
}

TEST(JudgeFit, ComparesTheUpperEndWithWhatIsUsable) {
  EXPECT_TRUE(JudgeFit(Needing(40441), A100()).fits);
  // nvidia-smi shows 40960 MiB, of which a process gets 40441.
  EXPECT_FALSE(JudgeFit(Needing(40441.01), A100()).fits);
  EXPECT_TRUE(JudgeFit(Needing(4864), A100(), {.profile = "1g.5gb"}).fits);
  EXPECT_FALSE(JudgeFit(Needing(4864.01), A100(), {.profile = "1g.5gb"}).fits);
}

/// At most 5000 MiB, of which 500 are cache.
Prediction WithCache() {
  Prediction prediction = Needing(5000);
  prediction.cache_mib = 500;
  return prediction;
}

TEST(JudgeFit, TellsATightFitFromNone) {
  using mig::Fit;
  const auto judge = [](double max_memory_mib, bool tight) {
    return JudgeFit(WithCache(), A100(),
                    {.max_memory_mib = max_memory_mib, .tight = tight});
  };
  EXPECT_EQ(judge(5000, false).fit, Fit::kFits);
  EXPECT_EQ(judge(4999, false).fit, Fit::kFitsWithoutCache);
  EXPECT_EQ(judge(4500, false).fit, Fit::kFitsWithoutCache);
  EXPECT_EQ(judge(4499, false).fit, Fit::kDoesNotFit);
  EXPECT_TRUE(judge(5000, false).fits);
  EXPECT_FALSE(judge(4999, false).fits);
  EXPECT_TRUE(judge(4500, true).fits);
  EXPECT_FALSE(judge(4499, true).fits);
  EXPECT_EQ(judge(4500, true).fit, Fit::kFitsWithoutCache);
  EXPECT_EQ(judge(4500, true).checks.back().least, 4500);
}

TEST(JudgeFit, NeverStretchesLatencyForATightFit) {
  Prediction prediction = WithCache();
  prediction[Target::kLatency] = {.value = 10, .interval = {5, 20}};
  const FitVerdict verdict =
      JudgeFit(prediction, A100(), {.max_latency_ms = 9.9, .tight = true});
  EXPECT_FALSE(verdict.fits);
  EXPECT_EQ(verdict.fit, mig::Fit::kDoesNotFit);
}

TEST(JudgeFit, FindsAProfileWhateverItsCase) {
  EXPECT_TRUE(JudgeFit(Needing(4864), A100(), {.profile = "1G.5GB"}).fits);
}

TEST(JudgeFit, ListsUsableMemoryAndTheLimitsThatAreGiven) {
  EXPECT_THAT(NamesOf(JudgeFit(Small(), A100())),
              ElementsAre("memory at most <= 40441 MiB"));
  const FitVerdict verdict =
      JudgeFit(Small(), A100(),
               {.max_memory_mib = 99, .max_latency_ms = 10, .max_energy_j = 1});
  EXPECT_FALSE(verdict.fits);
  EXPECT_THAT(NamesOf(verdict),
              ElementsAre("memory at most > 99 MiB", "latency <= 10 ms",
                          "energy > 1 J"));
}

TEST(JudgeFit, KeepsTheDeviceWhereTheLimitOfMemoryIsAboveIt) {
  EXPECT_THAT(
      NamesOf(JudgeFit(Needing(50000), A100(), {.max_memory_mib = 80000})),
      ElementsAre("memory at most > 40441 MiB", "memory at most <= 80000 MiB"));
}

TEST(JudgeFit, TakesTheEstimateWhereThatIsAskedFor) {
  Prediction prediction = Needing(5000);
  prediction[Target::kMemory] = {.value = 4000, .interval = {3000, 5000}};
  const FitLimits likely = {.max_memory_mib = 4000, .by_estimate = true};
  EXPECT_THAT(NamesOf(JudgeFit(prediction, A100(), likely)),
              ElementsAre("memory <= 4000 MiB"));
  EXPECT_FALSE(JudgeFit(prediction, A100(), {.max_memory_mib = 4000}).fits);
}

TEST(JudgeFit, TakesUpperEndsWhenStrict) {
  EXPECT_TRUE(JudgeFit(Small(), A100(), {.max_latency_ms = 19}).fits);
  EXPECT_FALSE(
      JudgeFit(Small(), A100(), {.max_latency_ms = 19, .strict = true}).fits);
  EXPECT_TRUE(
      JudgeFit(Small(), A100(), {.max_latency_ms = 20, .strict = true}).fits);
  EXPECT_FALSE(
      JudgeFit(Small(), A100(), {.max_energy_j = 7, .strict = true}).fits);
}

TEST(JudgeFit, TakesTheFiguresOfTheProfile) {
  const auto fits = [](FitLimits limits) {
    limits.profile = "1g.5gb";
    return JudgeFit(Small(), A100(), limits).fits;
  };
  EXPECT_TRUE(fits({.max_latency_ms = 30, .max_energy_j = 1}));
  EXPECT_FALSE(fits({.max_latency_ms = 29.9}));
  EXPECT_FALSE(fits({.max_energy_j = 0.99}));
  // The interval stretches with the estimate: 10 to 20 becomes 30 to 60.
  EXPECT_TRUE(fits({.max_latency_ms = 60, .strict = true}));
  EXPECT_FALSE(fits({.max_latency_ms = 59, .strict = true}));
}

TEST(JudgeFit, AcceptsAStepThatTakesNoTime) {
  EXPECT_TRUE(
      JudgeFit(Needing(1), A100(), {.max_latency_ms = 1e-9, .strict = true})
          .fits);
}

TEST(JudgeFit, RefusesAnUnknownProfile) {
  try {
    JudgeFit(Small(), A100(), {.profile = "9g.9gb"});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNotFound);
  }
}

TEST(JudgeFit, RefusesLimitsThatAreNone) {
  const double nan = std::nan("");
  for (const FitLimits& limits :
       {FitLimits{.max_memory_mib = nan}, FitLimits{.max_latency_ms = nan},
        FitLimits{.max_energy_j = nan}, FitLimits{.max_memory_mib = 0},
        FitLimits{.max_energy_j = -1}}) {
    ExpectError([&] { JudgeFit(Small(), A100(), limits); },
                ErrorCode::kInvalidArgument, "the limit of ");
  }
}

using Predict = std::function<Prediction(std::int64_t)>;

/// The largest batch from 1 to `most`.
std::int64_t Largest(std::int64_t most, const Predict& predict,
                     const DeviceSpec& device, const FitLimits& limits = {}) {
  return LargestBatch({.most = most}, predict, device, limits).batch;
}

/// Asserts that JudgeFit draws the line where LargestBatch says it is, on the
/// device without MIG and on every profile.
void ExpectOneJudge(const DeviceSpec& device, const Predict& predict) {
  constexpr std::int64_t kMost = std::int64_t{1} << 26;
  std::vector<std::string> places = {""};
  for (const MigProfile& profile : device.mig_profiles) {
    places.push_back(profile.name);
  }
  for (const std::string& place : places) {
    SCOPED_TRACE(device.name + " " + place);
    const FitLimits limits{.profile = place};
    const std::int64_t best = Largest(kMost, predict, device, limits);
    ASSERT_LT(best, kMost);
    EXPECT_TRUE(best == 0 || JudgeFit(predict(best), device, limits).fits);
    EXPECT_FALSE(JudgeFit(predict(best + 1), device, limits).fits);
  }
}

TEST(LargestBatch, IsTheLastThatJudgeFitAcceptsOnEveryDeviceAndProfile) {
  const struct {
    double fixed_mib;
    double mib_per_item;
  } lines[] = {{0, 1}, {500, 37.3}, {4000, 0.01}, {5000, 999.9}, {0.5, 1e-2}};
  for (const DeviceSpec& device : DeviceCatalog::BuiltIn().devices()) {
    for (const auto& line : lines) {
      ExpectOneJudge(device, [&](std::int64_t batch) {
        return Needing(line.fixed_mib +
                       line.mib_per_item * static_cast<double>(batch));
      });
    }
  }
}

TEST(LargestBatch, FindsTheLimitOfNeedsThatGrowBySteps) {
  for (const double limit_mib : {999.0, 1000.0, 1001.0, 5000.0}) {
    const auto predict = [](std::int64_t batch) {
      return Needing(100.0 * std::floor(static_cast<double>(batch) / 7));
    };
    const auto largest = static_cast<std::int64_t>(limit_mib / 100) * 7 + 6;
    EXPECT_EQ(Largest(100'000, predict, A100(), {.max_memory_mib = limit_mib}),
              largest);
  }
}

/// `text` with the batch size in the place of every "B".
OperatorGraph WithBatch(std::string text, std::int64_t batch) {
  for (std::size_t at = text.find('B'); at != std::string::npos;
       at = text.find('B', at)) {
    text.replace(at, 1, std::to_string(batch));
  }
  return ParseGraph(text);
}

constexpr char kConvolution[] = R"(graph "convolution" batch=B
%x = input f32[B,3,1024,1024]
%a = conv2d(%x, weight f32[64,3,3,3]) {padding=[1,1]} : f32[B,64,1024,1024]
%b = relu(%a) : f32[B,64,1024,1024]
%c = mean(%b) : f32[B,64]
%d = linear(%c, weight f32[1000,64]) : f32[B,1000]
output %d
)";

constexpr char kTraining[] = R"(graph "mlp" mode=training batch=B optimizer=sgd
%x = input f32[B,65536]
%target = input i64[B]
%w = parameter f32[1000,65536]
%wt = t(%w) : f32[65536,1000] alias %w
%y = mm(%x, %wt) : f32[B,1000]
%p = log_softmax(%y) {dim=1} : f32[B,1000] saved
%loss, %total = nll_loss_forward(%p, %target) : f32[] saved, f32[] saved
phase backward
%one = ones_like(%loss) : f32[] backward_temporary
%gp = nll_loss_backward(%one, %p, %target, %total) : f32[B,1000] backward_temporary
%gy = _log_softmax_backward_data(%gp, %p) : f32[B,1000] backward_temporary
%gyt = t(%gy) : f32[1000,B] alias %gy
%gw = mm(%gyt, %x) : f32[1000,65536] gradient
phase optimizer
%w1 = add_(%w, %gw) {alpha=-0.01} : f32[1000,65536] alias %w
output %loss
)";

TEST(LargestBatch, IsTheLastThatJudgeFitAcceptsForRealGraphs) {
  const DeviceCatalog& catalog = DeviceCatalog::BuiltIn();
  for (const DeviceSpec& device : catalog.devices()) {
    const Predictor predictor = Predictor::Analytic(device, foretell::Run{});
    for (const char* text : {kConvolution, kTraining}) {
      ExpectOneJudge(device, [&](std::int64_t batch) {
        return predictor.Predict(WithBatch(text, batch));
      });
    }
  }
}

TEST(LargestBatch, KeepsEveryLimitOfTheJudge) {
  const Predict predict = [](std::int64_t batch) {
    Prediction prediction = Small();
    const double ms = 0.7 * static_cast<double>(batch);
    prediction[Target::kLatency] = {.value = ms, .interval = {ms, 2 * ms}};
    return prediction;
  };
  EXPECT_EQ(Largest(1000, predict, A100(), {.max_latency_ms = 20}), 28);
  EXPECT_EQ(
      Largest(1000, predict, A100(), {.max_latency_ms = 20, .strict = true}),
      14);
  EXPECT_EQ(Largest(1000, predict, A100(), {.max_memory_mib = 99}), 0);
}

TEST(LargestBatch, CountsTightFitsWhenTold) {
  const auto predict = [](std::int64_t batch) {
    Prediction prediction = Needing(10.0 * static_cast<double>(batch));
    prediction.cache_mib = static_cast<double>(batch);
    return prediction;
  };
  EXPECT_EQ(Largest(1000, predict, A100(), {.max_memory_mib = 900}), 90);
  EXPECT_EQ(
      Largest(1000, predict, A100(), {.max_memory_mib = 900, .tight = true}),
      100);
}

TEST(LargestBatch, NeverAsksForMoreThanTheMost) {
  for (const std::int64_t most : {1, 2, 3, 4, 6, 7, 8, 1000}) {
    std::int64_t largest = 0;
    const std::int64_t best = Largest(
        most,
        [&](std::int64_t batch) {
          largest = std::max(largest, batch);
          return Small();
        },
        A100());
    EXPECT_EQ(best, most);
    EXPECT_EQ(largest, most);
  }
}

TEST(LargestBatch, KeepsToWhatTheModelAllows) {
  const auto search = [](std::int64_t least, std::int64_t most) {
    return Largest(
        1000,
        [&](std::int64_t batch) {
          if (batch >= least && batch <= most) return Small();
          throw Error(ErrorCode::kInvalidArgument,
                      fmt::format("{} is too many", batch));
        },
        A100());
  };
  EXPECT_EQ(search(1, 64), 64);
  EXPECT_EQ(search(2, 37), 37);
  EXPECT_EQ(search(1, 1), 1);
  EXPECT_EQ(search(5, 900), 900);
  ExpectError([&] { search(5, 7); }, ErrorCode::kInvalidArgument,
              "1 is too many");
}

TEST(LargestBatch, BeginsAtTheLeastThatTheModelTakes) {
  const auto search = [](double max_memory_mib, std::int64_t most = 1000) {
    return LargestBatch({.most = most},
                        [](std::int64_t length) {
                          if (length < 37) {
                            throw Error(ErrorCode::kInvalidArgument,
                                        fmt::format("{} is too few", length));
                          }
                          return Needing(10.0 * static_cast<double>(length));
                        },
                        A100(), {.max_memory_mib = max_memory_mib});
  };
  const LargestBatchFound found = search(1000);
  EXPECT_EQ(found.batch, 100);
  EXPECT_EQ(found.least, 37);
  EXPECT_EQ(found.least_refusal, "36 is too few");
  EXPECT_EQ(search(1e9).batch, 1000);
  // 64, the first that is taken, does not fit.
  EXPECT_EQ(search(500).batch, 50);
  EXPECT_EQ(search(370).batch, 37);
  EXPECT_EQ(search(369).batch, 0);
  EXPECT_EQ(search(369).least, 37);
  EXPECT_EQ(search(1e9, 40).batch, 40);
  ExpectError([&] { search(1e9, 36); }, ErrorCode::kInvalidArgument,
              "1 is too few");
}

TEST(LargestBatch, TakesAContradictedFileForARefusalOfTheSize) {
  const Predict predict = [](std::int64_t length) {
    if (length < 37 || length > 90) {
      throw Error(ErrorCode::kCorrupt, fmt::format("{} is nothing", length));
    }
    return Small();
  };
  const LargestBatchFound found = LargestBatch({.most = 1000}, predict, A100());
  EXPECT_EQ(found.least, 37);
  EXPECT_EQ(found.least_refusal, "36 is nothing");
  EXPECT_EQ(found.batch, 90);
  EXPECT_EQ(found.refusal, "91 is nothing");
}

TEST(LargestBatch, EndsAtWhatIsNoMatterOfTheSize) {
  std::int64_t calls = 0;
  const Predict predict = [&](std::int64_t) -> Prediction {
    ++calls;
    throw Error(ErrorCode::kUnsupported, "data-dependent");
  };
  ExpectError([&] { Largest(1000, predict, A100()); }, ErrorCode::kUnsupported,
              "data-dependent");
  EXPECT_EQ(calls, 1);
}

TEST(LargestBatch, BeginsAtTheLeastAndSaysWhatTheModelRefused) {
  std::int64_t smallest = 1000;
  const auto search = [&](BatchRange range, const FitLimits& limits = {}) {
    return LargestBatch(
        range,
        [&](std::int64_t batch) {
          smallest = std::min(smallest, batch);
          if (batch > 37) {
            throw Error(ErrorCode::kInvalidArgument,
                        fmt::format("{} is too many", batch));
          }
          return Needing(10.0 * static_cast<double>(batch));
        },
        A100(), limits);
  };
  const LargestBatchFound refused = search({.least = 3, .most = 1000});
  EXPECT_EQ(refused.batch, 37);
  EXPECT_EQ(refused.refusal, "38 is too many");
  EXPECT_EQ(smallest, 3);
  // Above the answer there is no room, or nothing to search.
  EXPECT_EQ(search({.most = 1000}, {.max_memory_mib = 95}).refusal, "");
  EXPECT_EQ(search({.most = 37}).refusal, "");
  EXPECT_EQ(search({.least = 3, .most = 9}, {.max_memory_mib = 20}).batch, 0);
}

TEST(LargestBatch, GoesWhereALineMeetsTheLimit) {
  int asked = 0;
  const std::int64_t best = Largest(
      std::int64_t{1} << 40,
      [&](std::int64_t batch) {
        ++asked;
        return Needing(static_cast<double>(batch));
      },
      A100());
  EXPECT_EQ(best, 40441);
  // 1, 2, 16 … 8192, at most eight times the last, then 40442 and 40441.
  EXPECT_EQ(asked, 8);
}

TEST(LargestBatch, DrawsATrueLineWhereMemoryGoesUpAndDown) {
  const Predict predict = [](std::int64_t batch) {
    return Needing(batch % 7 == 6 || batch > 50 ? 50000 : 100);
  };
  const std::int64_t best = Largest(1000, predict, A100());
  EXPECT_TRUE(JudgeFit(predict(best), A100()).fits);
  EXPECT_FALSE(JudgeFit(predict(best + 1), A100()).fits);
}

}  // namespace
}  // namespace foretell
