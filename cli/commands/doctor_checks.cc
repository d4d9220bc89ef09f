#include "cli/commands/doctor_checks.h"

#include <ATen/Context.h>
#include <fmt/core.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "cli/commands/embedded_example.h"
#include "cli/commands/lab_program.h"
#include "cli/commands/memory_file.h"
#include "foretell/device.h"
#include "foretell/error.h"
#include "foretell/predictor.h"
#include "foretell/session.h"
#include "foretell/version.h"
#include "src/answer/embedded_checkpoints.h"
#include "src/core/numbers.h"
#include "src/core/processor.h"
#include "src/core/text.h"
#include "src/host/dispatch_probes.h"
#include "src/host/host_store.h"

namespace foretell::cli {
namespace {

constexpr char kDriverVersion[] = "/proc/driver/nvidia/version";
/// On which the trial is predicted; any would do.
constexpr char kTrialDevice[] = "a100-sxm4-40gb";

Finding FindProgram() {
  return {
      Health::kOk, "foretell",
      fmt::format("{}, {}", kVersion,
                  std::filesystem::read_symlink("/proc/self/exe").native())};
}

Finding FindLab() {
  const std::filesystem::path lab = LabProgram();
  if (access(lab.c_str(), X_OK) == 0) {
    return {Health::kOk, "foretell-lab", lab.native()};
  }
  return {Health::kNote, "foretell-lab",
          fmt::format("{}: missing; measure, train, evaluate and dataset need "
                      "it: scripts/build foretell-lab",
                      lab.native())};
}

Finding FindLibTorch() {
  return {Health::kOk, "LibTorch",
          fmt::format("{}, {}", host::LibTorchVersion(),
                      at::hasCUDA() ? "with a GPU" : "CPU")};
}

Finding FindProcessor() {
  return {Health::kOk, "processor",
          fmt::format("{}, {} cores", ProcessorName(),
                      std::thread::hardware_concurrency())};
}

Finding FindSandbox() {
  utsname system = {};
  uname(&system);
  const std::string kernel =
      fmt::format("{} {}", system.sysname, system.release);
  const std::string missing = MissingLocks();
  if (missing.empty()) {
    return {Health::kOk, "sandbox", kernel + ": seccomp and Landlock"};
  }
  return {
      Health::kBroken, "sandbox",
      fmt::format("{}: {} missing; untrusted files are opened in a separate "
                  "process, but with fewer locks (docs/security.md)",
                  kernel, missing)};
}

Finding FindGpu() {
  std::ifstream driver(kDriverVersion);
  std::string line;
  if (!std::getline(driver, line)) {
    return {Health::kNote, "GPU",
            "no NVIDIA driver; predictions need none, measure runs with "
            "--device cpu"};
  }
  if (at::hasCUDA()) return {Health::kOk, "GPU", line};
  return {Health::kNote, "GPU",
          line +
              "; this LibTorch is for the CPU, so that measure runs with "
              "--device cpu alone"};
}

Finding FindData() {
  const DeviceCatalog& catalog = DeviceCatalog::BuiltIn();
  return {Health::kOk, "data",
          fmt::format("{} devices, {} environments (today {}), {} checkpoints",
                      catalog.devices().size(), catalog.contexts().size(),
                      catalog.DefaultContext().name,
                      learned::EmbeddedCheckpoints().size() +
                          learned::EmbeddedPmgns().size())};
}

Finding FindHosts() {
  const std::vector<std::string> names = host::HostStore::OfUser().Names();
  if (names.empty()) {
    return {Health::kNote, "hosts",
            "none stored; foretell host --name mine measures how fast this "
            "machine dispatches operators"};
  }
  return {Health::kOk, "hosts", Joined(names)};
}

/// Opens a file in a locked process, traces and predicts it.
std::string TryOut() {
  const MemoryFile example(EmbeddedExample().front().bytes);
  Session session(example.path(), {.inputs = {.batch = 1}});
  const Prediction prediction =
      session.Predict(DeviceCatalog::BuiltIn().FindDevice(kTrialDevice));
  return fmt::format("{} opened in a separate process: {} MiB, {} ms on {}",
                     EmbeddedExample().front().path,
                     FormatSignificant(prediction[Target::kMemory].value),
                     FormatSignificant(prediction[Target::kLatency].value),
                     prediction.device);
}

Finding FindTrial() {
  try {
    return {Health::kOk, "trial", TryOut()};
  } catch (const std::exception& error) {
    return {Health::kBroken, "trial", error.what()};
  }
}

}  // namespace

const char* HealthName(Health health) {
  static constexpr const char* kNames[] = {"ok", "note", "broken"};
  return kNames[static_cast<int>(health)];
}

std::vector<Finding> Examine() {
  return {FindProgram(),   FindLab(),     FindLibTorch(),
          FindProcessor(), FindSandbox(), FindGpu(),
          FindData(),      FindHosts(),   FindTrial()};
}

}  // namespace foretell::cli
