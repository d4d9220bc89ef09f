#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace foretell {

/// Kinds of pages; each has a function in src/page/views.
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

/// A self-contained page that shows `document`: includes style, charting
/// libraries (src/page/libraries) and data, half a megabyte in addition to the
/// data. Names in the document are always shown as text.
std::string HtmlPage(PageView view, std::string_view title,
                     const nlohmann::ordered_json& document);

}  // namespace foretell
