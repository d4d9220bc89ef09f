#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/zoo/family.h"

namespace foretell::zoo {

/// One network that a name selects.
struct Selection {
  const Family* family = nullptr;
  /// Stock name (or family) and the fields that differ from it, in declared
  /// order: equal networks of one stock name have equal names.
  std::string canonical_name;
  std::unique_ptr<Configuration> configuration;
  /// From a config.json: kPrefix is no part of its name.
  bool is_file = false;
  std::vector<std::string> warnings = {};  ///< As HubNetwork::warnings.
  std::optional<DType> stated_dtype = {};  ///< As HubNetwork::dtype.

  /// The name by which zoo::Load finds the network again.
  std::string FullName() const;
};

/// Resolves `name`; errors as zoo::Load.
Selection Select(std::string_view name);

}  // namespace foretell::zoo
