#include "src/measure/cpu_backend.h"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <vector>

#include "src/core/units.h"
#include "src/measure/host_memory.h"

namespace foretell::measure {
namespace {

TEST(PeakBytes, RemembersTheMostThatLived) {
  PeakBytes bytes;
  const std::int32_t first = bytes.OnAllocate(100);
  const std::int32_t second = bytes.OnAllocate(50);
  bytes.OnFree(first);
  bytes.OnAllocate(20);
  EXPECT_EQ(bytes.live_bytes(), 70);
  EXPECT_EQ(bytes.peak_bytes(), 150);
  bytes.ResetPeak();
  EXPECT_EQ(bytes.peak_bytes(), 70);
  bytes.OnFree(second);
  EXPECT_EQ(bytes.live_bytes(), 20);
  EXPECT_EQ(bytes.peak_bytes(), 70);
}

TEST(CpuBackend, CountsWhatTensorsHold) {
  CpuBackend device("/nowhere");
  std::vector<MeasureNote> notes;
  const at::Tensor kept = at::empty({1024}, at::kFloat);  // 4 KiB.
  std::optional<at::Tensor> dropped = at::empty({256}, at::kFloat);
  dropped.reset();
  EXPECT_EQ(device.Memory(notes).peak_allocated_bytes, 5 * kKiB);
  device.ResetPeaks();
  EXPECT_EQ(device.Memory(notes).peak_allocated_bytes, 4 * kKiB);
}

TEST(CpuBackend, SaysWhatACpuDoesNotHave) {
  CpuBackend device("/nowhere");
  std::vector<MeasureNote> notes;
  const MeasuredMemory memory = device.Memory(notes);
  EXPECT_FALSE(memory.peak_reserved_bytes.has_value());
  EXPECT_FALSE(memory.context_bytes.has_value());
  EXPECT_EQ(notes.size(), 3u);
  const Reading<EnergyCounter*> energy = device.Energy();
  EXPECT_FALSE(energy.has_value());
  EXPECT_NE(energy.reason.find("/nowhere"), std::string::npos);
}

TEST(HostMemory, GrowsByWhatIsTouched) {
  const std::int64_t before = PeakResidentBytes();
  ASSERT_GT(before, 0);
  constexpr std::size_t kBytes = std::size_t{256} << 20;
  std::vector<char> block(kBytes);
  std::memset(block.data(), 1, kBytes);
  EXPECT_GE(PeakResidentBytes(),
            before + static_cast<std::int64_t>(kBytes) / 2);
  EXPECT_EQ(block[kBytes / 2], 1);
}

}  // namespace
}  // namespace foretell::measure
