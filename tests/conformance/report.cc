#include "tests/conformance/report.h"

#include <iomanip>
#include <nlohmann/json.hpp>
#include <ostream>
#include <vector>

namespace foretell::conformance {
namespace {

constexpr const char* kTotal = "total";

void PrintFailures(std::span<const CaseResult> results, std::ostream& out) {
  for (const CaseResult& result : results) {
    if (result.outcome == Outcome::kWrong ||
        result.outcome == Outcome::kError) {
      out << OutcomeName(result.outcome) << " " << result.group << "/"
          << result.name << ": " << result.message << "\n";
    }
  }
}

void PrintGathered(Outcome outcome, std::span<const CaseResult> results,
                   std::ostream& out) {
  std::map<std::string, std::vector<std::string>> names_by_message;
  for (const CaseResult& result : results) {
    if (result.outcome == outcome) {
      names_by_message[result.message].push_back(result.name);
    }
  }
  for (const auto& [message, names] : names_by_message) {
    out << OutcomeName(outcome) << " " << names.size() << " (" << names.front()
        << (names.size() > 1 ? ", ..." : "") << "): " << message << "\n";
  }
}

void PrintTallies(const std::map<std::string, Tally>& tallies,
                  std::ostream& out) {
  constexpr int kNameWidth = 20;
  constexpr int kNumberWidth = 9;
  out << std::left << std::setw(kNameWidth) << "group" << std::right;
  for (const Outcome outcome : kAllOutcomes) {
    out << std::setw(kNumberWidth) << OutcomeName(outcome);
  }
  out << "\n";
  for (const auto& [group, tally] : tallies) {
    out << std::left << std::setw(kNameWidth) << group << std::right;
    for (const Outcome outcome : kAllOutcomes) {
      out << std::setw(kNumberWidth) << tally.at(outcome);
    }
    out << "\n";
  }
}

}  // namespace

std::map<std::string, Tally> TallyByGroup(std::span<const CaseResult> results) {
  Tally none;
  for (const Outcome outcome : kAllOutcomes) none[outcome] = 0;
  std::map<std::string, Tally> tallies{{kTotal, none}};
  for (const CaseResult& result : results) {
    ++tallies.try_emplace(result.group, none).first->second[result.outcome];
    ++tallies[kTotal][result.outcome];
  }
  return tallies;
}

nlohmann::json ReportJson(std::span<const CaseResult> results) {
  nlohmann::json report{{"summary", nlohmann::json::object()},
                        {"cases", nlohmann::json::array()}};
  for (const auto& [group, tally] : TallyByGroup(results)) {
    for (const auto& [outcome, number] : tally) {
      report["summary"][group][std::string(OutcomeName(outcome))] = number;
    }
  }
  for (const CaseResult& result : results) {
    report["cases"].push_back(ToJson(result));
  }
  return report;
}

void PrintReport(std::span<const CaseResult> results, std::ostream& out) {
  PrintFailures(results, out);
  PrintGathered(Outcome::kErratum, results, out);
  PrintGathered(Outcome::kRefused, results, out);
  PrintTallies(TallyByGroup(results), out);
}

std::string FailureOf(std::span<const CaseResult> results, int min_pass) {
  const std::map<std::string, Tally> tallies = TallyByGroup(results);
  const Tally& total = tallies.at(kTotal);
  if (total.at(Outcome::kWrong) + total.at(Outcome::kError) > 0) {
    return std::to_string(total.at(Outcome::kWrong)) + " wrong, " +
           std::to_string(total.at(Outcome::kError)) + " errors";
  }
  if (total.at(Outcome::kPass) < min_pass) {
    return std::to_string(total.at(Outcome::kPass)) +
           " cases pass, expected at least " + std::to_string(min_pass);
  }
  return "";
}

}  // namespace foretell::conformance
