#include "cli/flags/measure_flags.h"

#include "cli/flags/run_flags.h"

namespace foretell::cli {

void AddMeasuredRunFlags(CLI::App& command, Run& run) {
  command.add_flag("--autocast", run.autocast,
                   "Run the forward pass of an fp32 network in automatic mixed "
                   "precision: fp16 on CUDA, bf16 on the CPU");
  command.add_flag("--channels-last", run.channels_last,
                   "Network and images in channels-last");
  AddGradMode(command, run);
}

void AddTrust(CLI::App& command, MeasureOptions& options) {
  command.add_flag("--trust", options.trusts_code,
                   "Run operators of TorchScript and torch.export files on a "
                   "GPU, where they cannot be sandboxed");
}

}  // namespace foretell::cli
