#include "cli/print/print_snapshot.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/print/print_difference.h"
#include "src/core/numbers.h"
#include "src/core/printable.h"
#include "src/core/shortened.h"
#include "src/core/text_table.h"

namespace foretell::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Columns of a table's first name, and of a second one.
constexpr std::size_t kNameColumns = 21;
constexpr std::size_t kPlaceColumns = 28;

std::string Mebibytes(const Json& number) {
  return FormatSignificant(number.get<double>());
}

std::string ChangeOf(const Json& recorded, const Json& predicted) {
  const double change = predicted.get<double>() - recorded.get<double>();
  if (change == 0) return "";
  return (change > 0 ? "+" : "-") + FormatSignificant(std::abs(change));
}

std::string CellOf(const Json& name, std::size_t columns) {
  return Shortened(Printable(name.get<std::string>()), columns);
}

/// What was recorded, and when it was at its peak.
std::string RecordLines(const Json& recorded) {
  std::string text =
      fmt::format("snapshot   {}, GPU {}, {} recorded\n",
                  Printable(recorded["file"].get<std::string>()),
                  recorded["gpu"].get<std::int64_t>(),
                  Counted(recorded["entries"].get<std::int64_t>(), "event"));
  if (!recorded["peak_entry"].is_null()) {
    const std::string place = recorded["peak_place"].get<std::string>();
    text += fmt::format("  peak     at entry {}, {}{}{}\n",
                        recorded["peak_entry"].get<std::int64_t>(),
                        recorded["peak_origin"].get<std::string>(),
                        place.empty() ? "" : ": ", place);
  }
  const Json& shortage = recorded["shortage"];
  if (!shortage.is_null()) {
    text += fmt::format(
        "  OUT OF MEMORY at entry {}: {} MiB requested, {} MiB free\n",
        shortage["entry"].get<std::int64_t>(),
        Mebibytes(shortage["requested_mib"]), Mebibytes(shortage["free_mib"]));
  }
  text += fmt::format(
      "  at the end {} of {} MiB in segments in use, {} MiB in free segments\n",
      Counted(recorded["split_blocks"].get<std::int64_t>(), "free block"),
      Mebibytes(recorded["split_mib"]),
      Mebibytes(recorded["free_segments_mib"]));
  return text;
}

std::string FigureTable(const Json& figures) {
  TextTable table({"MiB", "snapshot", "predicted", "change"});
  for (const Json& row : figures) {
    table.AddRow({row["name"].get<std::string>(), Mebibytes(row["snapshot"]),
                  Mebibytes(row["predicted"]),
                  ChangeOf(row["snapshot"], row["predicted"])});
  }
  return table.ToString();
}

std::string ModuleTable(const Json& modules, std::size_t most) {
  TextTable table(
      {"MiB alive at peak", "allocated at", "snapshot", "predicted", "change"});
  const std::size_t shown = std::min(most, modules.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const Json& row = modules[i];
    table.AddRow({CellOf(row["module"], kNameColumns),
                  CellOf(row["place"], kPlaceColumns),
                  Mebibytes(row["snapshot_mib"]),
                  Mebibytes(row["predicted_mib"]),
                  ChangeOf(row["snapshot_mib"], row["predicted_mib"])});
  }
  return table.ToString() + RowsLeftOut(modules.size() - shown, "module");
}

/// Rows of one side of "unmatched"; `fields` are put behind the sizes.
std::string UnmatchedTable(const std::string& title, const Json& rows,
                           const std::vector<const char*>& fields,
                           std::size_t most) {
  if (rows.empty()) return "";
  TextTable table({title, "times", "MiB each"});
  const std::size_t shown = std::min(most, rows.size());
  for (std::size_t i = 0; i < shown; ++i) {
    std::string name;
    for (const char* field : fields) {
      if (!name.empty()) name += " ";
      name += Printable(rows[i][field].get<std::string>());
    }
    table.AddRow({Shortened(name, kNameColumns + kPlaceColumns),
                  fmt::format("{}", rows[i]["count"].get<std::int64_t>()),
                  Mebibytes(rows[i]["mib"])});
  }
  return "\n" + table.ToString() + RowsLeftOut(rows.size() - shown, "kind");
}

}  // namespace

std::string FormatSnapshotDifference(const Json& difference, std::size_t most) {
  const Json& unmatched = difference["unmatched"];
  return RecordLines(difference["snapshot"]) +
         FormatSettings("predicted", difference["prediction"]) + "\n" +
         FigureTable(difference["figures"]) + "\n" +
         ModuleTable(difference["modules"], most) +
         UnmatchedTable("only in the snapshot", unmatched["snapshot"],
                        {"origin", "place"}, most) +
         UnmatchedTable("only predicted", unmatched["predicted"],
                        {"role", "module", "type"}, most);
}

}  // namespace foretell::cli
