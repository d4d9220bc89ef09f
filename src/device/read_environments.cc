#include <fmt/core.h>

#include <set>
#include <string>

#include "src/core/document_kind.h"
#include "src/core/json_object.h"
#include "src/device/read_device.h"

namespace foretell::device {
namespace {

constexpr double kMaxContextMib = 1 << 20;
constexpr double kMostFullSms = 10'000;

/// Reads `sizes`, whose keys must be those of context_mib.
void ReadFullSms(JsonObject sizes, ContextModel& context) {
  for (const std::string& key : sizes.Keys()) {
    if (!context.context_mib.contains(key)) {
      sizes.Fail(key, "has no size in context_mib");
    }
    context.context_full_sms[key] = sizes.Number(key, 1, kMostFullSms);
  }
}

DeclaredContext ReadContext(JsonObject& object) {
  DeclaredContext declared;
  ContextModel& context = declared.context;
  context.name = object.String("name");
  context.description = object.String("description");
  JsonObject sizes = object.Object("context_mib");
  if (!sizes.Has("*")) {
    sizes.Fail("*", "is missing, expected the default in MiB");
  }
  for (const std::string& architecture : sizes.Keys()) {
    context.context_mib[architecture] =
        sizes.Number(architecture, 0, kMaxContextMib);
  }
  if (object.Has("context_full_sms")) {
    ReadFullSms(object.Object("context_full_sms"), context);
  }
  const auto optional = [&object](const char* key, double& mib) {
    if (object.Has(key)) mib = object.Number(key, 0, kMaxContextMib);
  };
  optional("context_mib_per_sm", context.context_mib_per_sm);
  optional("cudnn_mib", context.cudnn_mib);
  optional("cublas_handle_mib", context.cublas_handle_mib);
  context.context_uncertainty_mib =
      object.Number("context_uncertainty_mib", 0, kMaxContextMib);
  context.source = object.String("source");
  declared.is_default = object.Has("default") && object.Bool("default");
  object.Finish();
  return declared;
}

}  // namespace

std::vector<DeclaredContext> ReadContexts(std::string_view json,
                                          std::string_view origin) {
  const nlohmann::json document = ParseJson(json, origin);
  RefuseOtherKind(document, std::string(origin), {DocumentKind::kEnvironments});
  JsonObject object(document, std::string(origin), "");
  std::vector<DeclaredContext> result;
  std::set<std::string> names;
  std::string default_name;
  for (JsonObject& entry : object.Objects("environments")) {
    result.push_back(ReadContext(entry));
    const std::string& name = result.back().context.name;
    if (!names.insert(name).second) {
      entry.Fail("name", "is \"" + name + "\" twice, expected it once");
    }
    if (!result.back().is_default) continue;
    if (!default_name.empty()) {
      entry.Fail(
          "default",
          fmt::format("is true for \"{}\", but \"{}\" is the default already",
                      name, default_name));
    }
    default_name = name;
  }
  if (result.empty()) {
    object.Fail("environments", "is [], expected at least one environment");
  }
  object.Finish();
  return result;
}

}  // namespace foretell::device
