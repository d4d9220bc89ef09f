// docs/meta_kernels.md holds two generated tables; this test writes them anew
// and compares. Run it with FORETELL_UPDATE_GOLDEN=1 to rewrite the page.

#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>
#include <torch/version.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "src/program/meta/families.h"
#include "src/program/meta/meta_kernels.h"

namespace foretell::meta_test {
namespace {

constexpr char kPage[] = FORETELL_SOURCE_DIR "/docs/meta_kernels.md";
// The LibTorch that the page describes: others lack other kernels.
constexpr int kMajor = 2;
constexpr int kMinor = 13;

constexpr const char* PolicyMark(meta::Policy policy) {
  switch (policy) {
    case meta::Policy::kIfMissing:
      return "";
    case meta::Policy::kOverride:
      return " (override)";
    case meta::Policy::kOverrideWhole:
      return " (override of a composite)";
    case meta::Policy::kDataDependent:
      return " (refused)";
  }
  return "";
}

std::string FamilyTable() {
  std::ostringstream text;
  text << "| family | operators |\n|---|---|\n";
  for (const meta::Family& family : meta::AllFamilies()) {
    text << "| " << family.name << " | ";
    const char* separator = "";
    for (const meta::KernelRow& row : family.rows) {
      std::string name(row.name);
      if (name.back() == '.') name.pop_back();
      text << separator << "`" << name << "`" << PolicyMark(row.policy);
      separator = ", ";
    }
    text << " |\n";
  }
  return text.str();
}

// Why nobody misses a kernel; the first prefix that fits.
const std::vector<std::pair<std::string, std::string>>& Reasons() {
  static const auto* const kReasons =
      new std::vector<std::pair<std::string, std::string>>{
          {"_test_", "LibTorch's own tests"},
          {"_foobar", "LibTorch's own tests"},
          {"_nested", "nested tensors"},
          {"_jagged", "nested tensors"},
          {"_padded_dense_to_jagged", "nested tensors"},
          {"_to_sparse", "sparse tensors"},
          {"_spdiags", "sparse tensors"},
          {"_validate_compressed", "sparse tensors"},
          {"sspaddmm", "sparse tensors"},
          {"_convert_weight", "quantised tensors"},
          {"_dyn_quant", "quantised tensors"},
          {"_empty_affine", "quantised tensors"},
          {"_empty_per_channel", "quantised tensors"},
          {"_make_per_", "quantised tensors"},
          {"_weight_int4", "quantised tensors"},
          {"dequantize", "quantised tensors"},
          {"quantize", "quantised tensors"},
          {"mkldnn", "CPU only"},
          {"to_mkldnn", "CPU only"},
          {"_slow_conv", "CPU only"},
          {"slow_conv", "CPU only"},
      };
  return *kReasons;
}

std::string ReasonFor(const std::string& name) {
  for (const auto& [prefix, reason] : Reasons()) {
    if (name.starts_with(prefix)) return reason;
  }
  return "rare";
}

// ATen operators that the CPU has and the meta device has not.
std::string MissingTable() {
  std::map<std::string, std::set<std::string>> by_reason;
  c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    if (!name.name.starts_with("aten::")) continue;
    const auto op = dispatcher.findSchema(name);
    if (!op.has_value() || HasMetaKernel(*op) || IsDataDependent(*op) ||
        !op->hasKernelForDispatchKey(c10::DispatchKey::CPU)) {
      continue;
    }
    const std::string base = name.name.substr(6);
    by_reason[ReasonFor(base)].insert(
        name.overload_name.empty() ? base : base + "." + name.overload_name);
  }
  std::ostringstream text;
  text << "| why | operators |\n|---|---|\n";
  for (const auto& [reason, names] : by_reason) {
    text << "| " << reason << " | ";
    const char* separator = "";
    for (const std::string& name : names) {
      text << separator << "`" << name << "`";
      separator = ", ";
    }
    text << " |\n";
  }
  return text.str();
}

std::string ReadPage() {
  std::ifstream file(kPage);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Replaces what stands between the marks of `section`.
std::string WithSection(const std::string& page, const std::string& section,
                        const std::string& table) {
  const std::string begin = "<!-- begin " + section + " -->\n";
  const std::string end = "<!-- end " + section + " -->";
  const std::size_t from = page.find(begin);
  const std::size_t to = page.find(end);
  if (from == std::string::npos || to == std::string::npos) return "";
  return page.substr(0, from + begin.size()) + table + page.substr(to);
}

TEST(MetaKernelsPage, ListsWhatThereIsAndWhatIsMissing) {
  if (TORCH_VERSION_MAJOR != kMajor || TORCH_VERSION_MINOR != kMinor) {
    GTEST_SKIP() << "the page describes LibTorch " << kMajor << "." << kMinor;
  }
  RegisterMetaKernels();
  const std::string page = ReadPage();
  const std::string expected = WithSection(
      WithSection(page, "families", FamilyTable()), "missing", MissingTable());
  ASSERT_FALSE(expected.empty()) << kPage << " lacks its marks";
  if (std::getenv("FORETELL_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(kPage) << expected;
  } else {
    EXPECT_EQ(page, expected);
  }
}

TEST(MetaKernelsPage, NamesOnlyOperatorsThatExist) {
  if (TORCH_VERSION_MAJOR != kMajor || TORCH_VERSION_MINOR != kMinor) {
    GTEST_SKIP() << "another LibTorch may know other operators";
  }
  RegisterMetaKernels();
  std::set<std::string> known;
  for (const c10::OperatorName& name :
       c10::Dispatcher::singleton().getAllOpNames()) {
    known.insert(name.name);
    known.insert(c10::toString(name));
  }
  for (const meta::Family& family : meta::AllFamilies()) {
    for (const meta::KernelRow& row : family.rows) {
      std::string name(row.name);
      if (name.find("::") == std::string::npos) name = "aten::" + name;
      if (name.back() == '.') name.pop_back();
      EXPECT_TRUE(known.contains(name) || known.contains(name + "_"))
          << family.name << ": " << name;
    }
  }
}

}  // namespace
}  // namespace foretell::meta_test
