#include "cli/flags/loop_flags.h"

#include <fmt/core.h>

#include <map>
#include <string>
#include <string_view>

#include "cli/flags/number_checks.h"
#include "foretell/error.h"
#include "src/core/parse_number.h"

namespace foretell::cli {
namespace {

const std::map<std::string, bool> kSwitch = {{"off", false}, {"on", true}};

void AddSwitch(CLI::App& command, const std::string& flag, bool& value,
               const std::string& help) {
  command
      .add_option_function<std::string>(
          flag, [&value](const std::string& text) { value = kSwitch.at(text); },
          help)
      ->check(CLI::IsMember({"on", "off"}))
      ->default_str(value ? "on" : "off");
}

}  // namespace

LoraSpec ParseLora(const std::string& flag, const std::string& text) {
  constexpr std::string_view kRank = "r=";
  constexpr std::string_view kTargets = ",targets=";
  const std::size_t comma = text.find(kTargets);
  if (text.starts_with(kRank) && comma != std::string::npos) {
    const auto rank = ParseNumber<int>(
        std::string_view(text).substr(kRank.size(), comma - kRank.size()));
    const std::string targets = text.substr(comma + kTargets.size());
    if (rank && *rank >= 1 && !targets.empty()) return {*rank, targets};
  }
  throw Error(
      ErrorCode::kInvalidArgument,
      fmt::format("{} '{}': expected r=16,targets=q_proj|v_proj, a rank "
                  "from 1 and a regular expression",
                  flag, text));
}

void AddLoopFlags(CLI::App& command, TrainingLoop& loop) {
  AddSwitch(command, "--foreach", loop.foreach,
            "The optimizer takes all parameters at once, or off: one by one");
  AddSwitch(command, "--fused", loop.fused,
            "The optimizer's step is one operator: sgd, momentum, adam, adamw "
            "and adagrad have one");
  AddSwitch(command, "--set-to-none", loop.set_to_none,
            "zero_grad() drops gradients, or off: fills them with zeros");
  command
      .add_option("--accumulate", loop.accumulation,
                  "Batches whose gradients are added up before the optimizer "
                  "runs: a step is that many forward and backward passes")
      ->check(AboveZero())
      ->capture_default_str();
  command.add_option("--trainable", loop.trainable,
                     "Only parameters in whose names this regular expression "
                     "is found are trained");
  command.add_option_function<std::string>(
      "--lora",
      [&loop](const std::string& text) {
        loop.lora = ParseLora("--lora", text);
      },
      "Adapters of a rank on the linear layers in whose weights' names a "
      "regular expression is found: r=16,targets=q_proj|v_proj; nothing else "
      "is trained");
  command.add_option(
      "--recompute", loop.recompute,
      "Activation checkpointing of the modules at this path, 'blocks.*' say, "
      "or auto: those with a number that save most");
  command.add_option_function<std::string>(
      "--parallel",
      [&loop](const std::string& text) {
        loop.parallel = ParseParallel("--parallel", text);
      },
      "GPUs that share the step, the batch being that of one: ddp:8, zero1:8, "
      "zero2:8 or fsdp:8; or tp:4, layers by columns and rows, and with "
      "tp:4,vocabulary words too, in inference too");
}

std::vector<std::string> LoopWords(const TrainingLoop& loop) {
  std::vector<std::string> words;
  if (!loop.foreach) words.emplace_back("--foreach off");
  if (loop.fused) words.emplace_back("--fused on");
  if (!loop.set_to_none) words.emplace_back("--set-to-none off");
  if (loop.accumulation != 1) {
    words.push_back(fmt::format("--accumulate {}", loop.accumulation));
  }
  if (!loop.trainable.empty()) {
    words.push_back(fmt::format("--trainable {}", loop.trainable));
  }
  if (loop.lora != LoraSpec{}) {
    words.push_back(fmt::format("--lora r={},targets={}", loop.lora.rank,
                                loop.lora.targets));
  }
  if (!loop.recompute.empty()) {
    words.push_back(fmt::format("--recompute {}", loop.recompute));
  }
  if (loop.parallel != ParallelSpec{}) {
    words.push_back(fmt::format("--parallel {}", ToString(loop.parallel)));
  }
  return words;
}

}  // namespace foretell::cli
