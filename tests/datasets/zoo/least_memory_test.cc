// What whole networks need at least, in training and inference. Those of small
// batches whose memory is a matter of a few 20 MiB segments are left out: it
// need not grow with the batch.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "foretell/fit.h"
#include "foretell/memory.h"
#include "foretell/predictor.h"
#include "src/core/units.h"
#include "tests/datasets/zoo/trace_network.h"

namespace foretell {
namespace {

using zoo_test::TraceNetwork;

struct Case {
  const char* network;
  Mode mode;
};

void PrintTo(const Case& one, std::ostream* out) {
  *out << one.network << " " << ModeName(one.mode);
}

class LeastMemoryOfZoo : public testing::TestWithParam<Case> {
 protected:
  static const DeviceSpec& Device() {
    return DeviceCatalog::BuiltIn().FindDevice("a100");
  }

  static OperatorGraph GraphOf(std::int64_t batch) {
    return TraceNetwork(GetParam().network, batch, GetParam().mode).graph;
  }

  static MemoryOptions Options() {
    return {.device = Device(),
            .context = DeviceCatalog::BuiltIn().DefaultContext()};
  }
};

TEST_P(LeastMemoryOfZoo, IsALineThatReplaysDraw) {
  const MemoryOptions options = Options();
  for (const std::int64_t batch : {1, 6}) {
    SCOPED_TRACE(batch);
    const OperatorGraph graph = GraphOf(batch);
    const MemoryBreakdown memory = SimulateMemory(graph, options);
    const std::int64_t least = LeastMemory(graph, options, memory);
    EXPECT_LE(least, memory.total);
    EXPECT_TRUE(FitsInMemory(graph, options, least));
    EXPECT_FALSE(FitsInMemory(graph, options, least - 2 * kMiB));
  }
}

TEST_P(LeastMemoryOfZoo, GrowsWithTheBatch) {
  std::int64_t before = 0;
  for (const std::int64_t batch : {1, 2, 4, 8, 16, 32}) {
    const OperatorGraph graph = GraphOf(batch);
    const std::int64_t least =
        LeastMemory(graph, Options(), SimulateMemory(graph, Options()));
    EXPECT_GE(least, before) << "batch " << batch;
    before = least;
  }
}

TEST_P(LeastMemoryOfZoo, DecidesOnACardBetweenItAndTheTotal) {
  const OperatorGraph graph = GraphOf(32);
  const auto judge = [&graph](double usable_mib) {
    DeviceSpec card = Device();
    card.usable_mib = static_cast<std::int64_t>(usable_mib);
    return JudgeFit(Predictor::Analytic(card, {}).Predict(graph), card).fit;
  };
  const Prediction prediction =
      Predictor::Analytic(Device(), {}).Predict(graph);
  const double most = prediction[Target::kMemory].interval.hi;
  ASSERT_GT(prediction.cache_mib, 4);
  EXPECT_EQ(judge(most + 1), mig::Fit::kFits);
  EXPECT_EQ(judge(most - prediction.cache_mib / 2),
            mig::Fit::kFitsWithoutCache);
  EXPECT_EQ(judge(most - prediction.cache_mib - 1), mig::Fit::kDoesNotFit);
}

INSTANTIATE_TEST_SUITE_P(
    Networks, LeastMemoryOfZoo,
    testing::Values(Case{"resnet18", Mode::kTraining},
                    Case{"vgg11", Mode::kTraining},
                    Case{"mobilenet_v2", Mode::kTraining},
                    Case{"convnext_tiny", Mode::kTraining},
                    Case{"vit_tiny_patch16_224", Mode::kTraining},
                    Case{"densenet121", Mode::kInference}));

}  // namespace
}  // namespace foretell
