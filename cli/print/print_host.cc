#include "cli/print/print_host.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "src/core/json_text.h"
#include "src/core/numbers.h"
#include "src/core/printable.h"

namespace foretell::cli {
namespace {

constexpr int kHostSchemaVersion = 1;

std::string HostLine(const char* label, const std::string& text) {
  return fmt::format("{:<10} {}\n", label, Printable(text));
}

}  // namespace

std::string FormatHost(const host::MeasuredHost& host,
                       const host::MeasuredHost& reference,
                       const std::string& path) {
  std::string text =
      HostLine("host", fmt::format("{}, LibTorch {}", host.cpu, host.libtorch));
  text += HostLine("reference",
                   fmt::format("{}, LibTorch {}, factor {}", reference.cpu,
                               reference.libtorch,
                               FormatSignificant(reference.spec.factor)));
  text +=
      HostLine("factor", fmt::format("{}   (within a factor of {} either way)",
                                     FormatSignificant(host.spec.factor),
                                     FormatSignificant(host.spec.spread)));
  text += HostLine("stored", path.empty() ? "no; store it with --name NAME"
                                          : fmt::format("{}: --host {}", path,
                                                        host.spec.name));
  return text;
}

std::string FormatHostJson(const host::MeasuredHost& host,
                           const host::MeasuredHost& reference,
                           const std::string& path) {
  nlohmann::ordered_json document = {{"schema_version", kHostSchemaVersion}};
  document["path"] = nullptr;
  if (!path.empty()) document["path"] = path;
  document["host"] = nlohmann::ordered_json::parse(host::HostToJson(host));
  document["reference"] =
      nlohmann::ordered_json::parse(host::HostToJson(reference));
  return DumpJson(document) + "\n";
}

}  // namespace foretell::cli
