#include "training/fit/typical_options.h"

#include <optional>

#include "src/features/terms.h"

namespace foretell::training {
namespace {

/// Options that differ between the figures that terms add up to.
struct FigureRow {
  double dropout;
  std::int64_t epochs;
  double weight_decay;
};

constexpr FigureRow kLatencyRow = {0.1, 16, 0.02};
constexpr FigureRow kMemoryRow = {0.3, 24, 0.1};

void SuitTerms(const FigureRow& row, TrainerOptions& options) {
  options.network.hidden = 32;
  options.network.graph_blocks = 2;
  options.network.layers_per_block = 1;
  options.network.dropout = row.dropout;
  options.batch_size = 16;
  options.epochs = row.epochs;
  options.learning_rate = 4e-3;
  options.schedule = Schedule::kCosine;
  options.warmup_epochs = 1.6;
  options.weight_decay = row.weight_decay;
  options.decoupled_decay = true;
  options.clip = 0.05;
  options.huber_delta = 0.05;
}

}  // namespace

TrainerOptions TypicalOptions(learned::NetworkKind kind,
                              const TrainerOptions& usual) {
  TrainerOptions options = usual;
  options.network.kind = kind;
  const std::optional<learned::TermSet> terms = kind.terms;
  if (!terms) return options;
  const bool is_latency =
      learned::LayoutOf(*terms).target == learned::Target::kLatency;
  SuitTerms(is_latency ? kLatencyRow : kMemoryRow, options);
  return options;
}

}  // namespace foretell::training
