#include "src/program/storage_ledger.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/graph/expect_error.h"

namespace foretell {
namespace {

using testing::ElementsAre;

/// Writes "+number:bytes" and "-number".
class Diary final : public StorageListener {
 public:
  std::int32_t OnAllocate(std::size_t bytes) override {
    lines.push_back("+" + std::to_string(next_) + ":" + std::to_string(bytes));
    return next_++;
  }
  void OnFree(std::int32_t storage) override {
    lines.push_back("-" + std::to_string(storage));
  }

  std::vector<std::string> lines;

 private:
  std::int32_t next_ = 0;
};

at::Tensor Floats(std::int64_t count, at::Device device) {
  return at::empty({count}, at::TensorOptions().device(device));
}

class StorageLedger : public testing::TestWithParam<at::DeviceType> {
 protected:
  StorageLedger() { InstallLedgerAllocators(); }
  at::Device device() const { return at::Device(GetParam()); }
};

TEST_P(StorageLedger, ReportsBirthAndDeathAtTheirMoments) {
  Diary diary;
  const ListenScope listening(diary, GetParam());
  at::Tensor a = Floats(4, device());
  at::Tensor b = Floats(2, device());
  a.reset();
  b.reset();
  EXPECT_THAT(diary.lines, ElementsAre("+0:16", "+1:8", "-0", "-1"));
}

TEST_P(StorageLedger, AViewKeepsTheStorageOfItsBase) {
  Diary diary;
  const ListenScope listening(diary, GetParam());
  at::Tensor a = Floats(4, device());
  at::Tensor view = a.view({2, 2});
  a.reset();
  EXPECT_THAT(diary.lines, ElementsAre("+0:16"));
  EXPECT_EQ(LedgerNumber(view.storage().data_ptr().get_context(), GetParam()),
            0);
  view.reset();
  EXPECT_THAT(diary.lines, ElementsAre("+0:16", "-0"));
}

TEST_P(StorageLedger, DoesNotReportStoragesOfOthers) {
  const at::Tensor before = Floats(4, device());
  at::Tensor first;
  Diary one;
  {
    const ListenScope listening(one, GetParam());
    first = Floats(4, device());
  }
  Diary two;
  const ListenScope listening(two, GetParam());
  EXPECT_EQ(LedgerNumber(first.storage().data_ptr().get_context(), GetParam()),
            -1);
  first.reset();
  EXPECT_THAT(one.lines, ElementsAre("+0:16"));
  EXPECT_TRUE(two.lines.empty());
}

TEST_P(StorageLedger, ListensToItsThreadAlone) {
  Diary diary;
  const ListenScope listening(diary, GetParam());
  std::thread other([this] { Floats(4, device()); });
  other.join();
  EXPECT_TRUE(diary.lines.empty());
}

TEST_P(StorageLedger, StoragesMayOutliveTheirListener) {
  at::Tensor survivor;
  {
    auto diary = std::make_unique<Diary>();
    const ListenScope listening(*diary, GetParam());
    survivor = Floats(4, device());
  }
  survivor.reset();
}

INSTANTIATE_TEST_SUITE_P(Devices, StorageLedger,
                         testing::Values(at::kMeta, at::kCPU),
                         [](const auto& tested) {
                           return tested.param == at::kMeta ? "meta" : "cpu";
                         });

TEST(StorageLedgerLimits, RefusesWhatNoDeviceHolds) {
  InstallLedgerAllocators();
  Diary diary;
  const ListenScope listening(diary, at::kMeta);
  constexpr std::int64_t kLargest = std::int64_t{1} << 48;  // float32
  EXPECT_NO_THROW(Floats(kLargest, at::kMeta));
  ExpectError([&] { Floats(kLargest + 1, at::kMeta); },
              ErrorCode::kInvalidArgument,
              "1125899906842628 bytes on the device, at most 1125899906842624");
}

TEST(StorageLedgerLimits, TheHostOfAMetaTraceHoldsLittle) {
  InstallLedgerAllocators();
  Diary diary;
  constexpr std::int64_t kLargest = std::int64_t{1} << 26;  // float32
  {
    const ListenScope listening(diary, at::kMeta);
    EXPECT_NO_THROW(Floats(kLargest, at::kCPU));
    ExpectError([&] { Floats(kLargest + 1, at::kCPU); },
                ErrorCode::kInvalidArgument, "on the host");
  }
  // Without a trace, or on a trace of the CPU, it may hold more.
  EXPECT_NO_THROW(Floats(kLargest + 1, at::kCPU));
  const ListenScope listening(diary, at::kCPU);
  EXPECT_NO_THROW(Floats(kLargest + 1, at::kCPU));
}

TEST(StorageLedgerLimits, RealMemoryIsUsable) {
  InstallLedgerAllocators();
  Diary diary;
  const ListenScope listening(diary, at::kCPU);
  at::Tensor x = at::arange(1000);
  x = at::cat({x, x}).resize_({3000});
  EXPECT_EQ(x[1999].item<std::int64_t>(), 999);
}

}  // namespace
}  // namespace foretell
