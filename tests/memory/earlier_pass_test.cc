#include "src/memory/earlier_pass.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "foretell/graph_io.h"
#include "src/core/units.h"

namespace foretell::memory {
namespace {

/// A step over `rows` rows of 16 KiB: the parameter and the two results of the
/// forward pass have 16 MiB each at 1,024 rows, the gradient too.
OperatorGraph TrainingOfRows(int rows) {
  const std::string type = "f32[" + std::to_string(rows) + ",4096]";
  return ParseGraph(
      "graph \"g\" mode=training optimizer=\"sgd\"\n"
      "%w = parameter f32[1024,4096]\n"
      "%x = input " +
      type +
      "\n"
      "%a = relu(%x) : " +
      type +
      "\n"
      "%y = mul(%a, %a) : " +
      type +
      "\n"
      "phase backward\n"
      "%g = mm(%w, %y) : f32[1024,4096] gradient\n"
      "output %y\n"
      "timeline\n"
      "start: +%w +%x\n"
      "0: +%a\n"
      "1: +%y\n"
      "2: +%g -%a\n");
}

MemoryOptions SmallCard() {
  MemoryOptions options;
  options.device.usable_mib = 1000;
  options.context.context_mib = {{"*", 100}};
  return options;
}

/// MiB of every allocation; negative where it is freed.
std::vector<std::int64_t> SizesInMib(
    const std::vector<AllocationEvent>& events) {
  std::map<std::int64_t, std::int64_t> live;
  std::vector<std::int64_t> sizes;
  for (const AllocationEvent& event : events) {
    const bool born = event.kind == AllocationEvent::Kind::kAllocate;
    if (born) live[event.id] = event.bytes / kMiB;
    sizes.push_back(born ? live[event.id] : -live.at(event.id));
  }
  return sizes;
}

TEST(EarlierPass, StandsBetweenTheParametersAndTheFirstStep) {
  const std::vector<std::int64_t> sizes = SizesInMib(
      EventsAfterPass(TrainingOfRows(1024), TrainingOfRows(512), SmallCard()));
  const std::vector<std::int64_t> first(sizes.begin(), sizes.begin() + 8);
  // The parameter; input and results of half the size, dropped; the input.
  EXPECT_EQ(first, (std::vector<std::int64_t>{16, 8, 8, 8, -8, -8, -8, 16}));
}

TEST(EarlierPass, LeavesSegmentsThatServeNoLargerBatch) {
  const OperatorGraph step = TrainingOfRows(1024);
  const std::int64_t alone = SimulateMemory(step, SmallCard()).total;
  // Three tensors of 12 MiB have segments of their own, of no use to 16 MiB.
  EXPECT_EQ(SimulateAfterPass(step, TrainingOfRows(768), SmallCard()).total,
            alone + 3 * 12 * kMiB);
}

TEST(EarlierPass, GivesItsSegmentsBackOnAFullDevice) {
  const OperatorGraph step = TrainingOfRows(1024);
  MemoryOptions options = SmallCard();
  const std::int64_t alone = SimulateMemory(step, options).total;
  options.device.usable_mib = alone / kMiB + 20;
  const HeldAfterPass held =
      SimulateAfterPass(step, TrainingOfRows(768), options);
  ASSERT_TRUE(held.on_device.has_value());
  EXPECT_GT(held.total, options.device.usable_mib * kMiB);
  EXPECT_LE(*held.on_device, options.device.usable_mib * kMiB);
  options.device.usable_mib = 100 + 3 * 16;
  EXPECT_FALSE(SimulateAfterPass(step, TrainingOfRows(768), options).on_device);
}

}  // namespace
}  // namespace foretell::memory
