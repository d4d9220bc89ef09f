#include "datasets/views/export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "datasets/views/npz.h"
#include "expect_error.h"
#include "foretell/dataset.h"
#include "scratch.h"
#include "toy.h"

namespace foretell::dataset {
namespace {

using dataset_test::ExpectError;
using dataset_test::Scratch;
using dataset_test::ToyGraph;
using dataset_test::ToyLabel;
using dataset_test::ToyPoint;
using testing::HasSubstr;
using testing::StartsWith;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(NpyArray, HasAnAlignedHeaderAndItsValues) {
  const std::vector<std::int64_t> values = {1, 2, 3, 4, 5, 6};
  const std::string bytes = NpyArray::Of(values, {2, 3}).bytes();
  EXPECT_THAT(bytes, StartsWith(std::string("\x93NUMPY\x01\x00", 8)));
  EXPECT_THAT(bytes, HasSubstr("'descr': '<i8'"));
  EXPECT_THAT(bytes, HasSubstr("'shape': (2,3,)"));
  EXPECT_EQ(bytes.size() % 64, 6U * 8);
  EXPECT_EQ(bytes[bytes.size() - 8], 6);
}

TEST(WriteNpz, IsTheSameFileForTheSameArrays) {
  const Scratch scratch;
  const std::vector<float> values = {1, 2};
  for (const char* name : {"a.npz", "b.npz"}) {
    WriteNpz(scratch / name, {{"x", NpyArray::Of(values, {2})}});
  }
  EXPECT_EQ(ReadFile(scratch / "a.npz"), ReadFile(scratch / "b.npz"));
}

TEST(WriteNpz, LeavesNothingBehindWhereItCannotWrite) {
  const Scratch scratch;
  ExpectError(ErrorCode::kIo, "missing/a.npz: cannot be created",
              [&] { WriteNpz(scratch / "missing/a.npz", {}); });
  EXPECT_TRUE(std::filesystem::is_empty(scratch / ""));
}

TEST(ExportDataset, WritesTablesAndArrays) {
  const Scratch scratch;
  Dataset dataset = Dataset::OpenOrCreate(scratch / "d.sqlite");
  for (const std::int64_t batch : {1, 2, 4}) {
    dataset.AddTraced(ToyPoint("toy", batch), ToyGraph(batch));
  }
  dataset.AddFailure(ToyPoint("bad"), "no");
  Label label = ToyLabel(2, 7.5);
  label.setting = R"({"driver":"580"})";
  dataset.PutLabel(label);
  dataset.PutSplit("random-0", "random", 0, {{1, "train"}, {3, "test"}});
  EXPECT_EQ(ExportDataset(dataset, scratch / "out", {.graphs_per_file = 2}), 3);
  const std::string points = ReadFile(scratch / "out/points.csv");
  EXPECT_THAT(points, StartsWith("point,model,family,"));
  EXPECT_THAT(points, HasSubstr(",split:random-0\n"));
  EXPECT_THAT(points, HasSubstr("\n1,toy,toy,zoo,1,inference,fp32,,8,2,1,108,"
                                "6912,1,0,1,train\n"));
  EXPECT_THAT(points, HasSubstr("27648,1,0,1,test\n"));
  EXPECT_THAT(ReadFile(scratch / "out/labels.csv"),
              HasSubstr("\n2,gpu,test,measured,ok,,,,7.5,,,\"{\"\"driver\"\":"
                        "\"\"580\"\"}\",\n"));
  EXPECT_TRUE(std::filesystem::exists(scratch / "out/graphs-00001.npz"));
  EXPECT_FALSE(std::filesystem::exists(scratch / "out/graphs-00002.npz"));
}

}  // namespace
}  // namespace foretell::dataset
