#include "cli/flags/measure_flags.h"

#include "cli/flags/run_flags.h"

namespace foretell::cli {

void AddMeasuredRunFlags(CLI::App& command, Run& run) {
  command.add_flag("--autocast", run.autocast,
                   "Forward pass under automatic mixed precision, from fp32: "
                   "fp16 on CUDA, bf16 on the CPU");
  command.add_flag("--channels-last", run.channels_last,
                   "Network and images in channels-last");
  AddGradMode(command, run);
}

void AddTrust(CLI::App& command, MeasureOptions& options) {
  command.add_flag(
      "--trust", options.trusts_code,
      "Lets what TorchScript and torch.export files choose run on a "
      "GPU, where it cannot be locked");
}

}  // namespace foretell::cli
