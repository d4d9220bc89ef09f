#pragma once

#include <compare>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "tests/conformance/outcome.h"

namespace foretell::conformance {

/// A release of the Python package `onnx`, e.g. 1.23.
struct Release {
  int major = 0;
  int minor = 0;
  auto operator<=>(const Release&) const = default;
};

/// "1.23.0" as a release; empty when it does not begin with two numbers.
std::optional<Release> ParseRelease(std::string_view text);

/// The release that `root/manifest.json` names; empty without one.
std::optional<Release> ReleaseOf(const std::filesystem::path& root);

/// What is wrong with the case `name` as `release` made it and in which release
/// the ONNX project corrected it under the same opset; empty for a sound case.
/// An unknown release may be any.
std::optional<std::string> ErratumOf(std::string_view name,
                                     std::optional<Release> release);

/// Turns a wrong or failed result into kErratum where the case is to blame.
void ForgiveErratum(std::optional<Release> release, CaseResult& result);

}  // namespace foretell::conformance
