#include "cli/flags/learning_flags.h"

#include <algorithm>

namespace foretell::cli {

std::vector<std::string> NetworkNames(bool with_terms) {
  std::vector<std::string> names;
  for (const auto& row : learned::kLayerKinds) names.emplace_back(row.name);
  if (with_terms) {
    for (const auto& row : learned::kTermSets) names.emplace_back(row.name);
  }
  std::ranges::sort(names);
  return names;
}

void LearningFlags::AddTo(CLI::App& command, bool with_network) {
  command_ = &command;
  learned::NetworkOptions& size = options.network;
  if (with_network) {
    command
        .add_option("--network", network,
                    "Network over operators; or over terms: kernels, "
                    "portable-kernels (latency), replay (memory of training)")
        ->check(CLI::IsMember(NetworkNames(/*with_terms=*/true)))
        ->capture_default_str();
  }
  const auto number = [&command](const char* name, auto& value,
                                 const char* help) {
    command.add_option(name, value, help)->capture_default_str();
  };
  number("--hidden", size.hidden, "Width of the network");
  number("--graph-blocks", size.graph_blocks, "Blocks over the graph");
  number("--layers-per-block", size.layers_per_block, "Layers in each");
  number("--head-blocks", size.head_blocks, "Fully connected blocks");
  number("--heads", size.heads,
         "Corrections of the sum that are averaged; networks over terms");
  number("--dropout", size.dropout, "Share of elements dropped in training");
  number("--batch-size", options.batch_size, "Graphs per step and worker");
  number("--epochs", options.epochs, "Passes over the training part");
  number("--learning-rate", options.learning_rate, "Step size of Adam");
  number("--weight-decay", options.weight_decay,
         "Decay of weights, in Adam's gradient");
  command.add_flag("--decoupled-weight-decay", options.decoupled_decay,
                   "Decay beside the gradient: AdamW instead of Adam");
  number("--clip", options.clip, "Largest norm of the gradient; 0: any");
  number("--huber-delta", options.huber_delta, "Where the loss turns linear");
  number("--warmup", options.warmup_epochs, "Epochs of a rising rate");
  number("--patience", options.patience,
         "Epochs without a better validation loss before the end; 0: all");
  number("--seed", options.seed,
         "Seed of first weights, order of samples and dropout");
  number("--compute", options.compute, "Where to compute: cpu, cuda, cuda:1");
  command
      .add_option("--pooling", pooling,
                  "sum, mean, max; prior: correct each operator's "
                  "share of it")
      ->check(CLI::IsMember({"sum", "mean", "max", "prior"}))
      ->capture_default_str();
  command
      .add_option("--target-scale", scale,
                  "log, or dippm: as the paper's released code")
      ->check(CLI::IsMember({"log", "dippm"}))
      ->capture_default_str();
  command.add_option("--schedule", schedule, "constant, cosine")
      ->check(CLI::IsMember({"constant", "cosine"}))
      ->capture_default_str();
  command.add_flag("--amp", options.mixed_precision,
                   "Mixed precision, on a GPU");
}

training::TrainerOptions LearningFlags::ToOptions(
    const learned::NetworkKind& kind) const {
  training::TrainerOptions made = options;
  made.network.kind = kind;
  made.network.pooling = *learned::ParsePooling(pooling);
  made.scale = *learned::ParseScaleKind(scale);
  made.schedule = *training::ParseSchedule(schedule);
  made.Check();
  return made;
}

training::TrainerOptions LearningFlags::ToOptions(SampleFlags& samples) const {
  training::TrainerOptions made =
      ToOptions(*learned::ParseNetworkKind(network));
  samples.recipe.terms = made.network.kind.terms;
  if (samples.recipe.terms) FollowTerms(made, samples);
  return made;
}

void LearningFlags::FollowTerms(training::TrainerOptions& made,
                                SampleFlags& samples) const {
  const auto unless_given = [this](const char* name, auto& value,
                                   auto typical) {
    if (command_->count(name) == 0) value = typical;
  };
  const Target target = learned::LayoutOf(*samples.recipe.terms).target;
  const bool kernels = target == Target::kLatency;
  unless_given("--targets", samples.targets,
               std::vector<std::string>{std::string(TargetName(target))});
  samples.device_columns = samples.device_columns ||
                           samples.recipe.terms == learned::TermSet::kKernels;
  unless_given("--hidden", made.network.hidden, 32);
  unless_given("--graph-blocks", made.network.graph_blocks, 2);
  unless_given("--layers-per-block", made.network.layers_per_block, 1);
  unless_given("--dropout", made.network.dropout, kernels ? 0.1 : 0.3);
  unless_given("--batch-size", made.batch_size, 16);
  unless_given("--epochs", made.epochs, kernels ? 16 : 24);
  unless_given("--learning-rate", made.learning_rate, 4e-3);
  unless_given("--schedule", made.schedule, training::Schedule::kCosine);
  unless_given("--warmup", made.warmup_epochs, 1.6);
  unless_given("--weight-decay", made.weight_decay, kernels ? 0.02 : 0.1);
  unless_given("--decoupled-weight-decay", made.decoupled_decay, true);
  unless_given("--clip", made.clip, 0.05);
  unless_given("--huber-delta", made.huber_delta, 0.05);
}

}  // namespace foretell::cli
