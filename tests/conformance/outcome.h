#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace foretell::conformance {

/// How a case ended.
enum class Outcome {
  kPass,     ///< Every output of every data set is right.
  kWrong,    ///< It ran and an output is not what the case expects.
  kRefused,  ///< A typed error names the operator or type that is lacking.
  kErratum,  ///< Not a pass, but the case is to blame: see errata.h.
  kError,    ///< Any other exception, a crash or a hang.
};

inline constexpr Outcome kAllOutcomes[] = {Outcome::kPass, Outcome::kWrong,
                                           Outcome::kRefused, Outcome::kErratum,
                                           Outcome::kError};

/// "pass", "wrong", "refused", "erratum", "error".
std::string_view OutcomeName(Outcome outcome);

/// One case after its run.
struct CaseResult {
  std::string group;
  std::string name;
  Outcome outcome = Outcome::kError;
  std::string message;  ///< One line; empty for kPass.
  /// Operators of the model and its subgraphs, sorted, each once: "Relu",
  /// "ai.onnx.ml::Binarizer".
  std::vector<std::string> operators;
};

nlohmann::json ToJson(const CaseResult& result);
/// Inverse of ToJson.
CaseResult FromJson(const nlohmann::json& json);

}  // namespace foretell::conformance
