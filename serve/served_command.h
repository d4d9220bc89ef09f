#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace foretell::serve {

/// Type of a flag's value.
enum class ValueKind : std::uint8_t {
  kFlag,
  kText,
  kWhole,
  kNumber,
  kAmount,  ///< A number, or text of one with a unit.
};

/// A flag of a command that requests may set, by its name in JSON: "max_memory"
/// for --max-memory.
struct ServedFlag {
  std::string name;
  std::string flag;  ///< "--max-memory".
  ValueKind kind = ValueKind::kText;
  bool is_list = false;              ///< May be given several times.
  std::vector<std::string> choices;  ///< Empty: any.
  std::string default_text;          ///< Empty: none.
  std::string description;
};

/// A command that is served under a route.
struct ServedCommand {
  std::string route;               ///< "/v1/predict".
  std::string summary;             ///< One line, for the description.
  std::vector<std::string> words;  ///< "mig", "pack".
  std::vector<std::string> json;   ///< Words that request JSON.
  std::vector<ServedFlag> flags;
  bool takes_many = false;  ///< Several models.
  bool needs_model = true;
};

}  // namespace foretell::serve
