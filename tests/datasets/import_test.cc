#include "datasets/collect/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "expect_error.h"
#include "scratch.h"
#include "toy.h"

namespace foretell::dataset {
namespace {

using dataset_test::ExpectError;
using dataset_test::Scratch;
using dataset_test::ToyPoint;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ImportTest : public testing::Test {
 protected:
  ImportTest() {
    for (const std::int64_t batch : {1, 8}) {
      dataset_.AddUntraced(ToyPoint("toy", batch));
    }
    Point training = ToyPoint("toy", 8);
    training.mode = Mode::kTraining;
    for (const char* optimizer : {"sgd", "adam"}) {
      training.optimizer = optimizer;
      dataset_.AddUntraced(training);
    }
  }

  ImportSummary Import(const std::string& table) {
    std::ofstream(path_) << table;
    return ImportLabels(dataset_, path_, options_);
  }

  Scratch scratch_;
  std::string path_ = scratch_ / "t.csv";
  Dataset dataset_ = Dataset::OpenOrCreate(scratch_ / "d.sqlite");
  ImportOptions options_{.source = "survey"};
};

TEST_F(ImportTest, JoinsByModelBatchModePrecisionAndDevice) {
  const ImportSummary summary = Import(
      "device,model,batch,mode,precision,latency_ms\n"
      "A100,toy,8,inference,fp32,12.5\n");
  EXPECT_EQ(summary.joined, 1);
  const std::vector<Label> labels = dataset_.Labels();
  ASSERT_EQ(labels.size(), 1U);
  EXPECT_EQ(labels[0].point, 2);
  EXPECT_EQ(labels[0].device, "A100");
  EXPECT_EQ(labels[0].source, "survey");
  EXPECT_EQ(labels[0].provenance, Provenance::kImported);
  EXPECT_EQ(labels[0].latency_ms, 12.5);
  EXPECT_EQ(labels[0].memory_mib, std::nullopt);
}

TEST_F(ImportTest, CountsEveryRowOnce) {
  options_.where = {{"status", "ok"}};
  const ImportSummary summary = Import(
      "device,model,batch,mode,status,memory_mib\n"
      "gpu,toy,1,inference,ok,100\n"    // joined
      "gpu,toy,1,inference,ok,100\n"    // present
      "gpu,toy,1,inference,ok,101\n"    // conflicting
      "gpu,toy,1,inference,oom,\n"      // filtered
      "gpu,toy,8,inference,ok,\n"       // valueless
      "gpu,toy,64,inference,ok,100\n"   // unmatched
      "gpu,other,1,inference,ok,100\n"  // unmatched
      "gpu,toy,8,training,ok,100\n");   // ambiguous: two optimizers
  EXPECT_EQ(summary.rows, 8);
  EXPECT_EQ(summary.joined, 1);
  EXPECT_EQ(summary.present, 1);
  EXPECT_EQ(summary.conflicting, 1);
  EXPECT_EQ(summary.filtered, 1);
  EXPECT_EQ(summary.valueless, 1);
  EXPECT_EQ(summary.unmatched, 2);
  EXPECT_EQ(summary.ambiguous, 1);
  EXPECT_THAT(
      summary.problems,
      ElementsAre(HasSubstr("line 4"),
                  HasSubstr("batch=64 mode=inference device=gpu: the dataset "
                            "has this model with batch 1"),
                  AllOf(HasSubstr("line 8: model=other"),
                        HasSubstr("the dataset has no such model")),
                  HasSubstr("2 points")));
  EXPECT_EQ(dataset_.Labels().at(0).memory_mib, 100);
}

TEST_F(ImportTest, TranslatesColumnsWordsAndConstants) {
  options_.columns = {{"net", "model"},
                      {"peak_mb", "memory_mib"},
                      {"framework", "environment.framework"},
                      {"power_w", "details.power_w"},
                      {"size", "image_size"}};
  options_.constants = {{"device", "gpu"}, {"optimizer", "adam"}};
  options_.words = {{{"mode", "train"}, "training"},
                    {{"precision", "float"}, "fp32"}};
  options_.canonical_device = [](const std::string& name) {
    return name + "-40gb";
  };
  const ImportSummary summary = Import(
      "net,batch,mode,precision,peak_mb,framework,power_w,size\n"
      "toy,8,train,float,512,keras,250,8\n"
      "toy,8,train,float,512,keras,250,224\n");
  EXPECT_EQ(summary.joined, 1);
  EXPECT_EQ(summary.unmatched, 1) << "another image size is another point";
  const Label label = dataset_.Labels().at(0);
  EXPECT_EQ(label.point, 4);
  EXPECT_EQ(label.device, "gpu-40gb");
  EXPECT_EQ(label.setting, R"({"framework":"keras"})");
  EXPECT_EQ(label.details, R"({"power_w":"250"})");
  EXPECT_EQ(label.memory_mib, 512);
}

TEST_F(ImportTest, CanBeRepeatedAndReplaced) {
  const std::string header = "device,model,batch,mode,latency_ms\n";
  Import(header + "gpu,toy,1,inference,5\n");
  EXPECT_EQ(Import(header + "gpu,toy,1,inference,5\n").present, 1);
  EXPECT_EQ(Import(header + "gpu,toy,1,inference,6\n").conflicting, 1);
  EXPECT_EQ(dataset_.Labels().at(0).latency_ms, 5);
  options_.replace = true;
  EXPECT_EQ(Import(header + "gpu,toy,1,inference,6\n").joined, 1);
  EXPECT_EQ(dataset_.Labels().at(0).latency_ms, 6);
}

TEST_F(ImportTest, TakesAlternativesOfOneColumn) {
  options_.where = {
      {"status", "ok"}, {"status", "fine"}, {"mode", "inference"}};
  const ImportSummary summary = Import(
      "device,model,batch,mode,status,latency_ms\n"
      "gpu,toy,1,inference,ok,1\n"
      "gpu,toy,8,inference,fine,1\n"
      "gpu,toy,1,inference,bad,1\n");
  EXPECT_EQ(summary.joined, 2);
  EXPECT_EQ(summary.filtered, 1);
}

TEST_F(ImportTest, RefusesNonsenseAndLeavesTheDatasetAlone) {
  ExpectError(ErrorCode::kCorrupt, "line 3: latency_ms 'fast' is no number",
              [&] {
                Import(
                    "device,model,batch,mode,latency_ms\n"
                    "gpu,toy,1,inference,5\ngpu,toy,8,inference,fast\n");
              });
  ExpectError(ErrorCode::kCorrupt, "line 2: latency_ms '5\\x0a6' is no number",
              [&] {
                Import(
                    "device,model,batch,mode,latency_ms\n"
                    "gpu,toy,1,inference,\"5\n6\"\n");
              });
  ExpectError(ErrorCode::kInvalidArgument,
              "line 2: the table has no device: no column 'device' "
              "among model, batch, latency_ms; add --map COLUMN=device",
              [&] { Import("model,batch,latency_ms\ntoy,1,5\n"); });
  options_.columns = {{"x", "memory_mb"}};
  ExpectError(ErrorCode::kInvalidArgument, "unknown field 'memory_mb'",
              [&] { Import("model,batch,x\ntoy,1,5\n"); });
  EXPECT_THAT(dataset_.Labels(), IsEmpty());
}

}  // namespace
}  // namespace foretell::dataset
