#include "tests/conformance/outcome.h"

#include <nlohmann/json.hpp>

namespace foretell::conformance {

std::string_view OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPass:
      return "pass";
    case Outcome::kWrong:
      return "wrong";
    case Outcome::kRefused:
      return "refused";
    case Outcome::kErratum:
      return "erratum";
    case Outcome::kError:
      break;
  }
  return "error";
}

nlohmann::json ToJson(const CaseResult& result) {
  return {{"group", result.group},
          {"name", result.name},
          {"outcome", OutcomeName(result.outcome)},
          {"message", result.message},
          {"operators", result.operators}};
}

CaseResult FromJson(const nlohmann::json& json) {
  CaseResult result;
  json.at("group").get_to(result.group);
  json.at("name").get_to(result.name);
  json.at("message").get_to(result.message);
  json.at("operators").get_to(result.operators);
  const std::string outcome = json.at("outcome");
  for (const Outcome candidate : kAllOutcomes) {
    if (OutcomeName(candidate) == outcome) result.outcome = candidate;
  }
  return result;
}

}  // namespace foretell::conformance
