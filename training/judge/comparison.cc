#include "training/judge/comparison.h"

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "src/core/json_fields.h"
#include "src/core/json_text.h"
#include "src/core/numbers.h"
#include "src/core/text_table.h"
#include "src/page/html_page.h"
#include "training/fit/fit_info.h"
#include "training/fit/predict_samples.h"

namespace foretell::training {
namespace {

using OrderedJson = nlohmann::ordered_json;
using learned::Target;

constexpr int kSchemaVersion = 1;

struct PartRow {
  const char* name;
  PartErrors ComparisonCell::*errors;
};

constexpr std::array<PartRow, 3> kParts = {
    {{"train", &ComparisonCell::train},
     {"validation", &ComparisonCell::validation},
     {"test", &ComparisonCell::test}}};

PartErrors ErrorsOf(const PassSums& sums) {
  PartErrors errors{.pooled = sums.PooledMape()};
  for (const Target target : learned::kAllTargets) {
    ValueOf(errors.mape, target) = sums.Mape(target);
  }
  return errors;
}

/// null if unknown.
void DescribeError(JsonFields& fields, std::string_view key, double& error) {
  std::optional<double> known;
  if (learned::IsKnown(error)) known = error;
  fields.Optional(std::string(key), known);
  error = known.value_or(learned::kUnknown);
}

void DescribeErrors(JsonFields& fields, PartErrors& errors) {
  DescribeError(fields, "pooled", errors.pooled);
  for (const Target target : learned::kAllTargets) {
    DescribeError(fields, TargetName(target), ValueOf(errors.mape, target));
  }
}

void DescribeCell(JsonFields& fields, ComparisonCell& cell) {
  fields.Named("network", cell.network, &learned::NetworkKindName,
               &learned::ParseNetworkKind);
  fields.Value("seed", cell.seed);
  for (const PartRow& part : kParts) {
    fields.Object(part.name, [&](JsonFields& errors) {
      DescribeErrors(errors, cell.*part.errors);
    });
  }
}

/// Mean and deviation over seeds.
struct Spread {
  double mean = learned::kUnknown;
  double deviation = 0;  ///< 0 for one seed.
};

Spread SpreadOf(const std::vector<double>& values) {
  if (values.empty()) return {};
  double sum = 0;
  for (const double value : values) sum += value;
  const double count = static_cast<double>(values.size());
  const double mean = sum / count;
  double squares = 0;
  for (const double value : values) squares += std::pow(value - mean, 2);
  return {mean, count > 1 ? std::sqrt(squares / (count - 1)) : 0};
}

using Rows = std::vector<std::vector<const ComparisonCell*>>;

Rows ByNetwork(std::span<const ComparisonCell> cells) {
  Rows rows;
  for (const ComparisonCell& cell : cells) {
    const auto found = std::ranges::find_if(rows, [&](const auto& row) {
      return row.front()->network == cell.network;
    });
    if (found == rows.end()) {
      rows.push_back({&cell});
    } else {
      found->push_back(&cell);
    }
  }
  return rows;
}

/// Uses the pooled errors if there is no target.
Spread SpreadOver(const std::vector<const ComparisonCell*>& row,
                  PartErrors ComparisonCell::*part,
                  std::optional<Target> target) {
  std::vector<double> values;
  for (const ComparisonCell* cell : row) {
    const PartErrors& errors = cell->*part;
    values.push_back(target ? ValueOf(errors.mape, *target) : errors.pooled);
  }
  return SpreadOf(values);
}

std::string Text(const Spread& spread, std::size_t seeds) {
  if (!learned::IsKnown(spread.mean)) return "-";
  const std::string mean = FormatNumber(spread.mean, 3);
  return seeds > 1
             ? fmt::format("{} ± {}", mean, FormatNumber(spread.deviation, 3))
             : mean;
}

TextTable TableOf(std::span<const ComparisonCell> cells) {
  std::vector<std::string> header = {"network"};
  for (const PartRow& part : kParts) {
    header.push_back(fmt::format("MAPE {}", part.name));
  }
  for (const Target target : learned::kAllTargets) {
    header.push_back(fmt::format("test {}", TargetName(target)));
  }
  TextTable table(std::move(header));
  for (const auto& row : ByNetwork(cells)) {
    std::vector<std::string> line = {
        std::string(NetworkKindName(row.front()->network))};
    for (const PartRow& part : kParts) {
      line.push_back(Text(SpreadOver(row, part.errors, {}), row.size()));
    }
    for (const Target target : learned::kAllTargets) {
      line.push_back(
          Text(SpreadOver(row, &ComparisonCell::test, target), row.size()));
    }
    table.AddRow(std::move(line));
  }
  return table;
}

OrderedJson SpreadToJson(const Spread& spread) {
  return {{"mean", JsonNumber(spread.mean)},
          {"deviation", JsonNumber(spread.deviation)}};
}

}  // namespace

std::optional<ComparisonCell> TrainCell(const TrainerOptions& options,
                                        std::span<const Target> targets,
                                        const TrainingData& data,
                                        std::span<const std::size_t> test,
                                        const TrainerHooks& hooks) {
  Communicator alone;
  Trainer trainer(options, FitInfo(options, data.set, targets, data.train),
                  data, alone);
  if (trainer.Run(hooks) == RunEnd::kInterrupted) return std::nullopt;
  const learned::LearnedModel learned = trainer.LastModel();
  const auto errors = [&](std::span<const std::size_t> part) {
    return ErrorsOf(PredictSamples({.store = data.store,
                                    .set = data.set,
                                    .info = learned.info(),
                                    .network = learned.network(),
                                    .communicator = alone},
                                   part)
                        .sums);
  };
  return ComparisonCell{.network = options.network.kind,
                        .seed = options.seed,
                        .train = errors(data.train),
                        .validation = errors(data.validation),
                        .test = errors(test)};
}

nlohmann::json CellToJson(const ComparisonCell& cell) {
  return WriteFields(cell, &DescribeCell);
}

ComparisonCell CellFromJson(const nlohmann::json& json,
                            const std::string& origin) {
  return ReadFields<ComparisonCell>(JsonObject(json, origin, ""),
                                    &DescribeCell);
}

std::string ComparisonToText(std::span<const ComparisonCell> cells) {
  return TableOf(cells).ToString();
}

std::string ComparisonToMarkdown(std::span<const ComparisonCell> cells) {
  return TableOf(cells).ToMarkdown();
}

namespace {

OrderedJson ComparisonDocument(std::span<const ComparisonCell> cells) {
  OrderedJson networks = OrderedJson::array();
  for (const auto& row : ByNetwork(cells)) {
    OrderedJson network = {{"network", NetworkKindName(row.front()->network)}};
    for (const ComparisonCell* cell : row)
      network["seeds"].push_back(cell->seed);
    for (const PartRow& part : kParts) {
      network[part.name]["pooled"] =
          SpreadToJson(SpreadOver(row, part.errors, {}));
      for (const Target target : learned::kAllTargets) {
        network[part.name][std::string(TargetName(target))] =
            SpreadToJson(SpreadOver(row, part.errors, target));
      }
    }
    networks.push_back(std::move(network));
  }
  return {{"schema_version", kSchemaVersion},
          {"networks", std::move(networks)}};
}

}  // namespace

std::string ComparisonToJson(std::span<const ComparisonCell> cells) {
  return DumpJson(ComparisonDocument(cells)) + "\n";
}

std::string ComparisonToHtml(std::span<const ComparisonCell> cells) {
  return HtmlPage(PageView::kComparison, "foretell compare",
                  ComparisonDocument(cells));
}

}  // namespace foretell::training
