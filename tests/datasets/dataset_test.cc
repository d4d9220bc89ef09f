#include "foretell/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <string>

#include "datasets/store/schema.h"
#include "datasets/store/store.h"
#include "expect_error.h"
#include "foretell/graph_io.h"
#include "scratch.h"
#include "toy.h"

namespace foretell {
namespace {

using dataset::Row;
using dataset_test::ExpectError;
using dataset_test::Scratch;
using dataset_test::ToyGraph;
using dataset_test::ToyLabel;
using dataset_test::ToyPoint;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

class DatasetTest : public testing::Test {
 protected:
  std::int64_t Count(const std::string& table) {
    return dataset::StoreOf(dataset_).connection().Integer(
        "SELECT count(*) FROM " + table);
  }

  Scratch scratch_;
  std::string path_ = scratch_ / "d.sqlite";
  Dataset dataset_ = Dataset::OpenOrCreate(path_);
};

TEST_F(DatasetTest, GivesBackWhatWasStored) {
  EXPECT_TRUE(dataset_.AddTraced(ToyPoint("toy", 4), ToyGraph(4), "a warning"));
  const Dataset read = Dataset::Open(path_);
  const std::vector<StoredPoint> points = read.Points();
  ASSERT_EQ(points.size(), 1U);
  EXPECT_EQ(points[0].point, ToyPoint("toy", 4));
  EXPECT_EQ(points[0].status, PointStatus::kTraced);
  EXPECT_EQ(points[0].warnings, "a warning");
  EXPECT_EQ(points[0].attempts, 1);
  const GraphFeatures expected = ExtractFeatures(ToyGraph(4));
  const GraphFeatures features = read.Features(points[0].graph);
  EXPECT_EQ(features.nodes, expected.nodes);
  EXPECT_EQ(features.targets, expected.targets);
  EXPECT_EQ(features.statics, expected.statics);
  const GraphTextOptions timeline{.with_timeline = true};
  EXPECT_EQ(PrintGraph(read.Graph(points[0].graph), timeline),
            PrintGraph(ToyGraph(4), timeline));
}

TEST_F(DatasetTest, SaysWhatItIs) {
  EXPECT_THAT(dataset_.Metadata(),
              testing::Contains(Pair("feature_version", "1")));
  std::ifstream file(path_, std::ios::binary);
  std::string header(72, '\0');
  file.read(header.data(), 72);
  EXPECT_EQ(header.substr(0, 15), "SQLite format 3");
  EXPECT_EQ(header.substr(68, 4), "FTDS");
}

TEST_F(DatasetTest, StoresAPointOnce) {
  EXPECT_TRUE(dataset_.AddTraced(ToyPoint(), ToyGraph()));
  EXPECT_FALSE(dataset_.AddTraced(ToyPoint(), ToyGraph(2)));
  EXPECT_EQ(dataset_.NumPoints(), 1);
  EXPECT_EQ(Count("graphs"), 1);
}

TEST_F(DatasetTest, TellsPointsApartByWhatIdentifiesThem) {
  Point point = ToyPoint();
  dataset_.AddTraced(point, ToyGraph());
  point.mode = Mode::kTraining;
  point.optimizer = "sgd";
  EXPECT_TRUE(dataset_.AddTraced(point, ToyGraph()));
  point.optimizer = "adam";
  EXPECT_TRUE(dataset_.AddTraced(point, ToyGraph()));
  point.precision = Precision::kFp16;
  EXPECT_TRUE(dataset_.AddTraced(point, ToyGraph()));
  point.batch = 2;
  EXPECT_TRUE(dataset_.AddTraced(point, ToyGraph()));
  EXPECT_EQ(dataset_.NumPoints(), 5);
  EXPECT_EQ(Count("graphs"), 1) << "one content is stored once";
}

TEST_F(DatasetTest, SharesTheEdgesOfBatchSiblings) {
  dataset_.AddTraced(ToyPoint("toy", 1), ToyGraph(1));
  dataset_.AddTraced(ToyPoint("toy", 8), ToyGraph(8));
  EXPECT_EQ(Count("graphs"), 2);
  EXPECT_EQ(Count("blobs WHERE kind = 'edges'"), 1);
  EXPECT_EQ(Count("blobs WHERE kind = 'nodes'"), 2);
}

TEST_F(DatasetTest, CountsFailuresUntilThePointIsTraced) {
  dataset_.AddFailure(ToyPoint(), "first");
  dataset_.AddFailure(ToyPoint(), "second");
  StoredPoint stored = *dataset_.Find(ToyPoint());
  EXPECT_EQ(stored.status, PointStatus::kFailed);
  EXPECT_EQ(stored.attempts, 2);
  EXPECT_EQ(stored.reason, "second");
  EXPECT_TRUE(dataset_.AddTraced(ToyPoint(), ToyGraph()));
  stored = *dataset_.Find(ToyPoint());
  EXPECT_EQ(stored.status, PointStatus::kTraced);
  EXPECT_EQ(stored.attempts, 3);
  EXPECT_EQ(stored.reason, "");
  dataset_.AddFailure(ToyPoint(), "late");
  EXPECT_EQ(dataset_.Find(ToyPoint())->status, PointStatus::kTraced);
}

TEST_F(DatasetTest, KeepsEveryFieldOfALabel) {
  const RowId point = dataset_.AddUntraced(ToyPoint());
  const Label label{.point = point,
                    .device = "a100",
                    .setting = R"({"cuda":"12.4"})",
                    .source = "somebody",
                    .provenance = Provenance::kImported,
                    .status = LabelStatus::kOutOfMemory,
                    .memory_mib = 1,
                    .allocated_mib = 2,
                    .reserved_mib = 3,
                    .latency_ms = 4.5,
                    .energy_j = std::nullopt,
                    .details = R"({"p5":4})",
                    .measured_at = "2026-01-31T12:00:00Z",
                    .attempts = 2,
                    .reason = "too large"};
  dataset_.PutLabel(label);
  EXPECT_THAT(Dataset::Open(path_).Labels(), ElementsAre(label));
}

TEST_F(DatasetTest, ReplacesALabelOfTheSameSourceAndEnvironment) {
  const RowId point = dataset_.AddUntraced(ToyPoint());
  Label label = ToyLabel(point, 1.0);
  dataset_.PutLabel(label);
  label.latency_ms = 2.0;
  dataset_.PutLabel(label);
  EXPECT_THAT(dataset_.LabelsOf(point), ElementsAre(label));
  Label other = label;
  other.setting = R"({"driver":"580"})";
  dataset_.PutLabel(other);
  EXPECT_THAT(dataset_.LabelsOf(point), ElementsAre(label, other));
}

TEST_F(DatasetTest, TakesEnvironmentsThatDifferInSpellingOnlyAsOne) {
  const RowId point = dataset_.AddUntraced(ToyPoint());
  Label label = ToyLabel(point, 1.0);
  label.setting = R"({ "b": 1, "a": 2 })";
  dataset_.PutLabel(label);
  label.setting = R"({"a":2,"b":1})";
  dataset_.PutLabel(label);
  EXPECT_EQ(Count("environments"), 1);
  EXPECT_EQ(Count("labels"), 1);
}

TEST_F(DatasetTest, RefusesLabelsThatMakeNoSense) {
  const RowId point = dataset_.AddUntraced(ToyPoint());
  ExpectError(ErrorCode::kInvalidArgument, "point 99",
              [&] { dataset_.PutLabel(ToyLabel(99, 1.0)); });
  ExpectError(ErrorCode::kInvalidArgument, "latency_ms is -1",
              [&] { dataset_.PutLabel(ToyLabel(point, -1.0)); });
  ExpectError(ErrorCode::kInvalidArgument, "latency_ms is inf", [&] {
    dataset_.PutLabel(ToyLabel(point, std::numeric_limits<double>::infinity()));
  });
  Label label = ToyLabel(point, 1.0);
  label.setting = "[1]";
  ExpectError(ErrorCode::kInvalidArgument, "'[1]' is not a JSON object",
              [&] { dataset_.PutLabel(label); });
  EXPECT_THAT(dataset_.Labels(), IsEmpty());
}

TEST_F(DatasetTest, RefusesJsonThatWouldFillTheStack) {
  Label label = ToyLabel(dataset_.AddUntraced(ToyPoint()), 1.0);
  label.details = R"({"a":)" + std::string(1'000'000, '[') +
                  std::string(1'000'000, ']') + "}";
  ExpectError(ErrorCode::kCorrupt, "label: details: nested deeper than 16",
              [&] { dataset_.PutLabel(label); });
  std::swap(label.details, label.setting);
  ExpectError(ErrorCode::kCorrupt, "label: environment: nested deeper than 16",
              [&] { dataset_.PutLabel(label); });
}

TEST_F(DatasetTest, RefusesFiguresThatNoneCanBeWhateverTheirChecksum) {
  dataset_.PutLabel(ToyLabel(dataset_.AddUntraced(ToyPoint()), 1.0));
  dataset::Connection& connection = dataset::StoreOf(dataset_).connection();
  for (const std::string value : {"-1.0", "9e999"}) {
    connection.Run("UPDATE labels SET latency_ms = " + value);
    connection.Run(
        "UPDATE labels SET crc = row_crc(id, point, device, environment, "
        "source, provenance, status, memory_mib, allocated_mib, reserved_mib, "
        "latency_ms, energy_j, details, measured_at, attempts, reason)");
    ExpectError(ErrorCode::kCorrupt, "labels row 1: latency_ms is ",
                [&] { dataset_.Labels(); });
    EXPECT_EQ(CheckDataset(path_).size(), 1U);
  }
}

TEST_F(DatasetTest, RemovesFailuresOfOneDeviceAndSource) {
  const RowId point = dataset_.AddUntraced(ToyPoint());
  Label label = ToyLabel(point, 1.0);
  dataset_.PutLabel(label);
  Label failed = label;
  failed.status = LabelStatus::kFailed;
  failed.setting = R"({"driver":"580"})";
  dataset_.PutLabel(failed);
  Label elsewhere = failed;
  elsewhere.device = "other";
  dataset_.PutLabel(elsewhere);
  dataset_.RemoveFailures(point, "gpu", "test");
  EXPECT_THAT(dataset_.Labels(), UnorderedElementsAre(label, elsewhere));
}

TEST_F(DatasetTest, ReplacesASplitOfTheSameName) {
  const RowId a = dataset_.AddUntraced(ToyPoint("a"));
  const RowId b = dataset_.AddUntraced(ToyPoint("b"));
  dataset_.PutSplit("s", "random", 7, {{a, "train"}, {b, "test"}});
  dataset_.PutSplit("s", "random", 8, {{a, "test"}});
  EXPECT_THAT(dataset_.SplitNames(), ElementsAre("s"));
  EXPECT_THAT(dataset_.Split("s"), ElementsAre(Pair(a, "test")));
  ExpectError(ErrorCode::kNotFound, "no split 'x'; there are: s",
              [&] { dataset_.Split("x"); });
}

TEST_F(DatasetTest, UndoesABatchThatIsNotCommitted) {
  {
    Dataset::Batch batch(dataset_);
    dataset_.AddTraced(ToyPoint("a"), ToyGraph());
    batch.Commit();
  }
  {
    Dataset::Batch batch(dataset_);
    dataset_.AddTraced(ToyPoint("b"), ToyGraph());
  }
  EXPECT_EQ(dataset_.NumPoints(), 1);
  EXPECT_TRUE(dataset_.Find(ToyPoint("a")).has_value());
}

TEST_F(DatasetTest, DoesNotWriteWhenOpenedForReading) {
  Dataset read = Dataset::Open(path_);
  ExpectError(ErrorCode::kIo, "d.sqlite",
              [&] { read.AddTraced(ToyPoint(), ToyGraph()); });
}

TEST_F(DatasetTest, UnpacksNoMoreFeaturesThanTheGraphHas) {
  dataset_.AddTraced(ToyPoint(), ToyGraph());
  dataset_.Features(1);
  dataset::StoreOf(dataset_).connection().Run(
      "UPDATE blobs SET raw_bytes = 12800, crc = row_crc(id, kind, hash, "
      "12800, "
      "data) WHERE kind = 'nodes'");
  ExpectError(ErrorCode::kCorrupt,
              "graphs row 1: nodes has 12800 bytes, expected 2 times 128",
              [&] { dataset_.Features(1); });
}

TEST_F(DatasetTest, RefusesFeaturesOfAnotherVersion) {
  dataset_.AddTraced(ToyPoint(), ToyGraph());
  dataset::StoreOf(dataset_).connection().Run(
      "UPDATE metadata SET value = '99', crc = row_crc(id, key, '99') "
      "WHERE key = 'feature_version'");
  Dataset again = Dataset::OpenForWriting(path_);
  ExpectError(ErrorCode::kUnsupported, "version 99",
              [&] { again.Features(1); });
  ExpectError(ErrorCode::kUnsupported, "version 99",
              [&] { again.AddTraced(ToyPoint("b"), ToyGraph()); });
}

TEST(Dataset, OpensNothingThatIsNotADataset) {
  const Scratch scratch;
  ExpectError(ErrorCode::kNotFound, "missing.sqlite: no such dataset",
              [&] { Dataset::Open(scratch / "missing.sqlite"); });
  const std::string text = scratch / "text";
  std::ofstream(text) << std::string(5000, 'x');
  ExpectError(ErrorCode::kCorrupt, text, [&] { Dataset::Open(text); });
  ExpectError(ErrorCode::kCorrupt, text, [&] { Dataset::OpenOrCreate(text); });
  const std::string other = scratch / "other.sqlite";
  dataset::Connection(other, dataset::Access::kCreate)
      .Run("CREATE TABLE points (id INTEGER)");
  ExpectError(ErrorCode::kCorrupt, "not a dataset",
              [&] { Dataset::OpenOrCreate(other); });
}

TEST(Dataset, RefusesANewerSchema) {
  const Scratch scratch;
  const std::string path = scratch / "d.sqlite";
  dataset::StoreOf(Dataset::OpenOrCreate(path))
      .connection()
      .Run("PRAGMA user_version=3");
  ExpectError(ErrorCode::kUnsupported, "schema version 3",
              [&] { Dataset::Open(path); });
}

TEST(Dataset, TakesNoMeaningFromSpecialFileNames) {
  const Scratch scratch;
  std::filesystem::current_path(scratch / "");
  Dataset::OpenOrCreate(":memory:").AddUntraced(ToyPoint());
  EXPECT_EQ(Dataset::Open(":memory:").NumPoints(), 1);
}

TEST(Documentation, NamesEveryTableAndColumn) {
  std::ifstream file(FORETELL_SOURCE_DIR "/docs/dataset.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  for (const dataset::Table* table : dataset::kTables) {
    const auto quoted = [](std::string_view name) {
      return "`" + std::string(name) + "`";
    };
    EXPECT_THAT(text, HasSubstr(quoted(table->name)));
    for (const dataset::Column& column : table->columns) {
      EXPECT_THAT(text, HasSubstr(quoted(column.name))) << table->name;
    }
  }
}

TEST(CheckDataset, FindsNothingInASoundFile) {
  const Scratch scratch;
  const std::string path = scratch / "d.sqlite";
  Dataset dataset = Dataset::OpenOrCreate(path);
  dataset.AddTraced(ToyPoint(), ToyGraph());
  dataset.PutLabel(ToyLabel(1, 3.0));
  dataset.PutSplit("s", "random", 7, {{1, "train"}});
  EXPECT_THAT(CheckDataset(path), IsEmpty());
}

TEST(CheckDataset, NamesTheRowThatSomebodyChanged) {
  const Scratch scratch;
  const std::string path = scratch / "d.sqlite";
  Dataset dataset = Dataset::OpenOrCreate(path);
  const RowId point = dataset.AddUntraced(ToyPoint());
  dataset.PutLabel(ToyLabel(point, 3.0));
  dataset::StoreOf(dataset).connection().Run(
      "UPDATE labels SET latency_ms = 30.0");
  const std::vector<Damage> damage = CheckDataset(path);
  ASSERT_EQ(damage.size(), 1U);
  EXPECT_EQ(ToString(damage[0]), "labels row 1: the checksum does not match");
  ExpectError(ErrorCode::kCorrupt, "labels row 1",
              [&] { Dataset::Open(path).Labels(); });
}

/// Writes `sql` into a table, with the checksums that its rows have then.
void ChangeSoundly(Dataset& dataset, const dataset::Table& table,
                   const std::string& sql) {
  dataset::Connection& connection = dataset::StoreOf(dataset).connection();
  connection.Run(sql);
  for (Row row : connection.All(SelectSql(table, ""))) {
    row.pop_back();
    connection.Run(UpdateSql(table), row);
  }
}

TEST(CheckDataset, NamesPathAndRowOnce) {
  const Scratch scratch;
  const std::string path = scratch / "d.sqlite";
  Dataset dataset = Dataset::OpenOrCreate(path);
  dataset.AddTraced(ToyPoint(), ToyGraph());
  ChangeSoundly(dataset, dataset::kPoints, "UPDATE points SET mode = 'odd'");
  ChangeSoundly(dataset, dataset::kGraphs, "UPDATE graphs SET num_nodes = 3");
  const std::vector<Damage> damage = CheckDataset(path);
  ASSERT_EQ(damage.size(), 2U);
  EXPECT_EQ(ToString(damage[0]),
            "graphs row 1: nodes has 256 bytes, expected 3 times 128");
  EXPECT_EQ(ToString(damage[1]), "points row 1: unknown word 'odd'");
}

TEST(CheckDataset, NamesFeaturesAndLabelsThatAreNotFinite) {
  const Scratch scratch;
  const std::string path = scratch / "d.sqlite";
  Dataset dataset = Dataset::OpenOrCreate(path);
  std::vector<NodeFeatureRow> nodes = ExtractFeatures(ToyGraph()).nodes;
  nodes[1][0] = std::numeric_limits<float>::quiet_NaN();
  dataset::PackedGraph packed = dataset::PackGraph(ToyGraph());
  packed.nodes = dataset::Pack(dataset::EncodeNodes(nodes));
  dataset::StoreOf(dataset).AddPacked(ToyPoint(), packed, "");
  dataset.PutLabel(ToyLabel(1, 3.0));
  ChangeSoundly(dataset, dataset::kLabels,
                "UPDATE labels SET energy_j = 9e999");
  const std::vector<Damage> damage = CheckDataset(path);
  ASSERT_EQ(damage.size(), 2U);
  EXPECT_EQ(ToString(damage[0]),
            "graphs row 1: nodes: node 1: is_convolution is nan, expected a "
            "finite number");
  EXPECT_EQ(ToString(damage[1]),
            "labels row 1: energy_j is inf, expected a finite number "
            ">= 0");
}

TEST(CheckDataset, NamesABrokenReference) {
  const Scratch scratch;
  const std::string path = scratch / "d.sqlite";
  Dataset dataset = Dataset::OpenOrCreate(path);
  dataset.AddTraced(ToyPoint(), ToyGraph());
  dataset::StoreOf(dataset).connection().Run("PRAGMA foreign_keys=OFF");
  dataset::StoreOf(dataset).connection().Run(
      "DELETE FROM blobs WHERE kind = 'text'");
  std::string all;
  for (const Damage& damage : CheckDataset(path))
    all += ToString(damage) + "\n";
  EXPECT_THAT(all, HasSubstr("graphs row 1: refers to a missing row of blobs"));
}

constexpr char kAutocast[] = R"({"autocast":"true"})";

TEST_F(DatasetTest, KeepsAGraphPerRun) {
  dataset_.AddTraced(ToyPoint("toy"), ToyGraph());
  EXPECT_TRUE(dataset_.AddRunGraph(1, kAutocast, ToyGraph(2), "careful"));
  EXPECT_FALSE(dataset_.AddRunGraph(1, kAutocast, ToyGraph(3)));
  dataset_.AddRunFailure(1, kAutocast, "too late");
  dataset_.AddRunFailure(1, "another", "no");
  dataset_.AddRunFailure(1, "another", "again");
  const std::vector<RunGraph> graphs = Dataset::Open(path_).RunGraphs();
  EXPECT_THAT(graphs, ElementsAre(RunGraph{.id = 1,
                                           .point = 1,
                                           .run = kAutocast,
                                           .graph = 2,
                                           .attempts = 1,
                                           .reason = "",
                                           .warnings = "careful"},
                                  RunGraph{.id = 2,
                                           .point = 1,
                                           .run = "another",
                                           .graph = 0,
                                           .attempts = 2,
                                           .reason = "again",
                                           .warnings = ""}));
  EXPECT_EQ(dataset_.Graph(2).info().batch, 2);
  EXPECT_THAT(CheckDataset(path_), IsEmpty());
}

/// Makes the file what foretell wrote before graphs of runs.
void MakeVersion1(Dataset& dataset) {
  dataset::Connection& connection = dataset::StoreOf(dataset).connection();
  connection.Run("DROP TABLE run_graphs");
  connection.Run("PRAGMA user_version=1");
}

TEST_F(DatasetTest, ReadsTheVersionWithoutGraphsOfRuns) {
  dataset_.AddTraced(ToyPoint("toy"), ToyGraph());
  MakeVersion1(dataset_);
  const Dataset read = Dataset::Open(path_);
  EXPECT_EQ(read.NumPoints(), 1);
  EXPECT_THAT(read.RunGraphs(), IsEmpty());
  EXPECT_THAT(CheckDataset(path_), IsEmpty());
}

TEST_F(DatasetTest, BringsTheVersionWithoutGraphsOfRunsUpToDate) {
  dataset_.AddTraced(ToyPoint("toy"), ToyGraph());
  MakeVersion1(dataset_);
  Dataset written = Dataset::OpenForWriting(path_);
  EXPECT_TRUE(written.AddRunGraph(1, kAutocast, ToyGraph(2)));
  EXPECT_EQ(Dataset::Open(path_).RunGraphs().size(), 1U);
  EXPECT_EQ(Dataset::OpenOrCreate(path_).NumPoints(), 1);
  EXPECT_THAT(CheckDataset(path_), IsEmpty());
}

}  // namespace
}  // namespace foretell
