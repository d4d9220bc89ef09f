#include "src/measure/cpu_backend.h"

#include <algorithm>

#include "src/core/processor.h"
#include "src/measure/host_memory.h"

namespace foretell::measure {
namespace {

constexpr char kPowercap[] = "/sys/class/powercap";
constexpr double kMillisecondsPerSecond = 1e3;

/// The listener has to be known to LibTorch before it is one.
PeakBytes& WithAllocators(PeakBytes& bytes) {
  InstallLedgerAllocators();
  return bytes;
}

}  // namespace

std::int32_t PeakBytes::OnAllocate(std::size_t bytes) {
  bytes_of_[next_] = static_cast<std::int64_t>(bytes);
  live_bytes_ += static_cast<std::int64_t>(bytes);
  peak_bytes_ = std::max(peak_bytes_, live_bytes_);
  return next_++;
}

void PeakBytes::OnFree(std::int32_t storage) {
  const auto node = bytes_of_.extract(storage);
  if (!node.empty()) live_bytes_ -= node.mapped();
}

CpuBackend::CpuBackend(const std::string& powercap_folder)
    : listen_(WithAllocators(bytes_), c10::DeviceType::CPU),
      rapl_(RaplCounter::Open(powercap_folder.empty() ? kPowercap
                                                      : powercap_folder)) {}

double CpuBackend::TimeMs(const std::function<void()>& run) {
  const double start_s = clock_.NowS();
  run();
  return (clock_.NowS() - start_s) * kMillisecondsPerSecond;
}

MeasuredMemory CpuBackend::Memory(std::vector<MeasureNote>& notes) {
  notes.push_back({"peak_reserved_bytes", "the CPU has no caching allocator"});
  notes.push_back({"process_bytes", "the CPU has no device memory"});
  notes.push_back({"context_bytes", "the CPU has no device memory"});
  return {.peak_allocated_bytes = bytes_.peak_bytes(),
          .peak_rss_bytes = PeakResidentBytes()};
}

DeviceState CpuBackend::State(std::vector<MeasureNote>& notes) {
  notes.push_back({"state", "not read on the CPU"});
  return {};
}

void CpuBackend::Describe(MeasureEnvironment& environment,
                          std::vector<MeasureNote>&) {
  environment.device_name = ProcessorName();
}

Reading<EnergyCounter*> CpuBackend::Energy() {
  if (!rapl_.value) return Reading<EnergyCounter*>::Missing(rapl_.reason);
  return Reading<EnergyCounter*>::Of(rapl_.value->get());
}

}  // namespace foretell::measure
