#include "datasets/collect/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "expect_error.h"
#include "scratch.h"
#include "toy.h"

namespace foretell::dataset {
namespace {

using dataset_test::ExpectError;
using dataset_test::Scratch;
using dataset_test::ToyPoint;
using testing::ElementsAre;

TEST(ParseShard, TakesIndexAndCount) {
  const Shard shard = ParseShard("2/8");
  EXPECT_EQ(shard.index, 2);
  EXPECT_EQ(shard.count, 8);
}

TEST(ParseShard, RefusesAnythingElse) {
  for (const std::string text : {"", "2", "0/8", "9/8", "1/0", "a/b", "1/8x"}) {
    ExpectError(ErrorCode::kInvalidArgument, "shard '" + text + "'",
                [&text] { ParseShard(text); });
  }
}

TEST(TakeShard, DealsModelsOutWithAllTheirBatches) {
  std::vector<Point> points;
  for (const char* model : {"a", "b", "c", "d", "e"}) {
    for (const std::int64_t batch : {1, 8}) {
      points.push_back(ToyPoint(model, batch));
    }
  }
  const auto names = [&points](Shard shard) {
    std::string text;
    for (const Point& point : TakeShard(points, shard)) text += point.model;
    return text;
  };
  EXPECT_EQ(names({1, 2}), "aaccee");
  EXPECT_EQ(names({2, 2}), "bbdd");
  EXPECT_EQ(names({1, 1}), "aabbccddee");
}

TEST(PlanFiles, TakesEveryFileAtEveryBatch) {
  const std::string files[] = {"models/resnet50_v2.onnx", "models/vgg.pt"};
  const std::vector<Point> points =
      PlanFiles(files, {.batches = {1, 8},
                        .mode = Mode::kTraining,
                        .precision = Precision::kFp16,
                        .optimizer = "adam",
                        .dims = {}});
  ASSERT_EQ(points.size(), 4U);
  EXPECT_EQ(points[0].model, "resnet50_v2");
  EXPECT_EQ(points[0].family, "resnet");
  EXPECT_EQ(points[0].path, "models/resnet50_v2.onnx");
  EXPECT_EQ(points[1].batch, 8);
  EXPECT_EQ(points[2].model, "vgg");
  EXPECT_EQ(points[2].mode, Mode::kTraining);
  EXPECT_EQ(points[2].optimizer, "adam");
  EXPECT_EQ(points[2].precision, Precision::kFp16);
}

TEST(PlanFiles, MakesNamedSizesPartOfTheName) {
  const std::string files[] = {"bert.onnx"};
  const std::vector<Point> points =
      PlanFiles(files, {.dims = {"seq=128", "heads=2"}});
  EXPECT_EQ(points.at(0).model, "bert?seq=128&heads=2");
}

TEST(PlanFiles, RefusesTwoFilesOfOneName) {
  const std::string files[] = {"a/net.onnx", "b/net.pt"};
  ExpectError(ErrorCode::kInvalidArgument, "b/net.pt: has the same name as a/",
              [&files] { PlanFiles(files, {}); });
}

TEST(PlanFiles, TakesTheBatchesOfATable) {
  const Scratch scratch;
  const std::string table = scratch / "t.csv";
  std::ofstream(table) << "model,batch,x\nvgg,64,1\nvgg,8,1\nvgg,8,2\nother,1,"
                          "1\n";
  const std::string files[] = {"resnet.onnx", "vgg.onnx"};
  const std::vector<Point> points =
      PlanFiles(files, {.batches_of = ReadBatches(table)});
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(ToString(points[0]), "vgg batch=8 inference fp32");
  EXPECT_EQ(ToString(points[1]), "vgg batch=64 inference fp32");
}

TEST(ReadBatches, NamesABadCell) {
  const Scratch scratch;
  const std::string table = scratch / "t.csv";
  std::ofstream(table) << "model,batch\nvgg,many\n";
  ExpectError(ErrorCode::kCorrupt, "line 2: batch 'many'",
              [&table] { ReadBatches(table); });
}

TEST(FindModelFiles, LooksIntoFoldersAndSorts) {
  const Scratch scratch;
  std::filesystem::create_directories(scratch / "models/deep");
  for (const char* name : {"models/b.onnx", "models/deep/a.pt",
                           "models/readme.txt", "models/c.torchscript"}) {
    std::ofstream(scratch / name) << "x";
  }
  const std::string paths[] = {scratch / "models", scratch / "models/b.onnx"};
  EXPECT_THAT(
      FindModelFiles(paths),
      ElementsAre(scratch / "models/b.onnx", scratch / "models/c.torchscript",
                  scratch / "models/deep/a.pt"));
}

TEST(FindModelFiles, SaysWhatIsMissing) {
  const Scratch scratch;
  const std::string nothing[] = {scratch / "nothing"};
  ExpectError(ErrorCode::kNotFound, "no such file or folder",
              [&] { FindModelFiles(nothing); });
  const std::string empty[] = {scratch / ""};
  ExpectError(ErrorCode::kNotFound, "no model files",
              [&] { FindModelFiles(empty); });
}

TEST(FamilyOf, IsTheLeadingLetters) {
  EXPECT_EQ(FamilyOf("resnet50_32x4d"), "resnet");
  EXPECT_EQ(FamilyOf("ViT"), "ViT");
  EXPECT_EQ(FamilyOf("3dunet"), "3dunet");
  EXPECT_EQ(FamilyOf(""), "");
}

}  // namespace
}  // namespace foretell::dataset
