#include "src/judge/advice_json.h"

#include <utility>

#include "src/judge/report_json.h"

namespace foretell {
namespace {

using Json = nlohmann::ordered_json;

Json StepToJson(const SimulatedStep& step) {
  return {{"memory_mib", RoundedForJson(step.memory_mib)},
          {"needed_mib", RoundedForJson(step.needed_mib)},
          {"latency_ms", RoundedForJson(step.latency_ms)},
          {"fits", step.fits}};
}

Json RemedyToJson(const Remedy& remedy) {
  Json json = {{"remedies", remedy.names},
               {"keeps_numerics", remedy.keeps_numerics}};
  json.update(StepToJson(remedy.step));
  json["saved_mib"] = RoundedForJson(remedy.saved_mib);
  json["time_factor"] = RoundedForJson(remedy.time_factor);
  return json;
}

Json AdvisedToJson(const AdvisedModel& advised) {
  const Advice& advice = advised.advice;
  Json remedies = Json::array();
  for (const Remedy& remedy : advice.remedies) {
    remedies.push_back(RemedyToJson(remedy));
  }
  Json combinations = Json::array();
  for (const Remedy& remedy : advice.combinations) {
    combinations.push_back(RemedyToJson(remedy));
  }
  Json untried = Json::array();
  for (const UntriedRemedy& one : advice.untried) {
    untried.push_back({{"remedy", one.name}, {"reason", one.reason}});
  }
  Json elsewhere = Json::array();
  for (const OtherPlace& place : advised.elsewhere) {
    elsewhere.push_back({{"place", place.name},
                         {"usable_mib", place.usable_mib},
                         {"latency_ms", RoundedForJson(place.latency_ms)}});
  }
  return {
      {"model", advised.model},
      {"place", advised.place},
      {"usable_mib", advised.usable_mib},
      {"unchanged", StepToJson(advice.unchanged)},
      {"remedies", std::move(remedies)},
      {"combinations", std::move(combinations)},
      {"untried", std::move(untried)},
      {"smallest", advice.smallest ? RemedyToJson(*advice.smallest) : Json()},
      {"elsewhere", std::move(elsewhere)},
      {"warnings", advised.warnings}};
}

}  // namespace

Json AdviceToJson(std::span<const AdvisedModel> advised,
                  std::span<const ReportError> errors) {
  Json results = Json::array();
  for (const AdvisedModel& one : advised) {
    results.push_back(AdvisedToJson(one));
  }
  return AnswersToJson(std::move(results), errors);
}

}  // namespace foretell
