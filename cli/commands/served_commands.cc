#include "cli/commands/served_commands.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <string>
#include <string_view>

#include "cli/commands/command.h"
#include "cli/flags/number_checks.h"

namespace foretell::cli {
namespace {

/// The only flags that requests may set; add a new flag here to serve it.
/// Patterns of --trainable, --lora and --quantize are RE2's, which take time in
/// proportion to their text.
constexpr std::string_view kServedFlags =
    " input batch dim value mode optimizer precision phase cache seq-len fuse "
    "lengths evaluate "
    "device devices "
    "environment host-memory autocast torch grad method power-limit profile "
    "max-memory "
    "max-latency max-energy strict tight mig-rule channels-last max-devices "
    "media-extensions foreach fused set-to-none accumulate recompute "
    "keep-result kernels late-zero-grad expandable-segments parallel link lora "
    "quantize input-grad half-weights runtime runtimes optimizer-in-backward "
    "offload-optimizer "
    "offload-activations loss-in-function step-in-function trainable "
    "limit job ";

bool IsServed(const std::string& name) {
  return kServedFlags.find(" " + name + " ") != std::string_view::npos;
}

struct Route {
  const char* route;
  AddCommand add;
  std::vector<std::string> words;
  const char* json;
  bool takes_many = true;
};

serve::ValueKind KindOf(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return serve::ValueKind::kFlag;
  const std::string type = option.get_type_name();
  if (TakesUnit(option)) return serve::ValueKind::kAmount;
  if (type.starts_with("INT")) return serve::ValueKind::kWhole;
  if (type.starts_with("FLOAT")) return serve::ValueKind::kNumber;
  return serve::ValueKind::kText;
}

/// "a" and "b" of CLI11's "TEXT:{a,b}".
std::vector<std::string> ChoicesOf(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find('{');
  const std::size_t end = type.find('}');
  std::vector<std::string> choices;
  if (begin == std::string::npos || end == std::string::npos) return choices;
  for (const std::string& choice :
       CLI::detail::split(type.substr(begin + 1, end - begin - 1), ',')) {
    choices.push_back(choice);
  }
  return choices;
}

serve::ServedFlag ToServedFlag(const std::string& name,
                               const CLI::Option& option) {
  serve::ServedFlag flag{.name = name,
                         .flag = "--" + name,
                         .kind = KindOf(option),
                         .is_list = option.get_items_expected_max() > 1,
                         .choices = ChoicesOf(option),
                         .default_text = option.get_default_str(),
                         .description = option.get_description()};
  std::ranges::replace(flag.name, '-', '_');
  return flag;
}

serve::ServedCommand ToServedCommand(const Route& route) {
  CLI::App app;
  ExitCode exit_code = kExitOk;
  route.add(app, exit_code);
  const CLI::App* command = &app;
  for (const std::string& word : route.words) {
    command = command->get_subcommand(word);
  }
  serve::ServedCommand served{
      .route = route.route,
      .summary = command->get_description(),
      .words = route.words,
      .json = {route.json},
      .takes_many = route.takes_many,
      .needs_model = command->get_option("MODEL")->get_required()};
  for (const CLI::Option* option : command->get_options()) {
    for (const std::string& name : option->get_lnames()) {
      if (IsServed(name)) served.flags.push_back(ToServedFlag(name, *option));
    }
  }
  return served;
}

}  // namespace

std::vector<serve::ServedCommand> ServedCommands() {
  const Route routes[] = {
      {"/v1/predict", &AddPredict, {"predict"}, "--json"},
      {"/v1/fits", &AddFits, {"fits"}, "--json"},
      {"/v1/max-batch", &AddMaxBatch, {"max-batch"}, "--json", false},
      {"/v1/advise", &AddAdvise, {"advise"}, "--json"},
      {"/v1/compare", &AddCompare, {"compare"}, "--json", false},
      {"/v1/mig/pack", &AddMig, {"mig", "pack"}, "--format=json"},
  };
  std::vector<serve::ServedCommand> commands;
  for (const Route& route : routes) commands.push_back(ToServedCommand(route));
  return commands;
}

}  // namespace foretell::cli
