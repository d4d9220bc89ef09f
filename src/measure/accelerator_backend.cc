#include "src/measure/accelerator_backend.h"

#include <ATen/DeviceAccelerator.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/ops/empty.h>
#include <unistd.h>

#include "src/measure/host_memory.h"

namespace foretell::measure {
namespace {

constexpr double kJoulesPerMillijoule = 1e-3;
constexpr std::size_t kWhole =
    static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);

/// Asks NVML, or passes on why it is not available.
template <typename T>
Reading<T> Ask(const Reading<NvmlDevice>& nvml,
               Reading<T> (NvmlDevice::*question)() const) {
  if (!nvml.value) return Reading<T>::Missing(nvml.reason);
  return ((*nvml.value).*question)();
}

Reading<NvmlDevice> OpenNvml(const std::string& library,
                             const std::string& mig_uuid,
                             const Reading<CudaDriverFacts>& driver) {
  if (!mig_uuid.empty()) return NvmlDevice::Open(library, mig_uuid);
  if (!driver.value) return Reading<NvmlDevice>::Missing(driver.reason);
  Reading<NvmlDevice> gpu =
      NvmlDevice::Open(library, "GPU-" + driver.value->uuid);
  if (gpu.value) return gpu;
  // CUDA_VISIBLE_DEVICES may have made a MIG instance device 0.
  Reading<NvmlDevice> mig =
      NvmlDevice::Open(library, "MIG-" + driver.value->uuid);
  return mig.value ? mig : gpu;
}

}  // namespace

Reading<double> NvmlEnergy::ReadJ() {
  const Reading<std::int64_t> millijoules =
      Ask(nvml_, &NvmlDevice::EnergyMillijoules);
  if (!millijoules.value) return Reading<double>::Missing(millijoules.reason);
  return Reading<double>::Of(static_cast<double>(*millijoules.value) *
                             kJoulesPerMillijoule);
}

AcceleratorBackend::AcceleratorBackend(c10::Device device,
                                       const std::string& uuid,
                                       const std::string& nvml_library)
    : device_(device),
      // The default flag would make events without timing.
      begin_(device.type(), c10::EventFlag::BACKEND_DEFAULT),
      end_(device.type(), c10::EventFlag::BACKEND_DEFAULT),
      driver_(AskCudaDriver(device.index())),
      nvml_(OpenNvml(nvml_library, uuid, driver_)),
      energy_(nvml_),
      used_before_(Ask(nvml_, &NvmlDevice::UsedBytes)) {
  at::accelerator::setDeviceIndex(device_.index());
  context_ = MeasureContext();
}

c10::DeviceAllocator& AcceleratorBackend::Allocator() const {
  return *c10::getDeviceAllocator(device_.type());
}

std::int64_t AcceleratorBackend::ReservedBytes() const {
  return Allocator()
      .getDeviceStats(device_.index())
      .reserved_bytes[kWhole]
      .current;
}

Reading<std::int64_t> AcceleratorBackend::UsedByUs() const {
  const Reading<std::int64_t> now = Ask(nvml_, &NvmlDevice::UsedBytes);
  if (!used_before_.value) return used_before_;
  if (!now.value) return now;
  return Reading<std::int64_t>::Of(*now.value - *used_before_.value);
}

Reading<std::int64_t> AcceleratorBackend::MeasureContext() {
  const at::Tensor tiny = at::empty({1}, at::TensorOptions().device(device_));
  Synchronize();
  const Reading<std::int64_t> used = UsedByUs();
  if (!used.value) return used;
  return Reading<std::int64_t>::Of(*used.value - ReservedBytes());
}

void AcceleratorBackend::ResetPeaks() {
  Synchronize();
  Allocator().emptyCache();
  Allocator().resetPeakStats(device_.index());
}

double AcceleratorBackend::TimeMs(const std::function<void()>& run) {
  const c10::Stream stream = at::accelerator::getCurrentStream(device_.index());
  begin_.record(stream);
  run();
  end_.record(stream);
  end_.synchronize();
  return begin_.elapsedTime(end_);
}

void AcceleratorBackend::Synchronize() {
  at::accelerator::synchronizeDevice(device_.index());
}

MeasuredMemory AcceleratorBackend::Memory(std::vector<MeasureNote>& notes) {
  Synchronize();
  const c10::CachingDeviceAllocator::DeviceStats stats =
      Allocator().getDeviceStats(device_.index());
  MeasuredMemory memory{
      .peak_allocated_bytes = stats.allocated_bytes[kWhole].peak,
      .peak_reserved_bytes = stats.reserved_bytes[kWhole].peak,
      .context_bytes = ValueOrNote(context_, "context_bytes", notes),
      .peak_rss_bytes = PeakResidentBytes()};
  const Reading<std::int64_t> own =
      nvml_.value ? nvml_.value->ProcessBytes(getpid())
                  : Reading<std::int64_t>::Missing(nvml_.reason);
  if (own.value) {
    memory.process_bytes = own.value;
    memory.process_source = "nvml process";
    return memory;
  }
  memory.process_bytes = ValueOrNote(UsedByUs(), "process_bytes", notes);
  if (memory.process_bytes) {
    memory.process_source = "device used minus before";
  }
  return memory;
}

DeviceState AcceleratorBackend::State(std::vector<MeasureNote>& notes) {
  return {
      .sm_clock_mhz = ValueOrNote(Ask(nvml_, &NvmlDevice::SmClockMhz),
                                  "sm_clock_mhz", notes),
      .memory_clock_mhz = ValueOrNote(Ask(nvml_, &NvmlDevice::MemoryClockMhz),
                                      "memory_clock_mhz", notes),
      .temperature_c = ValueOrNote(Ask(nvml_, &NvmlDevice::TemperatureC),
                                   "temperature_c", notes),
      .power_limit_w = ValueOrNote(Ask(nvml_, &NvmlDevice::PowerLimitW),
                                   "power_limit_w", notes),
      .throttle_reasons = ValueOrNote(Ask(nvml_, &NvmlDevice::ThrottleReasons),
                                      "throttle_reasons", notes)};
}

void AcceleratorBackend::Describe(MeasureEnvironment& environment,
                                  std::vector<MeasureNote>& notes) {
  const at::CUDAHooksInterface& hooks = at::detail::getCUDAHooks();
  environment.device_name =
      ValueOrNote(Ask(nvml_, &NvmlDevice::Name), "device_name", notes)
          .value_or(device_.str());
  environment.driver =
      ValueOrNote(Ask(nvml_, &NvmlDevice::Driver), "driver", notes);
  environment.cuda = FormatCudaVersion(hooks.versionCUDART());
  if (hooks.hasCuDNN()) {
    environment.cudnn = FormatCudnnVersion(hooks.versionCuDNN());
  }
  environment.max_sm_clock_mhz = ValueOrNote(
      Ask(nvml_, &NvmlDevice::MaxSmClockMhz), "max_sm_clock_mhz", notes);
  environment.is_mig =
      ValueOrNote(Ask(nvml_, &NvmlDevice::IsMig), "is_mig", notes);
  if (driver_.value) {
    environment.cuda_driver = driver_.value->version;
  } else {
    notes.push_back({"cuda_driver", driver_.reason});
  }
}

Reading<EnergyCounter*> AcceleratorBackend::Energy() {
  const Reading<std::int64_t> millijoules =
      Ask(nvml_, &NvmlDevice::EnergyMillijoules);
  if (!millijoules.value) {
    return Reading<EnergyCounter*>::Missing(millijoules.reason);
  }
  return Reading<EnergyCounter*>::Of(&energy_);
}

}  // namespace foretell::measure
