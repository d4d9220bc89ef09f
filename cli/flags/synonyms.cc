#include "cli/flags/synonyms.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <utility>

#include "src/core/ignoring_case.h"

namespace foretell::cli {
namespace {

/// A flag of another tool; `value` is empty where it brings its own.
struct FlagSynonym {
  std::string_view theirs;
  const char* ours;
  const char* value = "";
};

constexpr FlagSynonym kFlags[] = {
    {"--amp", "--autocast"},
    {"--batch-size", "--batch"},
    {"--batch_size", "--batch"},
    {"--batches", "--batch"},
    {"--bf16", "--precision", "bf16"},
    {"--bfloat16", "--precision", "bf16"},
    {"--bs", "--batch"},
    {"--context-length", "--seq-len"},
    {"--dev", "--device"},
    {"--device", "--devices"},
    {"--devices", "--device"},
    {"--dtype", "--precision"},
    {"--fp16", "--precision", "fp16"},
    {"--fp32", "--precision", "fp32"},
    {"--gpu", "--device"},
    {"--gpu", "--devices"},
    {"--gpu-type", "--device"},
    {"--half", "--precision", "fp16"},
    {"--inference", "--mode", "inference"},
    {"--input-shape", "--input"},
    {"--input-size", "--input"},
    {"--json", "--format", "json"},
    {"--max-length", "--seq-len"},
    {"--max-seq-len", "--seq-len"},
    {"--max-vram", "--max-memory"},
    {"--memory-limit", "--max-memory"},
    {"--mig", "--profile"},
    {"--optim", "--optimizer"},
    {"--output", "--out"},
    {"--seq", "--seq-len"},
    {"--seq_len", "--seq-len"},
    {"--seqlen", "--seq-len"},
    {"--sequence-length", "--seq-len"},
    {"--slice", "--profile"},
    {"--tf32", "--precision", "tf32"},
    {"--train", "--mode", "training"},
    {"--training", "--mode", "training"},
    {"--tree", "--format", "tree"},
    {"-o", "--out"},
};

struct FlagHint {
  std::string_view flag;
  std::string_view hint;
};

constexpr FlagHint kHints[] = {
    {"--format", "text is the default; choose another with --json or --csv"},
    {"-o", "the answer is printed; write a page with --html FILE"},
    {"--fsdp", "--parallel fsdp:N shards a step over N GPUs"},
    {"--gpus", "--parallel ddp:N, fsdp:N or tp:N shares a step among N GPUs"},
    {"--grad-accum", "--accumulate N adds up the gradients of N batches"},
    {"--gradient-accumulation-steps",
     "--accumulate N adds up the gradients of N batches"},
    {"--gradient-checkpointing",
     "--recompute auto, or the paths of modules, is activation checkpointing"},
    {"--image-size",
     "sizes are part of --input NAME=f32[8,3,224,224], or of "
     "zoo:NAME?image_size=SIZE"},
    {"--loss",
     "foretell uses the loss of the file, else the sum of the means of its "
     "outputs"},
    {"--model", "the model is a positional argument: foretell predict FILE"},
    {"--out", "the answer is printed; write a page with --html FILE"},
    {"--output", "the answer is printed; write a page with --html FILE"},
    {"--pp", "--parallel pp:N cuts a step into stages of N GPUs"},
    {"--tp", "--parallel tp:N shards layers over N GPUs"},
    {"--vram", "--device names the GPU; foretell fits has --max-memory"},
    {"--zero",
     "--parallel zero1:N, zero2:N or zero3:N shards a step over N GPUs"},
};

/// Values of flags by the names of other tools.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12>
    kValues = {{{"bfloat16", "bf16"},
                {"eval", "inference"},
                {"float", "fp32"},
                {"float16", "fp16"},
                {"float32", "fp32"},
                {"half", "fp16"},
                {"infer", "inference"},
                {"predict", "inference"},
                {"sgd_momentum", "momentum"},
                {"test", "inference"},
                {"tfloat32", "tf32"},
                {"train", "training"}}};

/// Flags whose values are names that other tools write differently.
constexpr std::string_view kNamedFlags[] = {"--mode", "-m", "--precision", "-p",
                                            "--optimizer"};

std::string UsualName(std::string_view name) {
  constexpr std::string_view kTorch = "torch.";
  std::string small = LowerCase(name);
  if (small.starts_with(kTorch)) small.erase(0, kTorch.size());
  const auto* row = std::ranges::find(
      kValues, small, &std::pair<std::string_view, std::string_view>::first);
  return row == kValues.end() ? small : std::string(row->second);
}

bool Knows(const CLI::App& command, const std::string& flag) {
  return command.get_option_no_throw(flag) != nullptr;
}

/// The row for `flag` where `command` has our flag and not theirs.
const FlagSynonym* SynonymIn(const CLI::App& command, const std::string& flag) {
  if (Knows(command, flag)) return nullptr;
  const auto* row = std::ranges::find_if(kFlags, [&](const FlagSynonym& one) {
    return one.theirs == flag && Knows(command, one.ours);
  });
  return row == std::end(kFlags) ? nullptr : row;
}

/// A word of the command line in the command's own words.
struct FlagWord {
  std::string name;
  std::string value = {};        ///< "=bf16", where it was given so.
  std::string fixed_value = {};  ///< "training", of a flag that implies it.
  bool takes_name = false;       ///< The next word is a name of kNamedFlags.
};

FlagWord OwnFlag(const CLI::App& command, const std::string& word) {
  if (!word.starts_with('-')) return {.name = word};
  const std::size_t equals = std::min(word.find('='), word.size());
  FlagWord flag{.name = word.substr(0, equals), .value = word.substr(equals)};
  if (const FlagSynonym* row = SynonymIn(command, flag.name)) {
    flag.name = row->ours;
    flag.fixed_value = row->value;
  }
  const bool is_named = std::ranges::count(kNamedFlags, flag.name) > 0;
  if (is_named && !flag.value.empty()) {
    flag.value = "=" + UsualName(flag.value.substr(1));
  }
  flag.takes_name = is_named && flag.value.empty() && flag.fixed_value.empty();
  return flag;
}

}  // namespace

const CLI::App& CalledIn(const CLI::App& app,
                         std::span<const std::string> words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].starts_with('-')) continue;
    const std::vector<const CLI::App*> called = app.get_subcommands(
        [&](const CLI::App* inner) { return inner->get_name() == words[i]; });
    if (called.empty()) return app;
    return CalledIn(*called.front(), words.subspan(i + 1));
  }
  return app;
}

std::vector<std::string> InOwnWords(const CLI::App& app,
                                    std::vector<std::string> words) {
  const CLI::App& command = CalledIn(app, words);
  std::vector<std::string> own;
  bool is_named_value = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--") {
      own.insert(own.end(), words.begin() + static_cast<std::ptrdiff_t>(i),
                 words.end());
      break;
    }
    if (is_named_value) {
      own.push_back(UsualName(words[i]));
      is_named_value = false;
      continue;
    }
    const FlagWord flag = OwnFlag(command, words[i]);
    own.push_back(flag.name + flag.value);
    if (!flag.fixed_value.empty()) own.push_back(flag.fixed_value);
    is_named_value = flag.takes_name;
  }
  return own;
}

std::string_view HintFor(std::string_view flag) {
  const auto* row = std::ranges::find(kHints, flag, &FlagHint::flag);
  return row == std::end(kHints) ? std::string_view() : row->hint;
}

}  // namespace foretell::cli
