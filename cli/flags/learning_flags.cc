#include "cli/flags/learning_flags.h"

#include <algorithm>
#include <type_traits>

#include "cli/flags/defaulted_flag.h"
#include "cli/flags/named_flag.h"
#include "training/fit/typical_options.h"

namespace foretell::cli {
namespace {

using learned::NetworkOptions;
using learned::Pooling;
using learned::ScaleKind;
using training::Schedule;
using training::TrainerOptions;

/// `Options` is TrainerOptions, const or not.
template <typename Options, typename Value>
auto& FieldOf(Options& options, Value TrainerOptions::*field) {
  return options.*field;
}

template <typename Options, typename Value>
auto& FieldOf(Options& options, Value NetworkOptions::*field) {
  return options.network.*field;
}

}  // namespace

std::vector<learned::NetworkKind> SortedNetworks(bool with_terms) {
  std::vector<learned::NetworkKind> kinds;
  for (const learned::LayerKindRow& row : learned::kLayerKinds) {
    kinds.push_back({.layer = row.layer});
  }
  if (with_terms) {
    for (const learned::TermSetRow& row : learned::kTermSets) {
      kinds.push_back({.terms = row.set});
    }
  }
  std::ranges::sort(kinds, {}, &learned::NetworkKindName);
  return kinds;
}

template <typename Object, typename Value>
void LearningFlags::Note(const CLI::Option* option, Value Object::*field) {
  fields_.emplace_back(option,
                       [field](TrainerOptions& to, const TrainerOptions& from) {
                         FieldOf(to, field) = FieldOf(from, field);
                       });
}

template <typename Object, typename Value>
void LearningFlags::Add(CLI::App& command, const char* name,
                        Value Object::*field, const char* help) {
  Value& value = FieldOf(options, field);
  if constexpr (std::is_same_v<Value, bool>) {
    Note(command.add_flag(name, value, help), field);
  } else {
    Note(AddDefaulted(command, name, value, help), field);
  }
}

void LearningFlags::AddTo(CLI::App& command, bool with_network) {
  defaults_ = options;
  if (with_network) AddNetwork(command);
  AddSize(command);
  AddSteps(command);
  AddCourse(command);
  AddKinds(command);
}

void LearningFlags::AddNetwork(CLI::App& command) {
  AddNamed(
      command, "--network", options.network.kind,
      SortedNetworks(/*with_terms=*/true), &learned::NetworkKindName,
      "Network over operators; or over terms: kernels, portable-kernels, "
      "pmgns-kernels, step-kernels, raw-kernels (latency), replay (memory of "
      "training)");
}

void LearningFlags::AddSize(CLI::App& command) {
  using Size = NetworkOptions;
  Add(command, "--hidden", &Size::hidden, "Width of the network");
  Add(command, "--graph-blocks", &Size::graph_blocks, "Blocks over the graph");
  Add(command, "--layers-per-block", &Size::layers_per_block, "Layers in each");
  Add(command, "--head-blocks", &Size::head_blocks, "Fully connected blocks");
  Add(command, "--heads", &Size::heads,
      "Number of corrections of the sum to average, for networks over terms");
  Add(command, "--members", &Size::members,
      "Networks trained together; their mean is predicted");
  Add(command, "--dropout", &Size::dropout,
      "Share of elements dropped in training");
}

void LearningFlags::AddSteps(CLI::App& command) {
  using Options = TrainerOptions;
  Add(command, "--batch-size", &Options::batch_size,
      "Graphs per step and worker");
  Add(command, "--epochs", &Options::epochs, "Passes over the training part");
  Add(command, "--learning-rate", &Options::learning_rate, "Step size of Adam");
  Add(command, "--weight-decay", &Options::weight_decay,
      "Weight decay, in Adam's gradient");
  Add(command, "--decoupled-weight-decay", &Options::decoupled_decay,
      "Decoupled weight decay: AdamW instead of Adam");
  Add(command, "--clip", &Options::clip, "Largest gradient norm; 0: no limit");
  Add(command, "--huber-delta", &Options::huber_delta,
      "Error above which the loss is linear");
}

void LearningFlags::AddCourse(CLI::App& command) {
  using Options = TrainerOptions;
  Add(command, "--warmup", &Options::warmup_epochs,
      "Warm-up epochs of the learning rate");
  Add(command, "--patience", &Options::patience,
      "Epochs without a better validation loss before training stops; 0: "
      "never");
  Add(command, "--seed", &Options::seed,
      "Seed of initial weights, sample order and dropout");
  Add(command, "--compute", &Options::compute,
      "Device to compute on: cpu, cuda, cuda:1");
}

void LearningFlags::AddKinds(CLI::App& command) {
  using Options = TrainerOptions;
  Note(AddNamed(command, "--pooling", options.network.pooling,
                {Pooling::kSum, Pooling::kMean, Pooling::kMax, Pooling::kPrior},
                &learned::PoolingName,
                "sum, mean, max; prior: correct each operator's share of it"),
       &NetworkOptions::pooling);
  Note(AddNamed(command, "--target-scale", options.scale,
                {ScaleKind::kLog, ScaleKind::kDippm}, &learned::ScaleKindName,
                "log, or dippm: as in the paper's released code"),
       &Options::scale);
  Note(AddNamed(command, "--schedule", options.schedule,
                {Schedule::kConstant, Schedule::kCosine},
                &training::ScheduleName, "constant, cosine"),
       &Options::schedule);
  Add(command, "--amp", &Options::mixed_precision, "Mixed precision, on a GPU");
}

TrainerOptions LearningFlags::ToOptions(learned::NetworkKind kind) const {
  TrainerOptions made = training::TypicalOptions(kind, defaults_);
  for (const auto& [option, copy] : fields_) {
    if (option->count() > 0) copy(made, options);
  }
  made.Check();
  return made;
}

}  // namespace foretell::cli
