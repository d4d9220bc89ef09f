#pragma once

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/Device.h>
#include <c10/core/Event.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/measure/cuda_driver.h"
#include "src/measure/device_backend.h"
#include "src/measure/nvml.h"

namespace foretell::measure {

/// NVML's total energy of a device.
class NvmlEnergy final : public EnergyCounter {
 public:
  /// `nvml` outlives it.
  explicit NvmlEnergy(const Reading<NvmlDevice>& nvml) : nvml_(nvml) {}
  Reading<double> ReadJ() override;
  std::string source() const override { return "nvml"; }

 private:
  const Reading<NvmlDevice>& nvml_;
};

/// A CUDA device, through those interfaces of LibTorch that are the same in its
/// builds with and without CUDA: events, allocator statistics, streams. So the
/// same source supports a GPU if the linked LibTorch does.
class AcceleratorBackend final : public DeviceBackend {
 public:
  /// Starts CUDA on `device` and measures the context's size. `uuid` is the MIG
  /// instance's, empty for a whole GPU; `nvml_library` as in MeasureOptions.
  AcceleratorBackend(c10::Device device, const std::string& uuid,
                     const std::string& nvml_library);

  c10::Device device() const override { return device_; }
  void ResetPeaks() override;
  double TimeMs(const std::function<void()>& run) override;
  void Synchronize() override;
  MeasuredMemory Memory(std::vector<MeasureNote>& notes) override;
  DeviceState State(std::vector<MeasureNote>& notes) override;
  void Describe(MeasureEnvironment& environment,
                std::vector<MeasureNote>& notes) override;
  Reading<EnergyCounter*> Energy() override;

 private:
  c10::DeviceAllocator& Allocator() const;
  std::int64_t ReservedBytes() const;
  Reading<std::int64_t> MeasureContext();
  /// Bytes used now minus those used before this process began.
  Reading<std::int64_t> UsedByUs() const;

  c10::Device device_;
  // Kept from run to run, because making one would be timed too.
  c10::Event begin_;
  c10::Event end_;
  Reading<CudaDriverFacts> driver_;
  Reading<NvmlDevice> nvml_;
  NvmlEnergy energy_;
  Reading<std::int64_t> used_before_;
  Reading<std::int64_t> context_;
};

}  // namespace foretell::measure
