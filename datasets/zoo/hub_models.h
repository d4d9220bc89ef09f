#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "datasets/zoo/hub_config.h"

namespace foretell::zoo {

/// `name` if it is one of HubNames (foretell/zoo.h); else the one that has the
/// same name from another owner, of which it is a copy: a gated or a quantized
/// model, "unsloth/Llama-3.2-1B-bnb-4bit". Empty for other names.
std::optional<std::string> KnownHubName(std::string_view name);

/// The network of one of HubNames, from data/architectures; empty for any other
/// name and for networks of diffusers.
std::optional<HubNetwork> FindHubModel(std::string_view name);

/// The stock network that one of HubNames is: a network of diffusers. Empty for
/// any other name.
std::string StockOfHubName(std::string_view name);

}  // namespace foretell::zoo
