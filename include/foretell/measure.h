#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "foretell/frontends.h"
#include "foretell/program.h"
#include "foretell/run.h"
#include "foretell/trace.h"

namespace foretell {

/// Outcome of a measurement. All except kOk have a message.
enum class MeasureStatus {
  kOk,
  /// The device (or the host, for the CPU) ran out of memory. Includes the
  /// assertion `NVML_SUCCESS == r` on a MIG instance, where LibTorch fails
  /// while formatting its out-of-memory error.
  kOutOfMemory,
  kMigUnsupported,  ///< CUDA does not offer the MIG instance that was named.
  kIllegalAddress,  ///< A kernel touched memory that is not its own.
  kDeadline,        ///< Killed because it took too long.
  kCrashed,         ///< Ended by a signal, or without leaving a result.
  kFailed,          ///< An error: bad model, bad request, no such device.
};
/// "ok", "out_of_memory", "mig_unsupported", ….
std::string_view MeasureStatusName(MeasureStatus status);
std::optional<MeasureStatus> ParseMeasureStatus(std::string_view name);

/// Options for reading the energy of a run from a counter that advances in
/// steps.
struct EnergyOptions {
  double min_window_s = 2;     ///< Shortest window, >= 0.
  int min_counter_steps = 50;  ///< Fewest steps of the counter in a window.
  /// Number of windows; each starts at a different phase of the counter's step.
  int repeats = 2;
  double idle_window_s = 2;  ///< Without work, before the first window.
  /// Longest window; a window that is not full by then is discarded.
  double max_window_s = 60;
};

/// Options of a measurement.
struct MeasureOptions {
  int warmup_runs = 5;
  int min_runs = 30;
  double min_seconds = 1;  ///< Timed runs continue until both are reached.
  bool energy = false;
  EnergyOptions energy_options;
  double deadline_s = 300;  ///< Limit of MeasureIsolated: start-up included.
  int threads = 0;          ///< CPU threads; 0: LibTorch's default.
  /// Lets MeasureIsolated run a TorchScript or torch.export file on a device
  /// that is not the CPU: such a file chooses the operators to run, which
  /// cannot be sandboxed there.
  bool trusts_code = false;
  /// NVIDIA's management library; empty: the environment variable
  /// FORETELL_NVML, else libnvidia-ml.so.1.
  std::string nvml_library;
  /// Linux's power capping tree with RAPL's counters; empty:
  /// /sys/class/powercap.
  std::string powercap_folder;
};

/// A model to measure and how.
struct MeasureRequest {
  std::string model;    ///< Path, or a name that the opener of models knows.
  LoadOptions load;     ///< Its sandbox is not read: MeasureIsolated locks.
  InputRequest inputs;  ///< Batch and further sizes.
  /// Mode, precision, optimizer, autocast, grad mode and layout: under autocast
  /// the forward pass starts from parameters and inputs in 32 bits, and casts
  /// to f16 on CUDA, to bf16 on the CPU; the channels-last layout is for images
  /// and weights of 2D convolutions. LibTorch's version is this program's.
  Run run = {.host = Host::kCpp};
  /// "cpu", "cuda:0", or the UUID of a MIG instance, "MIG-…".
  std::string device = "cuda:0";
  std::uint64_t seed = 0;  ///< Seed of random weights and inputs.
  MeasureOptions options;
};

/// Time of one run over all timed runs, milliseconds.
struct LatencyStatistics {
  std::int64_t runs = 0;
  double median_ms = 0;
  double mean_ms = 0;
  double p5_ms = 0;
  double p95_ms = 0;
};

/// Memory of a measurement in bytes; empty: not measured, for the reason in
/// Measurement::notes.
struct MeasuredMemory {
  /// Most bytes that live tensors held since the first warm-up. CUDA:
  /// `max_memory_allocated`; CPU: a counting allocator.
  std::optional<std::int64_t> peak_allocated_bytes;
  /// Most bytes that the caching allocator held; empty on the CPU.
  std::optional<std::int64_t> peak_reserved_bytes;
  /// Device memory of this process after the last run.
  std::optional<std::int64_t> process_bytes;
  /// How process_bytes was read: "nvml process", "device used minus before".
  std::string process_source;
  /// Device memory of the process before the model is loaded: usage right after
  /// a first tiny allocation, minus the allocator's segment.
  std::optional<std::int64_t> context_bytes;
  std::int64_t peak_rss_bytes = 0;  ///< Host memory of the whole process.
};

/// Energy of one run; fields are empty for the reason in Measurement::notes.
struct MeasuredEnergy {
  /// Mean over the windows, idle draw included, joules.
  std::optional<double> energy_j;
  /// (largest - smallest) / mean over the windows.
  std::optional<double> relative_spread;
  std::optional<double> power_w;       ///< Mean while running back to back.
  std::optional<double> idle_power_w;  ///< Before, with the model loaded.
  std::optional<double> window_s;      ///< Total length of the windows.
  std::optional<std::int64_t> counter_steps;  ///< Total over the windows.
  std::optional<std::int64_t> runs;           ///< Total over the windows.
  std::string source;  ///< "nvml", "rapl"; empty when nothing was measured.
};

/// State of the device right after the timed runs.
struct DeviceState {
  std::optional<int> sm_clock_mhz;
  std::optional<int> memory_clock_mhz;
  std::optional<int> temperature_c;
  std::optional<double> power_limit_w;
  /// Names of the reasons for lowered clocks, "power_cap", ….
  std::optional<std::vector<std::string>> throttle_reasons;
};

/// Hardware and software of a measurement; the same for every row of a device.
struct MeasureEnvironment {
  std::string device_name;  ///< "NVIDIA A100-SXM4-40GB", or the CPU's model.
  std::string libtorch;     ///< "2.13.0".
  std::optional<std::string> driver;
  std::optional<std::string> cuda;         ///< Runtime, "13.0".
  std::optional<std::string> cuda_driver;  ///< Newest that the driver supports.
  std::optional<std::string> cudnn;        ///< "9.10.2".
  std::optional<int> max_sm_clock_mhz;
  std::optional<bool> is_mig;
  int threads = 0;  ///< Threads of LibTorch's operators on the CPU.
  bool tf32_matmul = false;
  bool tf32_cudnn = false;
  bool cudnn_benchmark = false;
  bool cudnn_deterministic = false;
  bool autocast = false;      ///< Run::autocast.
  bool grad_mode = false;     ///< Run::grad_mode.
  std::string memory_format;  ///< "contiguous" or "channels_last".
  bool operator==(const MeasureEnvironment&) const = default;
};

/// A value that was not measured, and the reason.
struct MeasureNote {
  std::string what;  ///< Field: "energy", "process_bytes", "sm_clock_mhz".
  std::string reason;
  bool operator==(const MeasureNote&) const = default;
};

/// One row. Fields below `message` are set only as far as the run got.
struct Measurement {
  std::string model;
  std::string format;  ///< "onnx", "torchscript", "zoo"; empty: not opened.
  Mode mode = Mode::kInference;
  Precision precision = Precision::kFp32;
  std::string optimizer;  ///< Empty without training.
  /// As requested, else the leading dimension of the inputs, once known.
  std::optional<std::int64_t> batch;
  std::string device;              ///< As requested.
  std::vector<BoundInput> inputs;  ///< Exact types.
  std::uint64_t seed = 0;

  MeasureStatus status = MeasureStatus::kFailed;
  std::string message;      ///< One line; empty when `status` is kOk.
  std::string measured_at;  ///< UTC, "2026-01-31T12:00:00Z".

  std::optional<LatencyStatistics> latency;
  MeasuredMemory memory;
  MeasuredEnergy energy;
  DeviceState state;
  MeasureEnvironment environment;
  std::vector<MeasureNote> notes;
  std::vector<std::string>
      warnings;  ///< The program's warnings about the mode.
};

/// Measures `program` in this process: warm-up, timed runs, memory and, if
/// wanted, energy. Errors of any kind become the result's status and message.
///
/// Context size and peak are only correct in a process that has not used the
/// device before. After kIllegalAddress the device is unusable in this process.
/// Sets LibTorch's TF32 flags and number of threads.
Measurement MeasureHere(const Program& program, const MeasureRequest& request);

/// The result of a request that could not be run; repeats the request.
Measurement FailedMeasurement(const MeasureRequest& request,
                              MeasureStatus status, const std::string& message);

/// Opens a model and measures it: what MeasureIsolated does in its child.
using MeasureFunction = std::function<Measurement(const MeasureRequest&)>;

/// Measures in a child process, so that a crash, a hang, or an exhausted or
/// broken device there becomes a result here. On the CPU the child is sandboxed
/// before it reads the first byte of a file (docs/security.md).
///
/// The child sees the MIG instance named by the request as its only CUDA
/// device. Refuses a TorchScript or torch.export file on a GPU before starting
/// a process, unless options.trusts_code. An empty `measure` means MeasureHere
/// on the file or zoo network of the request.
///
/// The child is a fork of this process, so no other thread may hold a lock at
/// that time, and CUDA must not have been used. Throws Error(kIo) only when no
/// process can be started.
Measurement MeasureIsolated(const MeasureRequest& request,
                            const MeasureFunction& measure = {});

/// Version of the JSON forms below; docs/measure.md describes them.
inline constexpr int kMeasurementSchemaVersion = 1;

/// JSON objects on one line, and back. Parsing throws Error(kCorrupt) that
/// names the field; unknown fields are ignored.
std::string MeasurementToJson(const Measurement& measurement);
Measurement MeasurementFromJson(std::string_view json);

/// The document of `foretell measure --json`: schema version and all rows.
std::string MeasurementsToJson(std::span<const Measurement> measurements);
/// One line per row under a header; empty cells for what was not measured.
std::string MeasurementsToCsv(std::span<const Measurement> measurements);
/// The distinct environments of all rows, each with its device.
std::string EnvironmentsToJson(std::span<const Measurement> measurements);

}  // namespace foretell
