// Damage is looked for on four levels, the lowest first, since each relies on
// the one below: the pages (SQLite's own integrity_check, which also
// compares indices with tables and types with STRICT columns), the schema (is
// it whole?), every row's checksum, and what rows mean (references, decodable
// graphs). A flipped byte is found by one of them unless
// it is in unused space.

#include <algorithm>
#include <utility>

#include "datasets/store/rows.h"
#include "datasets/store/schema.h"
#include "datasets/store/store.h"
#include "foretell/error.h"
#include "foretell/graph_io.h"

namespace foretell {
namespace {

using dataset::DamageOf;
using dataset::Integer;
using dataset::Row;
using dataset::Text;

class Checker {
 public:
  explicit Checker(Dataset& dataset)
      : dataset_(dataset),
        connection_(dataset::StoreOf(dataset).connection()) {}

  std::vector<Damage> Run() {
    Guarded("file", [this] { CheckPages(); });
    Guarded("schema", [this] { CheckSchema(); });
    for (const dataset::Table* table : dataset::kTables) {
      if (!HasTable(connection_, *table)) continue;
      Guarded(table->name, [this, table] { CheckRows(*table); });
    }
    Guarded("file", [this] { CheckReferences(); });
    return std::move(damage_);
  }

 private:
  template <typename Check>
  void Guarded(std::string_view where, Check check) {
    try {
      check();
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kIo) throw;
      damage_.push_back(DamageOf(connection_.path(), where, 0, error));
    }
  }

  void CheckPages() {
    for (const Row& row : connection_.All("PRAGMA integrity_check")) {
      const auto& text = Text(row.at(0));
      if (text != "ok") damage_.push_back({"file", 0, text});
    }
  }

  /// Statements that are present are ours, or the file would not be open.
  void CheckSchema() {
    std::vector<std::string> found;
    for (const Row& row :
         connection_.All("SELECT sql FROM sqlite_schema WHERE sql NOT NULL")) {
      found.push_back(Text(row.at(0)));
    }
    for (const std::string& sql : dataset::SchemaSql()) {
      const bool is_newer = sql == CreateSql(dataset::kRunGraphs) &&
                            !HasTable(connection_, dataset::kRunGraphs);
      if (is_newer || std::ranges::find(found, sql) != found.end()) continue;
      damage_.push_back({"schema", 0, "missing: " + sql});
    }
  }

  void CheckRows(const dataset::Table& table) {
    ForEachGoodRow(
        connection_, table, [&](const Row& row) { CheckMeaning(table, row); },
        [this](const Damage& damage) { damage_.push_back(damage); });
  }

  /// Checks a row beyond its types: graphs decode, words are known.
  void CheckMeaning(const dataset::Table& table, const Row& row) {
    const RowId id = Integer(row.front());
    try {
      if (&table == &dataset::kGraphs) {
        dataset_.Features(id);
        dataset_.Graph(id);
      } else if (&table == &dataset::kPoints) {
        dataset::PointOf(connection_, row);
      } else if (&table == &dataset::kRunGraphs) {
        dataset::RunGraphOf(row);
      } else if (&table == &dataset::kLabels) {
        dataset::LabelOf(connection_, row, "{}");
      }
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kUnsupported) return;
      damage_.push_back(DamageOf(connection_.path(), table.name, id, error));
    }
  }

  void CheckReferences() {
    for (const Row& row : connection_.All("PRAGMA foreign_key_check")) {
      damage_.push_back({Text(row.at(0)), Integer(row.at(1)),
                         "refers to a missing row of " + Text(row.at(2))});
    }
  }

  Dataset& dataset_;
  dataset::Connection& connection_;
  std::vector<Damage> damage_;
};

}  // namespace

std::vector<Damage> CheckDataset(const std::string& path) {
  try {
    Dataset dataset = Dataset::OpenDamaged(path);
    return Checker(dataset).Run();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kCorrupt) throw;
    return {DamageOf(path, "file", 0, error)};
  }
}

}  // namespace foretell
