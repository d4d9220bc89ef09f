#include "src/judge/fit_json.h"

#include <utility>

#include "src/judge/report_json.h"

namespace foretell {
namespace {

using Json = nlohmann::ordered_json;

Json CheckToJson(const FitCheck& check) {
  return {{"what", check.what},
          {"value", RoundedForJson(check.value)},
          {"least", RoundedForJson(check.least)},
          {"limit", check.limit},
          {"unit", check.unit},
          {"within", check.within}};
}

Json JudgedToJson(const JudgedModel& judged) {
  Json checks = Json::array();
  for (const FitCheck& check : judged.verdict.checks) {
    checks.push_back(CheckToJson(check));
  }
  return {{"model", judged.model},
          {"place", judged.place},
          {"fit", mig::FitText(judged.verdict.fit)},
          {"accepted", judged.verdict.fits},
          {"checks", std::move(checks)},
          {"warnings", judged.warnings}};
}

}  // namespace

Json FitsToJson(std::span<const JudgedModel> judged,
                std::span<const ReportError> errors) {
  Json results = Json::array();
  for (const JudgedModel& one : judged) results.push_back(JudgedToJson(one));
  return AnswersToJson(std::move(results), errors);
}

Json LargestBatchesToJson(std::span<const LargestBatchOfModel> found,
                          std::span<const ReportError> errors) {
  Json results = Json::array();
  for (const LargestBatchOfModel& one : found) {
    results.push_back({{"model", one.model},
                       {"place", one.place},
                       {"batch", one.batch},
                       {"likely_batch", one.likely_batch},
                       {"is_limit", one.batch == one.most},
                       {"warnings", one.warnings}});
  }
  return AnswersToJson(std::move(results), errors);
}

}  // namespace foretell
