#include "src/core/document_kind.h"

#include <gtest/gtest.h>

#include "tests/datasets/expect_error.h"

namespace foretell {
namespace {

using dataset_test::ExpectError;
using Json = nlohmann::json;

TEST(RefuseOtherKind, NamesWhatADocumentIsAndWhatIsExpected) {
  const Json footprint = {{"algorithm", "sort"}, {"terms", Json::array()}};
  ExpectError(ErrorCode::kCorrupt,
              "a.json: is a footprint of `foretell plan`, expected an "
              "adaptation of `foretell adapt` or a calibration of `foretell "
              "calibrate`",
              [&] {
                RefuseOtherKind(footprint, "a.json",
                                {DocumentKind::kCorrection});
              });
}

TEST(RefuseOtherKind, TellsEnvironmentsByWhoWroteThem) {
  const Json measured = {{"schema_version", 1},
                         {"environments", Json::array()}};
  ExpectError(
      ErrorCode::kCorrupt,
      "is environments of `foretell measure`, expected environments "
      "for a device",
      [&] { RefuseOtherKind(measured, "e", {DocumentKind::kEnvironments}); });
  const Json own = {{"environments", Json::array()}};
  EXPECT_NO_THROW(RefuseOtherKind(own, "e", {DocumentKind::kEnvironments}));
}

TEST(RefuseOtherKind, LeavesWhatIsOfNoKindToItsReader) {
  for (const Json& document :
       {Json::object(), Json({{"name", "x"}}), Json::array({1}), Json(3)}) {
    EXPECT_NO_THROW(RefuseOtherKind(document, "x", {DocumentKind::kDevice}));
  }
}

}  // namespace
}  // namespace foretell
