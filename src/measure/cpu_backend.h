#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "src/measure/device_backend.h"
#include "src/measure/rapl.h"
#include "src/program/storage_ledger.h"

namespace foretell::measure {

/// Sums the live bytes of all storages and tracks the peak.
class PeakBytes final : public StorageListener {
 public:
  std::int32_t OnAllocate(std::size_t bytes) override;
  void OnFree(std::int32_t storage) override;

  void ResetPeak() { peak_bytes_ = live_bytes_; }
  std::int64_t live_bytes() const { return live_bytes_; }
  std::int64_t peak_bytes() const { return peak_bytes_; }

 private:
  std::unordered_map<std::int32_t, std::int64_t> bytes_of_;
  std::int32_t next_ = 0;
  std::int64_t live_bytes_ = 0;
  std::int64_t peak_bytes_ = 0;
};

/// The host's processor: wall clock, counted storages, RAPL. Counts allocations
/// of the thread that created it, where LibTorch allocates all tensors of a run
/// on the CPU; scratch memory that kernels allocate with malloc appears only in
/// the peak resident set.
class CpuBackend final : public DeviceBackend {
 public:
  /// `powercap_folder` as in MeasureOptions.
  explicit CpuBackend(const std::string& powercap_folder);

  c10::Device device() const override { return c10::Device(c10::kCPU); }
  void ResetPeaks() override { bytes_.ResetPeak(); }
  double TimeMs(const std::function<void()>& run) override;
  void Synchronize() override {}
  MeasuredMemory Memory(std::vector<MeasureNote>& notes) override;
  DeviceState State(std::vector<MeasureNote>& notes) override;
  void Describe(MeasureEnvironment& environment,
                std::vector<MeasureNote>& notes) override;
  Reading<EnergyCounter*> Energy() override;

 private:
  PeakBytes bytes_;
  ListenScope listen_;
  SystemClock clock_;
  Reading<std::shared_ptr<RaplCounter>> rapl_;
};

}  // namespace foretell::measure
