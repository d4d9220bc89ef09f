#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foretell/graph.h"

namespace foretell {

/// One MIG GPU-instance profile of a device.
struct MigProfile {
  std::string name;             ///< "1g.5gb", "1g.5gb+me".
  std::int64_t usable_mib = 0;  ///< What the driver lists, not the name's GB.
  int sms = 0;
  int compute_slices = 0;  ///< Part of DeviceSpec::compute_slices.
  int memory_slots = 0;    ///< Part of DeviceSpec::memory_slots, for placement.
  /// Share of the device's memory bandwidth, 0..1.
  double bandwidth_fraction = 0;
  int max_instances = 0;
  bool media_extensions = false;  ///< A "+me" profile: one per device.
  std::vector<int> placements;    ///< First memory slots that it may use.
  std::string source;             ///< Source of the usable MiB.
};

/// Specification of a GPU; one data file per device in data/devices/.
struct DeviceSpec {
  std::string name;  ///< "a100-sxm4-40gb".
  std::vector<std::string> aliases;
  std::string display_name;    ///< As nvidia-smi prints it.
  std::string architecture;    ///< "ampere", "hopper", "blackwell".
  int compute_capability = 0;  ///< 80, 90, 100.
  int sms = 0;
  std::int64_t memory_mib = 0;  ///< Total as nvidia-smi shows it.
  /// Memory that CUDA lets a process allocate without MIG, including its
  /// context; less than memory_mib, which includes the driver's reserve.
  std::int64_t usable_mib = 0;
  bool unified_memory = false;  ///< One pool with the host's; GB10, Jetsons.
  /// MiB of a unified pool that are left to the host and not in usable_mib:
  /// 8 GiB, and at most half of the pool, unless KeepForHost changed it.
  std::int64_t host_share_mib = 0;
  double bandwidth_gb_s = 0;  ///< Peak, 10^9 bytes per second.
  /// Measured bandwidth of element-wise kernels on large tensors, 10^9 bytes
  /// per second; 0 if not measured.
  double reached_bandwidth_gb_s = 0;
  /// Peak one-way bandwidth to other GPUs of its machine, 10^9 bytes per
  /// second: NVLink, else PCIe; 0 if unknown.
  double link_gb_s = 0;
  double l2_mib = 0;
  /// Peak dense 10^12 FLOP/s (2 per MAC) by Precision.
  std::map<Precision, double> peak_tflops;
  /// Peak dense 10^12 FLOP/s of floats of 4 bits; 0 if none is stated.
  double fp4_tflops = 0;
  /// Measured rate of large matrix products, 10^12 FLOP/s, by Precision; empty
  /// if not measured. Power limits and boost clocks move it well below or above
  /// the data sheet's peak.
  std::map<Precision, double> matmul_tflops;
  /// Measured time of the shortest kernel in a queue that never runs dry,
  /// microseconds; 0 if not measured.
  double launch_us = 0;
  double max_power_w = 0;  ///< The board's own limit.
  double idle_power_w = 0;
  /// Power of the chip at full use without the board's limit; max_power_w
  /// unless larger.
  double chip_power_w = 0;
  std::int64_t cublas_workspace_bytes = 0;
  int compute_slices = 0;  ///< 7; 4 on A30; 0 without MIG.
  int memory_slots = 0;    ///< 8; 4 on A30.
  std::vector<MigProfile> mig_profiles;
  std::vector<std::string> sources;

  /// The profile `name`, in any case, also under other tools' names:
  /// "nvidia.com/mig-1g.5gb.me" (Kubernetes), "mig-1g.5gb", "MIG 1g.5gb"
  /// (nvidia-smi). Throws Error(kNotFound) that lists the device's profiles, or
  /// states that it has no MIG.
  const MigProfile& FindMigProfile(std::string_view name) const;
  /// Threads that a multiprocessor runs at a time, by compute capability
  /// (CUDA's programming guide); 2,048 if none is stated.
  int ThreadsPerSm() const;
};

/// Precision of automatic mixed precision: BF16 if tensor cores support it
/// (compute capability 8.0 and later), which needs no loss scaling, else FP16.
Precision AutocastPrecision(const DeviceSpec& device);

/// Size of a CUDA context for one software environment of
/// data/environments.json.
struct ContextModel {
  std::string name;  ///< "cuda13".
  std::string description;
  /// MiB of an otherwise empty process with its context, by architecture;
  /// "*" is the default.
  std::map<std::string, double> context_mib;
  /// Full multiprocessors, of 2,048 threads, of the GPUs on which context_mib
  /// was measured, by its keys. A key without them serves every GPU as is.
  std::map<std::string, double> context_full_sms = {};
  /// MiB of it that every full multiprocessor adds: local memory for its
  /// threads. GPUs and MIG slices with fewer of them have a correspondingly
  /// smaller context.
  double context_mib_per_sm = 0;
  /// MiB of it that are cuDNN's kernels, loaded by the first operator that
  /// needs them: a network without convolutions and recurrent layers never
  /// loads them.
  double cudnn_mib = 0;
  /// Further MiB that a process uses for each cuBLAS handle: one per thread
  /// that multiplies matrices, in training also autograd's. Its workspace comes
  /// from the caching allocator and is not included.
  double cublas_handle_mib = 0;
  double context_uncertainty_mib = 0;  ///< ± this much.
  std::string source;

  /// MiB of the context on `device`, cuDNN's kernels included: its
  /// architecture's, else the default's, scaled to its multiprocessors.
  double ContextMib(const DeviceSpec& device) const;
  /// MiB by which the context is smaller if only `sms` of the device's
  /// multiprocessors are visible; at most the whole context.
  double ContextSavedMib(const DeviceSpec& device, int sms) const;
};

/// Devices and context models by name, read from data files.
class DeviceCatalog {
 public:
  /// The catalogue that is compiled into the library.
  static const DeviceCatalog& BuiltIn();

  /// Adds or replaces a device from the text of a JSON file; throws
  /// Error(kCorrupt) that names `origin`, the field and the value.
  void AddDevice(std::string_view json, std::string_view origin);
  /// Adds or replaces all context models of a JSON file; errors as AddDevice.
  void AddContexts(std::string_view json, std::string_view origin);

  /// Leaves `mib` of every unified memory to the host; usable_mib is the rest,
  /// at least 1.
  void KeepForHost(std::int64_t mib);

  const std::vector<DeviceSpec>& devices() const { return devices_; }
  const std::vector<ContextModel>& contexts() const { return contexts_; }
  /// By name, alias or display name, by its letters and digits alone, in any
  /// case and with or without the vendor's words, "rtx" and a trailing "gb", or
  /// by its words in any order: "4090", "RTX 4090", "a100_80",
  /// "A100-80GB-SXM4"; null if unknown.
  const DeviceSpec* DeviceNamed(std::string_view name) const;
  /// As DeviceNamed; throws Error(kNotFound) that names the nearest, or states
  /// that a vendor's GPUs are not modelled.
  const DeviceSpec& FindDevice(std::string_view name) const;
  /// By name, case-insensitive; throws Error(kNotFound) that lists the known
  /// names.
  const ContextModel& FindContext(std::string_view name) const;
  /// The context model last marked `"default": true`; today's. Throws
  /// Error(kNotFound) if the catalogue has no context models.
  const ContextModel& DefaultContext() const;

 private:
  /// Index in devices_ of the device that answers to `name`.
  std::optional<std::size_t> IndexOf(std::string_view name) const;
  /// Throws Error(kCorrupt) for a name by which another device is found.
  void RefuseTakenNames(const DeviceSpec& device,
                        std::string_view origin) const;

  std::vector<DeviceSpec> devices_;
  std::map<std::string, std::size_t> index_of_;  ///< By keys of all names.
  std::vector<ContextModel> contexts_;
  std::size_t default_context_ = 0;
};

}  // namespace foretell
