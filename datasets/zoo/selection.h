#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "datasets/zoo/family.h"

namespace foretell::zoo {

/// One network that a name selects.
struct Selection {
  const Family* family = nullptr;
  /// Stock name (or family) and the fields that differ from it, in declared
  /// order: equal networks of one stock name have equal names.
  std::string canonical_name;
  std::unique_ptr<Configuration> configuration;
};

/// Resolves `name`; errors as zoo::Load.
Selection Select(std::string_view name);

}  // namespace foretell::zoo
