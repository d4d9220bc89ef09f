#include "src/correct/measured_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/datasets/scratch.h"
#include "tests/graph/expect_error.h"

namespace foretell {
namespace {

using dataset_test::Scratch;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kFive[] =
    "model,batch,latency_ms\n"
    "a.onnx,1,2\na.onnx,8,7.5\nb.onnx,1,3\nb.onnx,8,9\nzoo:vgg16,8,20\n";

class MeasuredRows : public testing::Test {
 protected:
  MeasuredTable Read(const std::string& text, const foretell::Run& run = {}) {
    std::ofstream(path_, std::ios::binary) << text;
    const DeviceCatalog& catalog = DeviceCatalog::BuiltIn();
    return ReadMeasuredRows(path_, {catalog.FindDevice("a100"), catalog, run});
  }
  /// Expects an error that begins with the file's path.
  void ExpectRefusal(const std::string& text, ErrorCode code,
                     const std::string& message,
                     const foretell::Run& run = {}) {
    ExpectError([&] { Read(text, run); }, code, path_ + message);
  }
  /// Five good rows with further columns.
  static std::string With(const std::string& columns,
                          const std::string& cells) {
    std::string text = "model,batch,latency_ms," + columns + "\n";
    for (int i = 1; i <= 5; ++i) {
      text += "a.onnx," + std::to_string(i) + "," + std::to_string(i) + "," +
              cells + "\n";
    }
    return text;
  }

  Scratch scratch_;
  std::string path_ = scratch_ / "rows.csv";
};

TEST_F(MeasuredRows, ReadATableOfThreeColumns) {
  const MeasuredTable table = Read(kFive);
  ASSERT_EQ(table.rows.size(), 5u);
  const MeasuredRow& row = table.rows[1];
  EXPECT_EQ(row.place, path_ + ": line 3");
  EXPECT_EQ(row.model, "a.onnx");
  EXPECT_EQ(row.batch, 8);
  EXPECT_THAT(row.measured, ElementsAre(std::nullopt, 7.5, std::nullopt));
  EXPECT_THAT(table.warnings, IsEmpty());
}

TEST_F(MeasuredRows, TakeMemoryEnergyAndInputs) {
  const MeasuredRow row =
      Read(With("memory_mib,energy_j,inputs",
                "1234.5,0.25,\"x=f32[8,3,64,64] y=i64[8]\""))
          .rows[0];
  EXPECT_EQ(row.measured[0], 1234.5);
  EXPECT_EQ(row.measured[2], 0.25);
  EXPECT_THAT(row.inputs, ElementsAre("x=f32[8,3,64,64]", "y=i64[8]"));
  // As `measure` has it, which may be empty.
  EXPECT_EQ(Read(With("process_bytes", "1048576")).rows[0].measured[0], 1);
  EXPECT_EQ(Read(With("process_bytes", "")).rows[0].measured[0], std::nullopt);
}

TEST_F(MeasuredRows, LeaveFailedRowsOut) {
  const std::string text =
      std::string(With("status", "ok")) + "a.onnx,99,,out_of_memory\n";
  const MeasuredTable table = Read(text);
  EXPECT_EQ(table.rows.size(), 5u);
  EXPECT_EQ(table.failed, 1);
}

TEST_F(MeasuredRows, NameTheLineAndTheCell) {
  const auto with_latency = [](const std::string& cell) {
    return std::string(kFive) + "c.onnx,1," + cell + "\n";
  };
  for (const char* cell : {"fast", "nan", "inf", "-1", "0", "3ms"}) {
    ExpectRefusal(with_latency(cell), ErrorCode::kCorrupt,
                  ": line 7: latency_ms is '" + std::string(cell) +
                      "', expected a number above 0");
  }
  ExpectRefusal(with_latency(""), ErrorCode::kInvalidArgument,
                ": line 7: latency_ms is '', expected a value");
  ExpectRefusal("model,batch,latency_ms\na,1.5,2\n", ErrorCode::kCorrupt,
                ": line 2: batch is '1.5', expected a number above 0");
}

TEST_F(MeasuredRows, NameAColumnThatIsMissing) {
  ExpectRefusal("model,latency_ms\na,2\n", ErrorCode::kInvalidArgument,
                ": no column 'batch'; there are: 'model', 'latency_ms'");
}

TEST_F(MeasuredRows, RefuseTooFew) {
  ExpectRefusal("model,batch,latency_ms\na,1,2\n", ErrorCode::kInvalidArgument,
                ": 1 different rows from line 2 on, expected at least 5");
  ExpectRefusal("model,batch,latency_ms\n", ErrorCode::kInvalidArgument,
                ": 0 different rows, expected at least 5");
  // The fifth repeats the fourth.
  ExpectRefusal("model,batch,latency_ms\na,1,2\na,2,3\na,3,4\na,4,5\na,4,5.5\n",
                ErrorCode::kInvalidArgument, ": 4 different rows");
}

TEST_F(MeasuredRows, RefuseOneLatencyForAll) {
  ExpectRefusal(
      "model,batch,latency_ms\na,1,2.5\na,2,2.5\na,3,2.5\na,4,2.5\nb,4,2.5\n",
      ErrorCode::kInvalidArgument,
      ": line 2: latency_ms is 2.5 there and in all 5 rows");
}

TEST_F(MeasuredRows, RefuseAnotherRun) {
  ExpectRefusal(With("precision", "fp16"), ErrorCode::kInvalidArgument,
                ": line 2: precision is 'fp16', expected 'fp32' as asked for");
  ExpectRefusal(With("autocast", "1"), ErrorCode::kInvalidArgument,
                ": line 2: autocast is '1', expected 'false' as asked for");
  ExpectRefusal(With("mode", "inference"), ErrorCode::kInvalidArgument,
                ": line 2: mode is 'inference', expected 'training'",
                {.mode = Mode::kTraining});
  EXPECT_EQ(Read(With("autocast,memory_format,optimizer", "true,nhwc,"),
                 {.autocast = true, .channels_last = true})
                .rows.size(),
            5u);
}

TEST_F(MeasuredRows, RefuseAnotherDeviceAndASlice) {
  ExpectRefusal(With("device_name", "NVIDIA GeForce RTX 4090"),
                ErrorCode::kInvalidArgument,
                ": line 2: device_name is 'NVIDIA GeForce RTX 4090', expected "
                "'a100-sxm4-40gb' as asked for");
  ExpectRefusal(With("is_mig", "1"), ErrorCode::kInvalidArgument,
                ": line 2: is_mig is '1', expected rows of a whole device");
  EXPECT_THAT(
      Read(With("device,device_name", "cuda:0,NVIDIA A100-SXM4-40GB")).warnings,
      IsEmpty());
  EXPECT_THAT(Read(With("device_name", "Voodoo2")).warnings,
              ElementsAre(HasSubstr("rows of 'Voodoo2', which is no device")));
}

TEST_F(MeasuredRows, SayThatMeasureCallsFromCpp) {
  EXPECT_THAT(Read(With("libtorch", "2.13.0")).warnings,
              ElementsAre(HasSubstr("--host cpp")));
  EXPECT_THAT(Read(With("libtorch", "2.13.0"), {.host = Host::kCpp}).warnings,
              IsEmpty());
}

TEST_F(MeasuredRows, ReadTheDocumentOfMeasure) {
  std::string text = R"( {"schema_version": 1, "measurements": [)";
  for (int i = 1; i <= 5; ++i) {
    text += i == 1 ? "" : ",";
    text += R"({"model": "a.onnx", "mode": "inference", "precision": "fp32",
      "optimizer": null, "device": "cuda:0", "status": "ok", "batch": )" +
            std::to_string(i) + R"(, "inputs": [{"name": "x", "dtype": "f32",
      "shape": [2, 3]}], "latency": {"median_ms": )" +
            std::to_string(i) + R"(.5}, "memory": {"process_bytes": 2097152},
      "energy": {"energy_j": null}, "environment": {"autocast": false,
      "device_name": "NVIDIA A100-SXM4-40GB", "is_mig": false}})";
  }
  const MeasuredTable table = Read(text + "]}");
  ASSERT_EQ(table.rows.size(), 5u);
  EXPECT_EQ(table.rows[1].place, path_ + ": measurements[1]");
  EXPECT_THAT(table.rows[1].measured, ElementsAre(2, 2.5, std::nullopt));
  EXPECT_THAT(table.rows[1].inputs, ElementsAre("x=f32[2,3]"));
  ExpectRefusal(R"({"results": []})", ErrorCode::kCorrupt, "");
  ExpectRefusal(R"({"measurements": [)", ErrorCode::kCorrupt, "");
}

}  // namespace
}  // namespace foretell
