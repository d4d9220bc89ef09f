#include "cli/flags/pass_flags.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "cli/flags/model_options.h"
#include "cli/flags/number_checks.h"
#include "cli/flags/open_model.h"
#include "src/core/failure.h"
#include "src/core/parse_number.h"
#include "src/core/random.h"
#include "src/core/text.h"
#include "src/program/dimension_names.h"

namespace foretell::cli {
namespace {

/// Traces, and passes of one run of the loop, at most.
constexpr std::size_t kMostLengths = 8;
constexpr std::size_t kMostSteps = 64;

[[noreturn]] void RefuseLengths(const std::string& text) {
  throw InvalidArgument(
      "--lengths '{}': expected 32..512, or at most {} steps of at most {} "
      "lengths: 64,512,384",
      text, kMostSteps, kMostLengths);
}

std::int64_t ParseLength(std::string_view word, const std::string& text) {
  const auto length = ParseNumber<std::int64_t>(word);
  if (!length || *length < 1) RefuseLengths(text);
  return *length;
}

std::vector<std::int64_t> DrawLengths(std::int64_t low, std::int64_t high) {
  const std::int64_t count = std::min<std::int64_t>(
      static_cast<std::int64_t>(kMostLengths), high - low + 1);
  std::vector<std::int64_t> steps;
  for (std::int64_t i = 0; i < count; ++i) {
    steps.insert(steps.end(), 2, low + (high - low) * i / (count - 1));
  }
  Random(1).Shuffle(steps);
  return steps;
}

bool HasInput(const Program& program, const std::string& name) {
  return std::ranges::count(program.inputs(), name, &InputSpec::name) > 0;
}

bool HasDim(const Program& program, const std::string& name) {
  const auto is_meant = [&name](const InputDim& dim) {
    return dim.symbol == name ||
           (name == kSequenceLength && NamesLength(dim.symbol));
  };
  return std::ranges::any_of(program.inputs(), [&](const InputSpec& input) {
    return name.starts_with(input.name + ".") ||
           (input.dims && std::ranges::any_of(*input.dims, is_meant));
  });
}

}  // namespace

std::vector<std::int64_t> ParseLengths(const std::string& text) {
  constexpr std::string_view kTo = "..";
  if (const std::size_t to = text.find(kTo); to != std::string::npos) {
    const std::string_view view = text;
    const std::int64_t low = ParseLength(view.substr(0, to), text);
    const std::int64_t high = ParseLength(view.substr(to + kTo.size()), text);
    if (low >= high) RefuseLengths(text);
    return DrawLengths(low, high);
  }
  std::vector<std::int64_t> steps;
  for (const std::string& word : CLI::detail::split(text, ',')) {
    steps.push_back(ParseLength(word, text));
  }
  const std::set<std::int64_t> different(steps.begin(), steps.end());
  if (steps.size() > kMostSteps || different.size() > kMostLengths) {
    RefuseLengths(text);
  }
  return steps;
}

void PassFlags::AddTo(CLI::App& command) {
  is_offered = true;
  command
      .add_option("--lengths", lengths,
                  "Sequence lengths of steps that one process runs in turn: "
                  "64,512,384 in this order, or 32..512 at random; memory is "
                  "that of all, speed that of the longest")
      ->excludes(command.get_option(kSequenceLength));
  command
      .add_option("--evaluate", evaluation,
                  "Batch of an inference pass that the process runs between "
                  "training steps")
      ->check(AboveZero());
}

void PassFlags::JoinNetworks(std::vector<std::string>& models) {
  std::vector<std::vector<std::string>> groups;
  for (std::size_t i = 0; i < models.size(); ++i) {
    if (models[i] != kAnd) {
      groups.push_back({models[i]});
      continue;
    }
    if (!is_offered || groups.empty() || ++i == models.size() ||
        models[i] == kAnd) {
      throw InvalidArgument(
          "{}: '{}' stands between networks that one process runs, which "
          "predict, fits and finetune answer",
          Joined(models, " "), kAnd);
    }
    groups.back().push_back(models[i]);
  }
  models.clear();
  for (const std::vector<std::string>& group : groups) {
    models.push_back(Joined(group, " + "));
    if (group.size() > 1) networks[models.back()] = group;
  }
}

std::string PassFlags::FirstOf(const std::string& entry) const {
  const auto found = networks.find(entry);
  return found == networks.end() ? entry : found->second.front();
}

std::vector<std::string> PassFlags::Words() const {
  if (!lengths.empty()) return {fmt::format("--lengths {}", lengths)};
  if (evaluation) return {fmt::format("--evaluate {}", *evaluation)};
  return {};
}

PassPlanner::PassPlanner(const ModelOptions& options, const std::string& entry,
                         const Program& first)
    : flags_(options.passes), entry_(entry), programs_{first} {
  const auto open = [&](const std::string& name) {
    return name == entry ? first : OpenModel(name, options.ToLoadOptions());
  };
  if (const auto found = flags_.networks.find(entry);
      found != flags_.networks.end()) {
    for (std::size_t i = 1; i < found->second.size(); ++i) {
      programs_.push_back(open(found->second[i]));
    }
  }
  if (const auto found = flags_.other_lengths.find(entry);
      found != flags_.other_lengths.end()) {
    for (const auto& [length, name] : found->second) {
      at_length_.emplace(length, open(name));
    }
  }
}

StepRequest PassPlanner::PartOf(std::size_t network, StepRequest step) const {
  const auto is_foreign = [&](const auto& has, const std::string& name) {
    const auto has_it = [&](const Program& program) {
      return has(program, name);
    };
    if (has_it(programs_[network])) return false;
    return network > 0 || std::ranges::any_of(programs_, has_it);
  };
  std::erase_if(step.inputs.dims,
                [&](const auto& dim) { return is_foreign(HasDim, dim.first); });
  std::erase_if(step.inputs.values, [&](const auto& value) {
    return is_foreign(HasInput, value.first);
  });
  std::erase_if(step.inputs.inputs, [&](const BoundInput& input) {
    return is_foreign(HasInput, input.name);
  });
  return step;
}

/// Only the first one is trained.
PassPlan PassPlanner::Networks(const StepRequest& step) const {
  const std::vector<std::string>& names = flags_.networks.at(entry_);
  PassPlan plan{
      .kind = RunKind::kNetworks, .label = names.front(), .order = {0}};
  for (std::size_t i = 1; i < programs_.size(); ++i) {
    StepRequest other = PartOf(i, step);
    if (other.options.run.mode == Mode::kTraining) {
      other.options.run.mode = Mode::kInference;
      other.options.loop = {};
    }
    plan.others.push_back({names[i], programs_[i], std::move(other)});
    plan.order.push_back(i);
  }
  return plan;
}

PassPlan PassPlanner::Lengths(StepRequest step) const {
  const std::vector<std::int64_t> lengths = ParseLengths(flags_.lengths);
  std::map<std::int64_t, std::size_t> passes;  // The own step is the longest.
  PassPlan plan{.kind = RunKind::kLengths,
                .label = fmt::format("length {}", std::ranges::max(lengths))};
  for (const auto& [length, program] : at_length_) {
    step.inputs.dims[kSequenceLength] = length;
    plan.others.push_back({fmt::format("length {}", length), program, step});
    passes[length] = plan.others.size();
  }
  for (const std::int64_t length : lengths) {
    plan.order.push_back(passes[length]);
  }
  return plan;
}

PassPlan PassPlanner::Evaluation(StepRequest step) const {
  step.inputs.batch = *flags_.evaluation;
  step.options.run.mode = Mode::kInference;
  step.options.loop = {};
  PassPlan plan{
      .kind = RunKind::kEvaluation, .label = "training step", .order = {0, 1}};
  plan.others.push_back({"evaluation", programs_.front(), std::move(step)});
  return plan;
}

Session PassPlanner::Open(const StepRequest& step) const {
  const bool is_one = programs_.size() == 1;
  Session session(is_one ? programs_.front() : programs_.front().Named(entry_),
                  PartOf(0, step));
  if (!is_one) {
    session.RunInTurn(Networks(step));
  } else if (!flags_.lengths.empty()) {
    session.RunInTurn(Lengths(step));
  } else if (flags_.evaluation) {
    session.RunInTurn(Evaluation(step));
  }
  return session;
}

}  // namespace foretell::cli
