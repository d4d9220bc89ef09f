#include "src/measure/request_lists.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace foretell::measure {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> WordsOf(const std::vector<MeasureRequest>& requests) {
  std::vector<std::string> words;
  for (const MeasureRequest& request : requests) {
    words.push_back(request.model + " " + request.device + " " +
                    std::string(ModeName(request.run.mode)) + " " +
                    std::string(PrecisionName(request.run.precision)) + " " +
                    std::to_string(request.inputs.batch.value_or(-1)));
  }
  return words;
}

TEST(RequestsOf, ModelsChangeSlowestAndBatchesFastest) {
  const RequestLists lists{.models = {"a", "b"},
                           .devices = {"cpu"},
                           .modes = {Mode::kInference, Mode::kTraining},
                           .precisions = {Precision::kFp32},
                           .batches = {1, 8}};
  EXPECT_THAT(WordsOf(RequestsOf({}, lists)),
              ElementsAre("a cpu inference fp32 1", "a cpu inference fp32 8",
                          "a cpu training fp32 1", "a cpu training fp32 8",
                          "b cpu inference fp32 1", "b cpu inference fp32 8",
                          "b cpu training fp32 1", "b cpu training fp32 8"));
}

TEST(RequestsOf, KeepsAllElseOfTheBase) {
  const MeasureRequest base{.inputs = {.batch = 4},
                            .run = {.autocast = true},
                            .seed = 7,
                            .options = {.energy = true}};
  const std::vector<MeasureRequest> requests =
      RequestsOf(base, {.models = {"a"},
                        .devices = {"cpu", "cuda:1"},
                        .modes = {Mode::kInference},
                        .precisions = {Precision::kTf32},
                        .batches = {}});
  EXPECT_THAT(WordsOf(requests), ElementsAre("a cpu inference tf32 4",
                                             "a cuda:1 inference tf32 4"));
  EXPECT_TRUE(requests[1].run.autocast);
  EXPECT_EQ(requests[1].seed, 7u);
  EXPECT_TRUE(requests[1].options.energy);
}

TEST(RequestsOf, AreNoneWhereAListIsEmpty) {
  EXPECT_THAT(RequestsOf({}, {.models = {"a"},
                              .devices = {},
                              .modes = {Mode::kInference},
                              .precisions = {Precision::kFp32},
                              .batches = {1}}),
              IsEmpty());
}

}  // namespace
}  // namespace foretell::measure
