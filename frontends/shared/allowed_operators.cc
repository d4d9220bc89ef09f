// Namespaces are an allow-list. Of aten's private operators, which begin with
// an underscore and check little, only those are allowed that public functions
// call and that are sound (private_operators.h). Of the others, the few that
// reach outside the process, that do not check their arguments, or whose loops
// may not end, are refused by name.
#include "frontends/shared/allowed_operators.h"

#include <fmt/core.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "frontends/shared/private_operators.h"
#include "src/core/failure.h"
#include "src/core/text.h"

namespace foretell {
namespace {

constexpr std::string_view kNamespaces[] = {"aten", "prim", "torchvision"};

/// Operators of the allowed namespaces that read or write files or standard
/// streams, start other processes, call Python, or end the process; that do not
/// check their arguments; and those whose loops depend on numbers, without end
/// for NaN.
constexpr std::string_view kUnsafe[] = {
    "aten::binomial",      "aten::fractional_max_pool2d_backward",
    "aten::from_file",     "aten::load",
    "aten::record_stream", "aten::reflection_pad1d_backward",
    "aten::save",          "aten::segment_reduce",
    "prim::PythonOp",      "prim::awaitable",
    "prim::fork",          "prim::rpc_async",
    "prim::rpc_remote",    "prim::rpc_sync"};

/// Begins the last part of the names of special_laguerre_polynomial_l and the
/// like, each of which makes as many steps as one of its arguments states.
constexpr std::string_view kPolynomial = "_polynomial_";

template <typename Table>
bool IsIn(const Table& table, std::string_view name) {
  return std::ranges::find(table, name) != std::end(table);
}

bool IsPrivate(std::string_view rest) {
  // Those with two underscores are Python's own: __getitem__, __and__.
  return rest.starts_with('_') && !rest.starts_with("__");
}

bool LibTorchHas(std::string_view name) {
  return !torch::jit::getAllOperatorsFor(
              c10::Symbol::fromQualString(std::string(name)))
              .empty();
}

struct ReasonRow {
  OperatorVerdict verdict;
  std::string_view reason;
};

constexpr ReasonRow kReasons[] = {
    {OperatorVerdict::kUnknown, "that LibTorch alone does not have"},
    {OperatorVerdict::kUnsafe,
     "that access files, Python or other processes, do not check their "
     "arguments or may not terminate"},
    {OperatorVerdict::kPrivate,
     "that are private to PyTorch and not on the list of allowed ones"}};

}  // namespace

OperatorVerdict JudgeOperator(std::string_view name) {
  const std::size_t colons = name.find("::");
  if (colons == std::string_view::npos) return OperatorVerdict::kUnknown;
  const std::string_view space = name.substr(0, colons);
  const std::string_view rest = name.substr(colons + 2);
  if (!IsIn(kNamespaces, space)) return OperatorVerdict::kUnknown;
  if (IsIn(kUnsafe, name) || rest.find(kPolynomial) != std::string_view::npos) {
    return OperatorVerdict::kUnsafe;
  }
  if (space != "aten" || !IsPrivate(rest) || IsIn(kPrivateOperators, rest)) {
    return OperatorVerdict::kAllowed;
  }
  return LibTorchHas(name) ? OperatorVerdict::kPrivate
                           : OperatorVerdict::kUnknown;
}

void RefusedOperators::Add(OperatorVerdict verdict, const std::string& shown) {
  if (verdict != OperatorVerdict::kAllowed) names_[verdict].insert(shown);
}

void RefusedOperators::ThrowIfAny(const std::string& path) const {
  if (names_.empty()) return;
  std::vector<std::string> parts;
  for (const auto& [verdict, reason] : kReasons) {
    const auto found = names_.find(verdict);
    if (found == names_.end()) continue;
    parts.push_back(fmt::format("{}: {}", reason, Joined(found->second)));
  }
  throw Unsupported("{}: refused before running: operators {}", path,
                    Joined(parts, "; "));
}

}  // namespace foretell
