// Reductions along axes: results are contiguous, the axes dropped or kept as 1.

#include <bitset>

#include "src/program/meta/families.h"
#include "src/program/meta/shapes.h"

namespace foretell::meta {
namespace {

constexpr std::size_t kMaxRank = 64;

// Shape of `input` without its axes `dims` (all, when empty).
Sizes Reduced(const at::Tensor& input, const Sizes& dims, bool keepdim) {
  const auto rank = static_cast<std::size_t>(input.dim());
  TORCH_CHECK(rank <= kMaxRank, "a tensor of rank ", rank,
              " is beyond the limit of ", kMaxRank);
  std::bitset<kMaxRank> dropped;
  for (const std::int64_t dim : dims) dropped.set(WrapDim(dim, input.dim()));
  if (dims.empty()) dropped.set();
  Sizes sizes;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (!dropped[axis]) {
      sizes.push_back(input.sizes()[axis]);
    } else if (keepdim) {
      sizes.push_back(1);
    }
  }
  return sizes;
}

Sizes Reduced(const Call& call) {
  return Reduced(call.FirstTensor(), call.Ints("dim"),
                 call.Bool("keepdim", false));
}

void SameType(Call& call) {
  call.Return(Contiguous(Reduced(call), call.FirstTensor().scalar_type()));
}

void ReducedToFloat(Call& call) {
  call.Return(Contiguous(Reduced(call),
                         FloatingType(call.FirstTensor().scalar_type())));
}

// Sums and products of integers are 64-bit.
void Accumulated(Call& call) {
  const at::ScalarType dtype = call.FirstTensor().scalar_type();
  const bool integral = c10::isIntegralType(dtype, /*includeBool=*/true);
  call.Return(Contiguous(Reduced(call), call.DType("dtype").value_or(
                                            integral ? at::kLong : dtype)));
}

// Standard deviation or variance: real also of complex numbers.
TensorSpec Spread(const Call& call) {
  return Contiguous(Reduced(call),
                    c10::toRealValueType(call.FirstTensor().scalar_type()));
}

void SpreadOnly(Call& call) { call.Return(Spread(call)); }

void SpreadAndMean(Call& call) {
  call.Return(Spread(call));
  call.Return(Contiguous(Reduced(call), call.FirstTensor().scalar_type()));
}

void LowestAndHighest(Call& call) {
  SameType(call);
  SameType(call);
}

// Without "dim", median and its like return a value alone.
void ValueAndPlace(Call& call) {
  const at::Tensor input = call.Tensor("self");
  const at::ScalarType dtype = input.scalar_type();
  if (call.schema().returns().size() == 1) {
    call.Return(Contiguous(Sizes{}, dtype));
    return;
  }
  const Sizes sizes =
      Reduced(input, {call.Int("dim", -1)}, call.Bool("keepdim", false));
  call.Return(Contiguous(sizes, dtype));
  call.Return(Contiguous(sizes, at::kLong));
}

void Count(Call& call) { call.Return(Contiguous(Reduced(call), at::kLong)); }

void ToScalar(Call& call) {
  call.Return(Contiguous(Sizes{}, call.FirstTensor().scalar_type()));
}

void SumToScalar(Call& call) {
  const at::ScalarType dtype = call.FirstTensor().scalar_type();
  const bool integral = c10::isIntegralType(dtype, /*includeBool=*/true);
  call.Return(Contiguous(Sizes{}, integral ? at::kLong : dtype));
}

void Cumulative(Call& call) {
  const at::Tensor input = call.Tensor("self");
  call.Return(Contiguous(input.sizes(), FloatingType(input.scalar_type())));
}

// _cummax_helper writes into tensors that exist already.
void Nothing(Call&) {}

void Histogram(Call& call) {
  const at::Tensor& input = call.FirstTensor();
  call.Return(Contiguous(Sizes{call.Int("bins")}, input.scalar_type()));
}

constexpr KernelRow kReductionKernels[] = {
    {"max.unary_out", SameType},
    {"max", SameType},
    {"min", SameType},
    {"_aminmax", LowestAndHighest},
    {"median", ValueAndPlace},
    {"nanmedian", ValueAndPlace},
    {"mode", ValueAndPlace},
    {"kthvalue", ValueAndPlace},
    {"prod", Accumulated},
    {"nansum", Accumulated},
    {"logsumexp", ReducedToFloat},
    {"std", SpreadOnly},
    {"var", SpreadOnly},
    {"std_mean", SpreadAndMean},
    {"var_mean", SpreadAndMean},
    {"count_nonzero", Count},
    {"dot", ToScalar},
    {"vdot", ToScalar},
    {"trace", SumToScalar},
    {"native_norm", ToScalar},
    {"_logcumsumexp", Cumulative},
    {"_cummax_helper", Nothing},
    {"_cummin_helper", Nothing},
    {"histc", Histogram},
};

}  // namespace

std::span<const KernelRow> ReductionKernels() { return kReductionKernels; }

}  // namespace foretell::meta
