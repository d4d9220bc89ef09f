#include "src/predict/read_correction.h"

#include <nlohmann/json.hpp>

#include "src/core/document_kind.h"
#include "src/core/json_object.h"

namespace foretell {

void ReadCorrection(std::string_view json, const std::string& origin,
                    PredictorOptions& options) {
  const nlohmann::json document = ParseJson(json, origin);
  RefuseOtherKind(document, origin,
                  {DocumentKind::kAdaptation, DocumentKind::kCalibration});
  JsonObject root(document, origin, "");
  const std::string format = root.IsGiven("format")
                                 ? root.String("format")
                                 : std::string(kAdaptationFormat);
  if (format == kCalibrationFormat) {
    options.calibration = CalibrationFromJson(json, origin);
  } else if (format == kAdaptationFormat) {
    options.adaptation = AdaptationFromJson(json, origin);
  } else {
    root.Fail("format", fmt::format("is '{}', expected '{}' or '{}'", format,
                                    kAdaptationFormat, kCalibrationFormat));
  }
}

}  // namespace foretell
