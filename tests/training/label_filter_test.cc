#include "training/samples/label_filter.h"

#include <gtest/gtest.h>

#include "tests/datasets/expect_error.h"

namespace foretell::training {
namespace {

using dataset_test::ExpectError;

Label LabelOf(const std::string& device, const std::string& source,
              Provenance provenance) {
  Label label{.device = device};
  label.source = source;
  label.provenance = provenance;
  return label;
}

const Label kMine = LabelOf("a100", "mine", Provenance::kMeasured);
const Label kPaper = LabelOf("a100", "paper", Provenance::kImported);
const Label kModel = LabelOf("a100", "model", Provenance::kSimulated);

TEST(LabelFilter, TakesSimulatedLabelsWhereNothingElseFits) {
  const std::vector<Label> labels = {kMine, kPaper, kModel};
  const SampleOptions any;
  const LabelFilter real(any, labels);
  EXPECT_TRUE(real.Fits(kMine));
  EXPECT_TRUE(real.Fits(kPaper));
  EXPECT_FALSE(real.Fits(kModel));
  // There are measured labels, but of another source.
  const SampleOptions of_model{.sources = {"model"}};
  EXPECT_TRUE(LabelFilter(of_model, labels).Fits(kModel));
  EXPECT_FALSE(LabelFilter(of_model, labels).Fits(kMine));
}

TEST(LabelFilter, TakesProvenancesThatAreNamed) {
  const SampleOptions options{.provenances = {Provenance::kSimulated}};
  const LabelFilter filter(options, {kMine, kModel});
  EXPECT_TRUE(filter.Fits(kModel));
  EXPECT_FALSE(filter.Fits(kMine));
}

TEST(LabelFilter, LeavesFailedLabelsOut) {
  Label failed = kMine;
  failed.status = LabelStatus::kFailed;
  Label too_large = kMine;
  too_large.status = LabelStatus::kOutOfMemory;
  const SampleOptions any;
  // A label that failed does not keep simulated ones away.
  EXPECT_TRUE(LabelFilter(any, {failed, kModel}).Fits(kModel));
  const LabelFilter filter(any, {failed, too_large});
  EXPECT_FALSE(filter.Fits(failed));
}

TEST(LabelFilter, ListsWhatThereIs) {
  const SampleOptions options{.devices = {"b200"}};
  const LabelFilter filter(options, {kMine, kPaper});
  ExpectError(ErrorCode::kInvalidArgument,
              "d.sqlite: no label matches; devices: a100; sources: mine, paper",
              [&] { filter.FailEmpty("d.sqlite"); });
  ExpectError(ErrorCode::kInvalidArgument,
              "d.sqlite: no graph of the 2 labels that match; add graphs",
              [&] { filter.FailEmpty("d.sqlite", 2); });
  ExpectError(ErrorCode::kInvalidArgument, "devices: none; sources: none",
              [&] { LabelFilter(options, {}).FailEmpty("d.sqlite"); });
}

}  // namespace
}  // namespace foretell::training
