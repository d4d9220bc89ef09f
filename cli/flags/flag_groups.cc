#include "cli/flags/flag_groups.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "src/core/numbers.h"

namespace foretell::cli {
namespace {

constexpr char kAdvanced[] = "Advanced";

struct GroupRow {
  std::string_view flag;
  const char* group;
};

constexpr GroupRow kRows[] = {
    {"MODEL", "Model"},
    {"--batch", "Model"},
    {"--cache", "Model"},
    {"--config", "Model"},
    {"--dim", "Model"},
    {"--input", "Model"},
    {"--lengths", "Model"},
    {"--phase", "Model"},
    {"--seq-len", "Model"},
    {"--value", "Model"},
    {"--accumulate", kStepGroup},
    {"--autocast", kStepGroup},
    {"--channels-last", kStepGroup},
    {"--evaluate", kStepGroup},
    {"--gpus", kStepGroup},
    {"--lora", kStepGroup},
    {"--mode", kStepGroup},
    {"--optimizer", kStepGroup},
    {"--parallel", kStepGroup},
    {"--precision", kStepGroup},
    {"--quantize", kStepGroup},
    {"--recompute", kStepGroup},
    {"--runtime", kStepGroup},
    {"--trainable", kStepGroup},
    {"--device", "Device"},
    {"--devices", "Device"},
    {"--max-energy", "Device"},
    {"--max-latency", "Device"},
    {"--max-memory", "Device"},
    {"--power-limit", "Device"},
    {"--prices", "Device"},
    {"--profile", "Device"},
    {"--batches", "Output"},
    {"--csv", "Output"},
    {"--format", "Output"},
    {"--help", ""},
    {"--html", "Output"},
    {"--json", "Output"},
    {"--name", "Output"},
    {"--no-color", "Output"},
    {"--out", "Output"},
    {"--verbose", "Output"},
    {"--width", "Output"},
    {"--adaptation", kAdvanced},
    {"--checkpoint", kAdvanced},
    {"--convert", kAdvanced},
    {"--device-file", kAdvanced},
    {"--environment", kAdvanced},
    {"--environment-file", kAdvanced},
    {"--expandable-segments", kAdvanced},
    {"--foreach", kAdvanced},
    {"--fuse", kAdvanced},
    {"--fused", kAdvanced},
    {"--grad", kAdvanced},
    {"--host", kAdvanced},
    {"--host-memory", kAdvanced},
    {"--input-grad", kAdvanced},
    {"--jobs", kAdvanced},
    {"--keep-result", kAdvanced},
    {"--kernels", kAdvanced},
    {"--half-weights", kAdvanced},
    {"--late-zero-grad", kAdvanced},
    {"--link", kAdvanced},
    {"--method", kAdvanced},
    {"--mig-rule", kAdvanced},
    {"--no-convert", kAdvanced},
    {"--loss-in-function", kAdvanced},
    {"--offload-activations", kAdvanced},
    {"--offload-optimizer", kAdvanced},
    {"--optimizer-in-backward", kAdvanced},
    {"--sandbox", kAdvanced},
    {"--set-to-none", kAdvanced},
    {"--step-in-function", kAdvanced},
    {"--timeout", kAdvanced},
    {"--torch", kAdvanced},
    {"--trace", kAdvanced},
};

/// "--batch" of "-b,--batch"; the name of a positional.
std::string LongName(const CLI::Option& option) {
  if (option.get_positional()) return option.get_single_name();
  return option.get_lnames().empty() ? "" : "--" + option.get_lnames().front();
}

const GroupRow* RowOf(const CLI::Option& option) {
  const std::string name = LongName(option);
  const auto* row = std::ranges::find(kRows, name, &GroupRow::flag);
  return row == std::end(kRows) ? nullptr : row;
}

/// Commands that predict are those with a model and a device.
bool HasGroups(CLI::App& command) {
  return command.get_option_no_throw("--device") != nullptr &&
         command.get_option_no_throw("--precision") != nullptr;
}

}  // namespace

void GroupFlags(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands({})) {
    GroupFlags(*command);
    if (!HasGroups(*command)) continue;
    for (CLI::Option* option : command->get_options()) {
      const bool has_group = option->get_group() == kStepGroup;
      const GroupRow* const row = RowOf(*option);
      if (row != nullptr && !has_group) option->group(row->group);
    }
  }
}

void HideAdvancedFlags(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands({})) {
    HideAdvancedFlags(*command);
    std::size_t hidden = 0;
    for (CLI::Option* option : command->get_options()) {
      if (option->get_group() != kAdvanced) continue;
      option->group("");
      ++hidden;
    }
    if (hidden == 0) continue;
    command->footer(fmt::format("{}\n\n--help-all shows {} more.",
                                command->get_footer(),
                                Counted(hidden, "flag")));
  }
}

}  // namespace foretell::cli
