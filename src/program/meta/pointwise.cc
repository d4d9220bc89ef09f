// Arithmetic, comparisons and selections, element by element with
// broadcasting.

#include "src/program/meta/families.h"
#include "src/program/meta/shapes.h"

namespace foretell::meta {
namespace {

void Promote(Call& call) { ReturnPointwise(call, call.ReadTensors()); }

void ToBool(Call& call) {
  ReturnPointwise(call, call.ReadTensors(), at::kBool);
}

void ToFloat(Call& call) {
  const std::vector<at::Tensor> inputs = call.ReadTensors();
  ReturnPointwise(call, inputs, FloatingType(PromotedType(inputs)));
}

// abs and angle of complex numbers are real.
void ToReal(Call& call) {
  const at::Tensor input = call.Tensor("self");
  ReturnPointwise(call, {input}, c10::toRealValueType(input.scalar_type()));
}

void Angle(Call& call) {
  const at::Tensor input = call.Tensor("self");
  ReturnPointwise(call, {input},
                  FloatingType(c10::toRealValueType(input.scalar_type())));
}

void ToComplex(Call& call) {
  const std::vector<at::Tensor> inputs = call.ReadTensors();
  ReturnPointwise(call, inputs, c10::toComplexType(PromotedType(inputs)));
}

void Where(Call& call) {
  const at::Tensor condition = call.Tensor("condition");
  const at::Tensor self = call.Tensor("self");
  const at::Tensor other = call.Tensor("other");
  ReturnPointwise(call, {condition, self, other}, PromotedType({self, other}));
}

void Frexp(Call& call) {
  const at::Tensor input = call.Tensor("self");
  ReturnPointwise(call, {input});
  ReturnPointwise(call, {input}, at::kInt);
}

// Places in sorted boundaries: as large as the values that are looked up.
void Search(Call& call) {
  const at::ScalarType dtype =
      call.Bool("out_int32", false) ? at::kInt : at::kLong;
  const bool of_tensor = call.IsTensor("self");
  call.Return(Contiguous(
      of_tensor ? call.Tensor("self").sizes() : at::IntArrayRef{}, dtype));
}

constexpr KernelRow kPointwiseKernels[] = {
    {"abs", ToReal},
    {"angle", Angle},
    {"where", Where},
    {"isnan", ToBool},
    {"logical_and", ToBool},
    {"logical_or", ToBool},
    {"logical_xor", ToBool},
    {"logical_not", ToBool},
    {"logit", ToFloat},
    {"nan_to_num", Promote},
    {"mvlgamma", ToFloat},
    {"floor_divide", Promote},
    {"rsub", Promote},
    {"remainder", Promote},
    {"conj_physical", Promote},
    {"__lshift__", Promote},
    {"__rshift__", Promote},
    {"__ilshift__", Promote},
    {"__irshift__", Promote},
    {"complex", ToComplex},
    {"polar", ToComplex},
    {"frexp", Frexp},
    {"bucketize", Search},
    {"searchsorted", Search},
};

}  // namespace

std::span<const KernelRow> PointwiseKernels() { return kPointwiseKernels; }

}  // namespace foretell::meta
