// While a trace runs on meta, operators whose tensors all lie on the CPU run
// for real: a file's shape arithmetic needs their values. Nothing but the
// allocator's limit on one tensor would stop a file from computing there for
// hours. So the elements that go in are counted (a view may have many more than
// its storage) and the bytes that come out. Operators that do more work than
// they have elements are charged the power 3/2 of these, which bounds a product
// of matrices: m k n = sqrt(mk * kn * mn).

#include "src/program/host_work.h"

#include <ATen/core/Tensor.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>

#include "foretell/error.h"

namespace foretell {
namespace {

/// Parts of the names of operators with more than linear work.
constexpr std::array<std::string_view, 34> kProducts = {
    "mm",        "matmul",  "conv",  "linalg_", "linear",   "einsum",
    "dot",       "cdist",   "pdist", "svd",     "qr",       "eig",
    "cholesky",  "lu_",     "solve", "inverse", "det",      "lstsq",
    "matrix_",   "attenti", "lstm",  "gru",     "rnn_",     "isin",
    "pool",      "kron",    "cov",   "corr",    "ctc_loss", "triangular",
    "tensordot", "ormqr",   "geqrf", "mv",
};

/// Calls `visit` on every tensor in the top `count` values of `stack`.
template <typename Visit>
void ForEachTensor(const torch::jit::Stack& stack, std::size_t count,
                   const Visit& visit) {
  for (std::size_t i = stack.size() - count; i < stack.size(); ++i) {
    if (stack[i].isTensor()) {
      if (stack[i].toTensor().defined()) visit(stack[i].toTensor());
    } else if (stack[i].isTensorList()) {
      for (const at::Tensor& tensor : stack[i].toTensorVector()) {
        if (tensor.defined()) visit(tensor);
      }
    }
  }
}

bool IsProduct(const std::string& name) {
  return std::any_of(kProducts.begin(), kProducts.end(),
                     [&](std::string_view part) {
                       return name.find(part) != std::string::npos;
                     });
}

[[noreturn]] void Refuse(const std::string& verb, std::int64_t limit,
                         const std::string& unit) {
  throw Error(
      ErrorCode::kUnsupported,
      fmt::format("computes on the host: all such operators together {} more "
                  "than {} {} in a trace without arithmetic; try --trace cpu",
                  verb, limit, unit));
}

}  // namespace

void HostWork::ChargeArguments(const c10::OperatorHandle& op,
                               const torch::jit::Stack& stack) {
  double elements = 0;
  ForEachTensor(stack, op.schema().arguments().size(),
                [&](const at::Tensor& tensor) {
                  elements += static_cast<double>(tensor.numel());
                });
  // The name is looked at only when it matters.
  constexpr double kSmall = 1 << 10;
  if (elements > kSmall && IsProduct(op.schema().name())) {
    elements = std::pow(elements, 1.5);
  }
  if (elements > static_cast<double>(kMaxElements - elements_)) {
    Refuse("read or multiply", kMaxElements, "elements");
  }
  elements_ += static_cast<std::int64_t>(elements);
}

void HostWork::ChargeResults(const c10::OperatorHandle& op,
                             const torch::jit::Stack& stack) {
  ForEachTensor(
      stack, op.schema().returns().size(), [&](const at::Tensor& tensor) {
        // Else it is a view of another tensor.
        if (!tensor.has_storage() || !tensor.storage().unique() ||
            !tensor.is_cpu()) {
          return;
        }
        bytes_ += static_cast<std::int64_t>(tensor.storage().nbytes());
      });
  if (bytes_ > kMaxBytes) Refuse("make", kMaxBytes, "bytes");
}

}  // namespace foretell
