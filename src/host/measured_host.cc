#include "src/host/measured_host.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <limits>

#include "foretell/error.h"
#include "foretell/run.h"
#include "src/core/document_kind.h"
#include "src/core/embedded_file.h"
#include "src/core/json_fields.h"
#include "src/core/json_text.h"

namespace foretell::host {

std::span<const EmbeddedFile> ReferenceFiles();

namespace {

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

/// Why `name` is not valid for a host; empty if it is.
std::string NameProblem(std::string_view name) {
  if (ParseHost(name)) {
    return fmt::format(
        "host '{}' is a runtime, not a machine; expected another name", name);
  }
  if (IsHostName(name)) return "";
  return fmt::format(
      "host '{}': expected 1 to {} letters, digits, '.', '_' or '-', the first "
      "a letter or a digit",
      name, kLongestName);
}

void DescribeProbe(JsonFields& fields, ProbeTime& time) {
  constexpr double kMost = std::numeric_limits<double>::max();
  fields.Text("probe", time.probe);
  fields.Text("kind", time.kind);
  fields.Text("tensors", time.tensors);
  fields.Value("grad", time.grad);
  fields.Number("us", time.us, 0, kMost);
}

void DescribeHost(JsonFields& fields, MeasuredHost& host) {
  HostSpec& spec = host.spec;
  fields.Text("name", spec.name);
  const std::string problem = NameProblem(spec.name);
  fields.Require(problem.empty(), "name", "is no name: " + problem);
  fields.Number("factor", spec.factor, kSmallestFactor, kLargestFactor);
  fields.Number("spread", spec.spread, 1, kLargestFactor);
  fields.Optional("cpu", host.cpu);
  fields.Optional("libtorch", host.libtorch);
  fields.Optional("measured_at", host.measured_at);
  fields.Optional("source", host.source);
  if (fields.IsGiven("probes")) {
    fields.Objects("probes", host.probes, &DescribeProbe);
  }
}

}  // namespace

void CheckHostName(std::string_view name) {
  const std::string problem = NameProblem(name);
  if (!problem.empty()) throw Error(ErrorCode::kInvalidArgument, problem);
}

const MeasuredHost& ReferenceHost() {
  static const MeasuredHost reference = [] {
    const EmbeddedFile& file = ReferenceFiles().front();
    return HostFromJson(file.bytes, std::string(file.path));
  }();
  return reference;
}

std::string HostToJson(const MeasuredHost& host) {
  return DumpJson(WriteFields(host, &DescribeHost));
}

MeasuredHost HostFromJson(std::string_view json, const std::string& origin) {
  const nlohmann::json document = ParseJson(json, origin);
  RefuseOtherKind(document, origin, {DocumentKind::kHost});
  return ReadFields<MeasuredHost>(JsonObject(document, origin, ""),
                                  &DescribeHost);
}

}  // namespace foretell::host
