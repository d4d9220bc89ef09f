#include "training/judge/compare_networks.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "foretell/version.h"
#include "src/core/output_file.h"
#include "training/fit/run_folder.h"
#include "training/judge/result_cache.h"

namespace foretell::training {
namespace {

std::vector<TrainerOptions> CellsOf(const ComparisonOptions& options) {
  std::vector<TrainerOptions> cells;
  for (const TrainerOptions& network : options.networks) {
    for (const std::uint64_t seed : options.seeds) {
      cells.push_back(network);
      cells.back().seed = seed;
    }
  }
  return cells;
}

std::string NameOf(const TrainerOptions& cell) {
  return fmt::format("{}-{}", NetworkKindName(cell.network.kind), cell.seed);
}

std::vector<std::size_t> JudgingPart(const SampleSet& set, Part part) {
  return set.ForJudging(set.PartOf(part));
}

}  // namespace

NetworkComparison::NetworkComparison(ComparisonOptions options)
    : options_(std::move(options)),
      cells_(CellsOf(options_)),
      opened_(OpenSamples(options_.samples)),
      data_{opened_.set, *opened_.store, opened_.set.PartOf(Part::kTrain),
            JudgingPart(opened_.set, Part::kValidation)},
      test_(JudgingPart(opened_.set, Part::kTest)) {}

std::optional<std::vector<ComparisonCell>> NetworkComparison::Run(
    const HooksOfRun& hooks) const {
  const std::vector<learned::Target> targets = options_.samples.Targets();
  std::vector<ComparisonCell> done;
  for (const TrainerOptions& cell : cells_) {
    const ResultCache cache(options_.folder + "/cells",
                            {{"version", kVersion},
                             {"samples", SampleRequestToJson(options_.samples)},
                             {"count", opened_.set.samples.size()},
                             {"options", TrainerOptionsToJson(cell)}});
    const std::string name = NameOf(cell);
    if (const auto found = cache.Find(name)) {
      done.push_back(CellFromJson(*found, name));
      continue;
    }
    const std::optional<ComparisonCell> trained = TrainCell(
        cell, targets, data_, test_, hooks(std::ssize(done), name + " "));
    if (!trained) return std::nullopt;
    cache.Put(name, CellToJson(*trained));
    done.push_back(*trained);
  }
  return done;
}

void NetworkComparison::Write(std::span<const ComparisonCell> cells) const {
  const auto write = [this](const char* name, const std::string& text) {
    WriteWhole(fmt::format("{}/{}", options_.folder, name), text);
  };
  write("comparison.txt", ComparisonToText(cells));
  write("comparison.md", ComparisonToMarkdown(cells));
  write("comparison.json", ComparisonToJson(cells));
  write("comparison.html", ComparisonToHtml(cells));
}

}  // namespace foretell::training
