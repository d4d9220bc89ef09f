#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "foretell/device.h"
#include "foretell/figure.h"
#include "foretell/run.h"

namespace foretell {

/// One row of measurements of a network.
struct MeasuredRow {
  std::string place;  ///< "rows.csv: line 3", as errors name it.
  std::string model;  ///< A file or zoo:NAME.
  std::int64_t batch = 1;
  std::vector<std::string> inputs = {};  ///< As for --input.
  /// By Target, above 0; empty: not measured.
  std::array<std::optional<double>, kNumTargets> measured = {};
};

/// A table of such rows.
struct MeasuredTable {
  std::vector<MeasuredRow> rows;
  int failed = 0;  ///< Rows whose status is not "ok"; they are not in `rows`.
  std::vector<std::string> warnings;
};

/// Of which machine and run the rows must be.
struct MeasuredSubject {
  const DeviceSpec& device;
  const DeviceCatalog& catalog;  ///< Knows which other devices there are.
  const Run& run;
};

/// Reads what `foretell measure` printed with --csv or --json, or any CSV,
/// plain or gzipped, with the columns
///
///   model, batch, latency_ms    and where they are there
///   memory_mib (or process_bytes), energy_j, inputs ("x=f32[8,3,224,224]"),
///   status, and what is compared with the subject: mode, precision, optimizer,
///   autocast, grad_mode, memory_format, device_name or device.
///
/// Throws Error that names the file, the line (or the place in the JSON) and
/// both values: kInvalidArgument for a missing column, another run, another
/// device of the catalogue, a slice, fewer than kFewestRows rows that differ in
/// more than their figures, and one latency for all of them; kCorrupt for a
/// cell that is not a number above 0; and what ForEachCsvRow throws.
MeasuredTable ReadMeasuredRows(const std::string& path,
                               const MeasuredSubject& subject);

}  // namespace foretell
