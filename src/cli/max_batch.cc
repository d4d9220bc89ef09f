#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>
#include <string>

#include "foretell/frontends.h"
#include "foretell/memory.h"
#include "src/cli/command.h"
#include "src/cli/model_options.h"
#include "src/cli/numbers.h"
#include "src/cli/open_model.h"
#include "src/core/units.h"

namespace foretell::cli {
namespace {

constexpr char kMaxBatchExamples[] =
    "The upper end of the memory interval is what must fit. Exit status 1: "
    "not\n"
    "even batch 1 fits.\n"
    "Examples:\n"
    "  foretell max-batch model.onnx\n"
    "  foretell max-batch model.onnx --profile 2g.10gb --precision fp16\n"
    "  foretell max-batch model.onnx --mode training --optimizer adam";

struct MaxBatchOptions {
  ModelOptions model;
  TargetOptions target;
  std::string profile;
  std::int64_t limit = 65536;
};

/// Upper end of the memory in bytes at a batch size.
std::int64_t MemoryAt(const Program& program, const MaxBatchOptions& options,
                      const MemoryOptions& memory, std::int64_t batch) {
  const std::vector<BoundInput> inputs = BindInputs(
      program.inputs(), options.model.ToRequest(batch), program.name());
  const Trace trace =
      TraceProgram(program, inputs, options.model.ToTraceOptions());
  return SimulateMemory(trace.graph, memory).total_high;
}

/// Largest batch up to `limit` for which `fits`, which is monotone; 0 for none.
template <typename Fits>
std::int64_t LargestBatch(std::int64_t limit, const Fits& fits) {
  std::int64_t good = 0;
  std::int64_t next = 1;
  while (next <= limit && fits(next)) {
    good = next;
    next = next == limit ? limit + 1 : std::min(next * 2, limit);
  }
  std::int64_t bad = next;
  while (bad - good > 1) {
    const std::int64_t middle = good + (bad - good) / 2;
    (fits(middle) ? good : bad) = middle;
  }
  return good;
}

ExitCode RunMaxBatch(const MaxBatchOptions& options) {
  const Target target = Resolve(options.target);
  const std::int64_t usable_mib =
      options.profile.empty()
          ? target.device.memory_mib
          : target.device.FindMigProfile(options.profile).usable_mib;
  const MemoryOptions memory{.device = target.device,
                             .environment = target.environment};
  const Program program =
      OpenModel(options.model.models.front(), options.model.ToLoadOptions());
  const std::int64_t best =
      LargestBatch(options.limit, [&](std::int64_t batch) {
        return MemoryAt(program, options, memory, batch) <= usable_mib * kMiB;
      });
  std::cout << best << "\n";
  if (best == options.limit) {
    std::cerr << "foretell: note: batch " << best
              << " is the limit of the search (--limit)\n";
  }
  return best > 0 ? kExitOk : kExitDoesNotFit;
}

}  // namespace

void AddMaxBatch(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<MaxBatchOptions>();
  CLI::App* command = app.add_subcommand(
      "max-batch", "Largest batch size whose memory fits a device or profile");
  command->footer(kMaxBatchExamples);
  options->model.AddTo(*command, /*many=*/false);
  options->target.AddTo(*command);
  command->add_option("--profile", options->profile,
                      "MIG profile instead of the whole device");
  command->add_option("--limit", options->limit, "Largest batch to try")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->callback(
      [options, &exit_code] { exit_code = RunMaxBatch(*options); });
}

}  // namespace foretell::cli
