#include "src/host/measured_host.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <nlohmann/json.hpp>

#include "foretell/error.h"
#include "foretell/run.h"
#include "src/core/document_kind.h"
#include "src/core/embedded_file.h"
#include "src/core/json_object.h"
#include "src/core/json_text.h"

namespace foretell::host {

std::span<const EmbeddedFile> ReferenceFiles();

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLongestName = 64;
constexpr double kSmallestFactor = 0.01;
constexpr double kLargestFactor = 100;

bool IsLetterOrDigit(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

bool IsHostName(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName &&
         IsLetterOrDigit(name.front()) && std::ranges::all_of(name, [](char c) {
           return IsLetterOrDigit(c) || c == '.' || c == '_' || c == '-';
         });
}

Json ProbeJson(const ProbeTime& time) {
  return {{"probe", time.probe},
          {"kind", time.kind},
          {"tensors", time.tensors},
          {"grad", time.grad},
          {"us", time.us}};
}

ProbeTime ReadProbe(JsonObject object) {
  constexpr double kMost = std::numeric_limits<double>::max();
  ProbeTime time{.probe = object.String("probe"),
                 .kind = object.String("kind"),
                 .tensors = object.String("tensors"),
                 .grad = object.Bool("grad"),
                 .us = object.Number("us", 0, kMost)};
  object.Finish();
  return time;
}

std::string ReadName(JsonObject& object) {
  const std::string name = object.String("name");
  try {
    CheckHostName(name);
  } catch (const Error& error) {
    object.Fail("name", fmt::format("is no name: {}", error.what()));
  }
  return name;
}

}  // namespace

void CheckHostName(std::string_view name) {
  if (ParseHost(name)) {
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format(
            "host '{}' is a runtime, not a machine; expected another name",
            name));
  }
  if (IsHostName(name)) return;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("host '{}': expected 1 to {} letters, digits, '.', "
                          "'_' or '-', the first a letter or a digit",
                          name, kLongestName));
}

const MeasuredHost& ReferenceHost() {
  static const MeasuredHost reference = [] {
    const EmbeddedFile& file = ReferenceFiles().front();
    return HostFromJson(file.bytes, std::string(file.path));
  }();
  return reference;
}

std::string HostToJson(const MeasuredHost& host) {
  Json probes = Json::array();
  for (const ProbeTime& time : host.probes) probes.push_back(ProbeJson(time));
  return DumpJson(Json{{"name", host.spec.name},
                       {"factor", host.spec.factor},
                       {"spread", host.spec.spread},
                       {"cpu", host.cpu},
                       {"libtorch", host.libtorch},
                       {"measured_at", host.measured_at},
                       {"source", host.source},
                       {"probes", std::move(probes)}});
}

MeasuredHost HostFromJson(std::string_view json, const std::string& origin) {
  const nlohmann::json document = ParseJson(json, origin);
  RefuseOtherKind(document, origin, {DocumentKind::kHost});
  JsonObject object(document, origin, "");
  MeasuredHost host;
  host.spec = {
      .name = ReadName(object),
      .factor = object.Number("factor", kSmallestFactor, kLargestFactor),
      .spread = object.Number("spread", 1, kLargestFactor)};
  object.Read("cpu", host.cpu);
  object.Read("libtorch", host.libtorch);
  object.Read("measured_at", host.measured_at);
  object.Read("source", host.source);
  if (object.IsGiven("probes")) {
    for (JsonObject& probe : object.Objects("probes")) {
      host.probes.push_back(ReadProbe(std::move(probe)));
    }
  }
  object.Finish();
  return host;
}

}  // namespace foretell::host
