#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "foretell/dataset.h"

namespace foretell::dataset {

/// How to read a table of external measurements.
///
/// Fields are `model`, `batch`, `mode`, `precision`, `optimizer`, `image_size`
/// and `device`, by which a row finds its point; the five quantities of a label
/// (LabelQuantities); `measured_at`; and `environment.NAME` and `details.NAME`,
/// which become members of those objects. A column that has a field's name is
/// read as that field.
struct ImportOptions {
  std::string source;  ///< Origin of the measurements; becomes Label::source.
  std::map<std::string, std::string> columns;    ///< Column → field.
  std::map<std::string, std::string> constants;  ///< Field → value.
  /// Only rows whose column has one of the values given for it.
  std::multimap<std::string, std::string> where;
  /// {field, word in the table} → our word: {"precision", "amp (fp16)"} →
  /// "fp16".
  std::map<std::pair<std::string, std::string>, std::string> words;
  /// Brings a device's name into the catalogue's form; may be empty.
  std::function<std::string(const std::string&)> canonical_device;
  bool replace = false;  ///< Replaces labels of this source that differ.
};

/// Number of rows by outcome; each row is in exactly one count.
struct ImportSummary {
  std::int64_t rows = 0;
  std::int64_t joined = 0;       ///< A new label, or one replaced.
  std::int64_t present = 0;      ///< The dataset has this label.
  std::int64_t filtered = 0;     ///< Left out by `where`.
  std::int64_t valueless = 0;    ///< Without any quantity.
  std::int64_t unmatched = 0;    ///< No such point.
  std::int64_t ambiguous = 0;    ///< Several points; needs more fields.
  std::int64_t conflicting = 0;  ///< Values differ from the existing label's.
  /// "line 17: resnet50 batch=8 …: no such point", of the last three kinds.
  std::vector<std::string> problems;
};

/// Joins the rows of a table with the points of `dataset`. Does not compare a
/// field that the table lacks, so two points must not differ in it alone.
/// Atomic: an Error leaves the dataset unchanged. Throws
/// Error(kInvalidArgument) for an unknown field or a table without model, batch
/// or device, and Error(kCorrupt) with path, line and value for a cell that is
/// not a number.
ImportSummary ImportLabels(Dataset& dataset, const std::string& path,
                           const ImportOptions& options);

}  // namespace foretell::dataset
