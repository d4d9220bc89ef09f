#pragma once

#include <optional>
#include <string_view>

#include "datasets/zoo/hub_config.h"

namespace foretell::zoo {

/// The network of one of HubNames (foretell/zoo.h), from data/architectures;
/// empty for any other name.
std::optional<HubNetwork> FindHubModel(std::string_view name);

}  // namespace foretell::zoo
