// Dimensions and other numbers that a tensor has to fit.
#include <algorithm>
#include <array>

#include "src/core/failure.h"
#include "src/program/checks/families.h"
#include "src/program/checks/predicates.h"

namespace foretell::checks {
namespace {

void CheckDim(const Call& call) {
  RequireDim(call.Int("dim", -1), call.FirstTensor().dim());
}

void CheckDims(const Call& call) {
  RequireDims(call.Ints("dim"), call.FirstTensor().dim());
}

void CheckFlip(const Call& call) {
  RequireDims(call.Ints("dims"), call.FirstTensor().dim());
}

/// roll_common (TensorTransformations.h); nothing is rolled without a look.
void CheckRoll(const Call& call) {
  const std::size_t shifts = call.Ints("shifts").size();
  const Sizes dims = call.Ints("dims");
  if (shifts == 0 || (dims.empty() ? shifts != 1 : shifts != dims.size())) {
    throw InvalidArgument("has {} shifts for {} dimensions", shifts,
                          dims.size());
  }
  const std::int64_t rank = call.Tensor("self").dim();
  if (call.Tensor("self").numel() == 0) return;
  for (const std::int64_t dim : dims) {
    if (dim >= -rank && dim < rank) continue;
    throw InvalidArgument("rolls dimension {} of a tensor of rank {}", dim,
                          rank);
  }
}

void CheckFloatsAlong(const Call& call) {
  CheckDim(call);
  RequireFloats(call.FirstTensor());
}

/// softmax(x, dim, dtype) casts to a given type first.
void CheckSoftmax(const Call& call) {
  CheckDim(call);
  const std::optional<at::ScalarType> type = call.DType("dtype");
  if (!type) return RequireFloats(call.FirstTensor());
  if (at::isFloatingType(*type) || at::isComplexType(*type)) return;
  throw InvalidArgument(
      "has an integer type for its result, expected a floating-point one");
}

void CheckVariance(const Call& call) {
  RequireFloats(call.FirstTensor());
  CheckDims(call);
}

/// kthvalue (Sorting.cpp).
void CheckKthValue(const Call& call) {
  const at::Tensor& self = call.Tensor("self");
  CheckDim(call);
  if (self.scalar_type() == at::kBool && self.dim() > 0) {
    throw InvalidArgument("has no kernel for elements of type bool");
  }
  const std::int64_t size =
      self.dim() == 0 ? 1 : self.size(call.Int("dim", -1));
  if (call.Int("k") >= 1 && call.Int("k") <= size) return;
  throw InvalidArgument("asks for element {} of {}", call.Int("k"), size);
}

/// multinomial (Distributions.cpp).
void CheckMultinomial(const Call& call) {
  const at::Tensor& self = call.Tensor("self");
  constexpr std::int64_t kMostCategories = std::int64_t{1} << 24;
  RequireFloats(self);
  RequireRank(self, "an operand", 1, 2);
  const std::int64_t samples = call.Int("num_samples");
  RequireAtLeast(samples, "num_samples", 1);
  const std::int64_t most = call.Bool("replacement", false)
                                ? std::max(samples, self.size(-1))
                                : self.size(-1);
  if (samples <= most && self.size(-1) <= kMostCategories) return;
  throw InvalidArgument("draws {} of {} categories", samples, self.size(-1));
}

/// trace (ReduceOps.cpp).
void CheckTrace(const Call& call) {
  RequireRank(call.FirstTensor(), "an operand", 2, 2);
}

/// checkInBoundsForStorage (Resize.h).
void CheckAsStrided(const Call& call) {
  const at::Tensor& self = call.Tensor("self");
  const Sizes sizes = call.Ints("size");
  const Sizes strides = call.Ints("stride");
  if (sizes.size() != strides.size() || !self.has_storage()) return;
  std::int64_t last = call.Int("storage_offset", self.storage_offset());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] <= 0 || strides[i] < 0) return;
    std::int64_t way = 0;
    if (__builtin_mul_overflow(sizes[i] - 1, strides[i], &way) ||
        __builtin_add_overflow(last, way, &last)) {
      return;
    }
  }
  const auto held = static_cast<std::int64_t>(self.storage().nbytes()) /
                    static_cast<std::int64_t>(self.itemsize());
  if (last < held) return;
  throw InvalidArgument("reads element {} of a storage of {}", last, held);
}

constexpr std::array kDimensionRows = std::to_array<OperandRow>({
    {"_log_softmax", &CheckFloatsAlong},
    {"_softmax", &CheckFloatsAlong},
    {"as_strided", &CheckAsStrided},
    {"count_nonzero", &CheckDims},
    {"flip", &CheckFlip},
    {"kthvalue", &CheckKthValue},
    {"log_softmax", &CheckSoftmax},
    {"logcumsumexp", &CheckFloatsAlong},
    {"multinomial", &CheckMultinomial},
    {"nansum", &CheckDims},
    {"roll", &CheckRoll},
    {"softmax", &CheckSoftmax},
    {"sort", &CheckDim},
    {"std", &CheckVariance},
    {"std_mean", &CheckVariance},
    {"trace", &CheckTrace},
    {"var", &CheckVariance},
    {"var_mean", &CheckVariance},
});

}  // namespace

std::span<const OperandRow> DimensionRows() { return kDimensionRows; }

}  // namespace foretell::checks
