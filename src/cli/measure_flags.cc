#include "src/cli/measure_flags.h"

namespace foretell::cli {

void AddExecutionFlags(CLI::App& command, MeasureOptions& options) {
  command.add_flag("--autocast", options.autocast,
                   "Forward pass under automatic mixed precision, from fp32: "
                   "fp16 on CUDA, bf16 on the CPU");
  command.add_flag("--channels-last", options.channels_last,
                   "Network and images in channels-last");
}

}  // namespace foretell::cli
