#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace foretell {

/// What a page shows; each has a function in src/page/views.
enum class PageView {
  kStep,          ///< One answer: StepToJson.
  kPredictions,   ///< Several answers: ReportsToJson.
  kBatches,       ///< `max-batch`.
  kPacking,       ///< `mig pack`.
  kDataset,       ///< `dataset stats`.
  kTraining,      ///< `train`.
  kLearningRate,  ///< The range test of `train`.
  kEvaluation,    ///< `evaluate`.
  kComparison,    ///< `compare-networks`.
  kDifference,    ///< `diff`.
  kDevices,       ///< `compare`.
};

/// A page that shows `document` and loads nothing from elsewhere: style, charts
/// (src/page/libraries) and data are in it, half a megabyte in addition to the
/// data. Names in the document stay text, whatever they hold.
std::string HtmlPage(PageView view, std::string_view title,
                     const nlohmann::ordered_json& document);

}  // namespace foretell
