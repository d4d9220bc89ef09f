#include "src/model/input_recipe.h"

#include <optional>
#include <string_view>

#include "foretell/error.h"

namespace foretell::model {
namespace {

constexpr char kEdges[] = "edges";
constexpr char kChain[] = "chain";
constexpr char kDataFlow[] = "data-flow";
constexpr char kHost[] = "prior_host";
constexpr char kContext[] = "prior_environment";
constexpr std::string_view kSettingPrefix = "environment.";

std::string Noted(const CheckpointInfo& info, const char* key,
                  std::string_view otherwise) {
  const auto found = info.environment.find(key);
  return found == info.environment.end() ? std::string(otherwise)
                                         : found->second;
}

/// Adds KEY of a column "environment.KEY=VALUE", once.
void AddSettingKey(const std::string& column, std::vector<std::string>& keys) {
  if (!column.starts_with(kSettingPrefix)) return;
  const std::string key = column.substr(
      kSettingPrefix.size(), column.find('=') - kSettingPrefix.size());
  if (keys.empty() || keys.back() != key) keys.push_back(key);
}

}  // namespace

InputRecipe RecipeOf(const CheckpointInfo& info,
                     const InputRecipe& otherwise) {
  const std::string host = Noted(info, kHost, HostName(otherwise.host));
  const std::optional<Host> parsed = ParseHost(host);
  if (!parsed) {
    throw Error(ErrorCode::kCorrupt,
                "checkpoint: prior_host is '" + host + "'");
  }
  const char* edges = otherwise.chain ? kChain : kDataFlow;
  InputRecipe recipe{.chain = Noted(info, kEdges, edges) == kChain,
                     .context = Noted(info, kContext, otherwise.context),
                     .host = *parsed};
  for (const InputColumn& input : info.inputs) {
    AddSettingKey(input.name, recipe.setting_keys);
  }
  return recipe;
}

void NoteRecipe(const InputRecipe& recipe, CheckpointInfo& info) {
  info.environment[kEdges] = recipe.chain ? kChain : kDataFlow;
  const bool has_costs = info.HasNodeCosts() || TermKindOf(info.network.kind);
  if (info.prior.empty() && !has_costs) return;
  info.environment[kHost] = HostName(recipe.host);
  info.environment[kContext] = recipe.context;
}

}  // namespace foretell::model
