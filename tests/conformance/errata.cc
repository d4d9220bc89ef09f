// Some cases of older releases expect what the ONNX project later corrected
// without a new opset version, so that no implementation can satisfy both. Each
// row here is such a correction: the same case, made by the release named, has
// other expected values. A case that passes anyway is left alone.

#include "tests/conformance/errata.h"

#include <array>
#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

namespace foretell::conformance {
namespace {

struct Erratum {
  const char* pattern;  ///< Regular expression that matches the whole name.
  Release corrected;
  const char* reason;
};

constexpr std::array<Erratum, 6> kErrata = {{
    {"test_attention_(3d|4d_gqa).*",
     {1, 19},
     "heads of 3-D inputs and of grouped keys are taken in the wrong order"},
    {"test_attention_.*qk_matmul_(bias|softcap).*",
     {1, 22},
     "the soft cap comes after the bias instead of before it"},
    {"test_averagepool_3d_dilations_large_count_include_pad_is_1_ceil_mode_is_"
     "True",
     {1, 18},
     "divides by elements that lie beyond the padding"},
    {"test_l2normalization_axis_0", {1, 21}, "expects NaN where the norm is 0"},
    {"test_qlinearmatmul_[23]D_int8_float(16|32)",
     {1, 22},
     "results wrap around instead of saturating"},
    {"test_rotary_embedding_.*rotary_dim",
     {1, 19},
     "the caches are as wide as the head instead of the rotated part"},
}};

}  // namespace

std::optional<Release> ParseRelease(std::string_view text) {
  Release release;
  const char* end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, release.major);
  if (major.ec != std::errc() || major.ptr == end || *major.ptr != '.') {
    return std::nullopt;
  }
  const auto minor = std::from_chars(major.ptr + 1, end, release.minor);
  if (minor.ec != std::errc()) return std::nullopt;
  return release;
}

std::optional<Release> ReleaseOf(const std::filesystem::path& root) {
  std::ifstream file(root / "manifest.json");
  if (!file) return std::nullopt;
  const nlohmann::json manifest = nlohmann::json::parse(file, nullptr, false);
  if (!manifest.is_object()) return std::nullopt;
  return ParseRelease(manifest.value("onnx", ""));
}

std::optional<std::string> ErratumOf(std::string_view name,
                                     std::optional<Release> release) {
  for (const Erratum& row : kErrata) {
    if (release && *release >= row.corrected) continue;
    if (!std::regex_match(name.begin(), name.end(), std::regex(row.pattern))) {
      continue;
    }
    return "corrected in onnx " + std::to_string(row.corrected.major) + "." +
           std::to_string(row.corrected.minor) + ": " + row.reason;
  }
  return std::nullopt;
}

void ForgiveErratum(std::optional<Release> release, CaseResult& result) {
  if (result.outcome != Outcome::kWrong && result.outcome != Outcome::kError) {
    return;
  }
  const std::optional<std::string> erratum = ErratumOf(result.name, release);
  if (!erratum) return;
  result.outcome = Outcome::kErratum;
  result.message = *erratum;
}

}  // namespace foretell::conformance
