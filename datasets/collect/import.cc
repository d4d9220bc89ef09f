#include "datasets/collect/import.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "foretell/error.h"
#include "src/core/csv_rows.h"
#include "src/core/failure.h"
#include "src/core/nearest.h"
#include "src/core/numbers.h"
#include "src/core/parse_number.h"
#include "src/core/text.h"

namespace foretell::dataset {
namespace {

using Fields = std::map<std::string, std::string>;

constexpr std::array<std::string_view, 8> kKeyFields = {
    "model",     "batch",      "mode",   "precision",
    "optimizer", "image_size", "device", "measured_at"};
constexpr std::array<std::string_view, 3> kNeededFields = {"model", "batch",
                                                           "device"};
constexpr std::string_view kEnvironment = "environment.";
constexpr std::string_view kDetails = "details.";

bool IsQuantity(std::string_view field) {
  return std::ranges::any_of(LabelQuantities(), [field](const auto& quantity) {
    return quantity.name == field;
  });
}

bool IsField(std::string_view name) {
  return std::ranges::find(kKeyFields, name) != kKeyFields.end() ||
         IsQuantity(name) || name.starts_with(kEnvironment) ||
         name.starts_with(kDetails);
}

void CheckField(const std::string& field) {
  if (IsField(field)) return;
  std::string known;
  for (const std::string_view name : kKeyFields) known.append(name) += ", ";
  for (const LabelQuantity& quantity : LabelQuantities()) {
    known.append(quantity.name) += ", ";
  }
  throw InvalidArgument(
      "unknown field '{}'; there are: {}environment.NAME, details.NAME", field,
      known);
}

/// A cell as a number; empty when it is empty.
template <typename T>
std::optional<T> Number(const Fields& fields, const std::string& field) {
  const auto found = fields.find(field);
  if (found == fields.end() || found->second.empty()) return std::nullopt;
  const std::string& text = found->second;
  const std::optional<T> value = ParseNumber<T>(text);
  if (value) return value;
  throw Corrupt("{} '{}' is no number", field, text);
}

std::string TextOf(const Fields& fields, const std::string& field) {
  const auto found = fields.find(field);
  return found == fields.end() ? "" : found->second;
}

/// The fields `prefix`NAME as a JSON object; empty without any.
std::string ObjectOf(const Fields& fields, std::string_view prefix) {
  nlohmann::json object = nlohmann::json::object();
  for (const auto& [field, value] : fields) {
    if (field.starts_with(prefix) && !value.empty()) {
      object[field.substr(prefix.size())] = value;
    }
  }
  return object.empty() ? "" : object.dump();
}

/// True if the table has no value for `field`, or has `value`.
bool Agrees(const Fields& fields, const std::string& field,
            std::string_view value) {
  const std::string text = TextOf(fields, field);
  return text.empty() || text == value;
}

bool Agrees(const Fields& fields, const Point& point) {
  const std::optional<std::int64_t> image_size =
      Number<std::int64_t>(fields, "image_size");
  return Agrees(fields, "mode", ModeName(point.mode)) &&
         Agrees(fields, "precision", PrecisionName(point.precision)) &&
         Agrees(fields, "optimizer", point.optimizer) &&
         (!image_size || image_size == point.image_size);
}

using LabelKey = std::tuple<RowId, std::string, std::string>;

LabelKey KeyOf(const Label& label) {
  return {label.point, label.device, label.setting};
}

bool SameValues(const Label& a, const Label& b) {
  return std::ranges::all_of(LabelQuantities(), [&](const auto& quantity) {
    return a.*quantity.value == b.*quantity.value;
  });
}

class Import {
 public:
  Import(Dataset& dataset, const std::string& path,
         const ImportOptions& options)
      : dataset_(dataset), path_(path), options_(options) {
    for (const auto& [column, field] : options.columns) CheckField(field);
    for (const auto& [field, value] : options.constants) CheckField(field);
    for (StoredPoint& point : dataset.Points()) {
      points_[point.point.model].push_back(std::move(point));
    }
    for (Label& label : dataset.Labels()) {
      if (label.source != options.source) continue;
      labels_.emplace(KeyOf(label), std::move(label));
    }
  }

  ImportSummary Run() {
    Dataset::Batch batch(dataset_);
    ForEachCsvRow(path_, [this](const CsvRow& row) {
      ++summary_.rows;
      try {
        Take(row);
      } catch (const Error& error) {
        throw WithContext(fmt::format("{}: line {}", path_, row.line()), error);
      }
    });
    batch.Commit();
    return std::move(summary_);
  }

 private:
  void Take(const CsvRow& row) {
    if (!IsWanted(row)) {
      ++summary_.filtered;
      return;
    }
    const Fields fields = FieldsOf(row);
    Label label = LabelOf(fields);
    if (SameValues(label, Label{})) {
      ++summary_.valueless;
      return;
    }
    const std::vector<RowId> points = PointsOf(fields);
    if (points.size() == 1) {
      label.point = points[0];
      Store(row, fields, label);
    } else if (points.empty()) {
      ++summary_.unmatched;
      Note(row, fields, WhyUnmatched(fields));
    } else {
      ++summary_.ambiguous;
      Note(row, fields,
           fmt::format("{}; state more fields to choose one",
                       Counted(points.size(), "point")));
    }
  }

  bool IsWanted(const CsvRow& row) const {
    for (auto it = options_.where.begin(); it != options_.where.end();) {
      const auto [first, last] = options_.where.equal_range(it->first);
      const std::string& cell = row.At(it->first);
      if (std::none_of(first, last, [&cell](const auto& wanted) {
            return wanted.second == cell;
          })) {
        return false;
      }
      it = last;
    }
    return true;
  }

  Fields FieldsOf(const CsvRow& row) const {
    Fields fields;
    for (const std::string& column : row.columns()) {
      const auto mapped = options_.columns.find(column);
      if (mapped != options_.columns.end()) {
        fields[mapped->second] = row.At(column);
      } else if (IsField(column)) {
        fields.emplace(column, row.At(column));
      }
    }
    for (const auto& [column, field] : options_.columns) row.At(column);
    for (const auto& [field, value] : options_.constants) fields[field] = value;
    for (auto& [field, value] : fields) {
      const auto word = options_.words.find({field, value});
      if (word != options_.words.end()) value = word->second;
    }
    for (const std::string_view needed : kNeededFields) {
      if (!TextOf(fields, std::string(needed)).empty()) continue;
      throw InvalidArgument(
          "the table has no {0}: no column '{0}' among {1}; add --map "
          "COLUMN={0}, or --set {0}=VALUE for all rows",
          needed, Joined(row.columns()));
    }
    return fields;
  }

  Label LabelOf(const Fields& fields) const {
    Label label{.device = TextOf(fields, "device"),
                .source = options_.source,
                .provenance = Provenance::kImported};
    if (options_.canonical_device) {
      label.device = options_.canonical_device(label.device);
    }
    const std::string setting = ObjectOf(fields, kEnvironment);
    if (!setting.empty()) label.setting = setting;
    label.details = ObjectOf(fields, kDetails);
    label.measured_at = TextOf(fields, "measured_at");
    for (const LabelQuantity& quantity : LabelQuantities()) {
      label.*quantity.value =
          Number<double>(fields, std::string(quantity.name));
    }
    return label;
  }

  std::vector<RowId> PointsOf(const Fields& fields) const {
    std::vector<RowId> matches;
    const auto found = points_.find(TextOf(fields, "model"));
    if (found == points_.end()) return matches;
    const auto batch = Number<std::int64_t>(fields, "batch");
    for (const StoredPoint& stored : found->second) {
      if (stored.point.batch == batch && Agrees(fields, stored.point)) {
        matches.push_back(stored.id);
      }
    }
    return matches;
  }

  /// What the dataset has instead of the point that `fields` state.
  std::string WhyUnmatched(const Fields& fields) const {
    const std::string model = TextOf(fields, "model");
    const auto found = points_.find(model);
    if (found == points_.end()) {
      std::vector<std::string> names;
      for (const auto& [name, _] : points_) names.push_back(name);
      const std::vector<std::string> near = Nearest(model, names);
      return fmt::format("the dataset has no such model{}{}",
                         near.empty() ? "" : "; near: ", Joined(near));
    }
    std::set<std::int64_t> batches;
    for (const StoredPoint& stored : found->second) {
      batches.insert(stored.point.batch);
    }
    if (!batches.contains(Number<std::int64_t>(fields, "batch").value_or(0))) {
      return fmt::format("the dataset has this model with batch {}",
                         fmt::join(batches, ", "));
    }
    const Point& other = found->second.front().point;
    return fmt::format(
        "no point of the dataset has these fields; one of this model has "
        "mode={} precision={} batch={}{}{}",
        ModeName(other.mode), PrecisionName(other.precision), other.batch,
        other.optimizer.empty() ? "" : " optimizer=", other.optimizer);
  }

  void Store(const CsvRow& row, const Fields& fields, const Label& label) {
    const auto found = labels_.find(KeyOf(label));
    if (found != labels_.end() && SameValues(found->second, label)) {
      ++summary_.present;
      return;
    }
    // A label that came from this very table is never replaced.
    const bool is_ours = written_.contains(KeyOf(label));
    if (found != labels_.end() && (is_ours || !options_.replace)) {
      ++summary_.conflicting;
      Note(row, fields, "differs from the existing label");
      return;
    }
    dataset_.PutLabel(label);
    labels_.insert_or_assign(KeyOf(label), label);
    written_.insert(KeyOf(label));
    ++summary_.joined;
  }

  void Note(const CsvRow& row, const Fields& fields, const std::string& what) {
    std::string text = fmt::format("line {}:", row.line());
    for (const std::string_view field : kKeyFields) {
      const std::string value = TextOf(fields, std::string(field));
      if (!value.empty()) text.append(" ").append(field) += "=" + value;
    }
    summary_.problems.push_back(fmt::format("{}: {}", text, what));
  }

  Dataset& dataset_;
  const std::string& path_;
  const ImportOptions& options_;
  std::unordered_map<std::string, std::vector<StoredPoint>> points_;
  std::map<LabelKey, Label> labels_;
  std::set<LabelKey> written_;
  ImportSummary summary_;
};

}  // namespace

ImportSummary ImportLabels(Dataset& dataset, const std::string& path,
                           const ImportOptions& options) {
  return Import(dataset, path, options).Run();
}

}  // namespace foretell::dataset
