// One row for each operator whose meta kernel looks at less than its other
// ones. The rows come from calls with misfitting operands on both devices
// (tests/program/operand_checks_test.cc), the rules from LibTorch 2.13.
#include "src/program/operand_checks.h"

#include <ATen/ExpandUtils.h>
#include <ATen/core/Tensor.h>
#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foretell/error.h"
#include "foretell/program.h"
#include "src/program/meta/call.h"

namespace foretell {
namespace {

using meta::Call;
using meta::Sizes;

[[noreturn]] void Fail(const std::string& message) {
  throw Error(ErrorCode::kInvalidArgument, message);
}

std::string Text(at::IntArrayRef sizes) {
  return fmt::format("[{}]", fmt::join(sizes.begin(), sizes.end(), ","));
}

std::string TypeText(const at::Tensor& tensor) {
  return std::string(DTypeName(ToDType(tensor.scalar_type())));
}

// ---- Sums beside a product -------------------------------------------------

void RequireExpands(const at::Tensor& sum, const Sizes& product) {
  if (at::is_expandable_to(sum.sizes(), product)) return;
  Fail(
      fmt::format("adds a tensor of shape {} to a product of shape {}, to "
                  "which it does not expand",
                  Text(sum.sizes()), Text(product)));
}

/// addmm: expand_size in structured_addmm_out_cpu and its CUDA counterpart
/// (aten/src/ATen/native/LinearAlgebra.cpp).
void CheckAddmm(const Call& call) {
  const at::Tensor& left = call.Tensor("mat1");
  const at::Tensor& right = call.Tensor("mat2");
  if (left.dim() != 2 || right.dim() != 2) return;
  RequireExpands(call.Tensor("self"), {left.size(0), right.size(1)});
}

/// linear: addmm, or a product and a sum in place
/// (aten/src/ATen/native/Linear.cpp).
void CheckLinear(const Call& call) {
  const at::Tensor bias = call.TensorOrUndefined("bias");
  const at::Tensor& input = call.Tensor("input");
  const at::Tensor& weight = call.Tensor("weight");
  if (!bias.defined() || input.dim() == 0 || weight.dim() == 0) return;
  Sizes product(input.sizes().begin(), input.sizes().end() - 1);
  if (weight.dim() == 2) product.push_back(weight.size(0));
  RequireExpands(bias, product);
}

// ---- Convolutions ----------------------------------------------------------

void RequireAll(const Call& call, std::string_view name, std::size_t rank,
                std::int64_t least) {
  const Sizes numbers = call.Ints(name, rank, least);
  const auto small = std::ranges::find_if(
      numbers, [&](std::int64_t number) { return number < least; });
  if (small == numbers.end()) return;
  Fail(fmt::format("has {} {}, expected at least {}", name, *small, least));
}

/// check_shape_forward (aten/src/ATen/native/Convolution.cpp).
void CheckConvolution(const Call& call, bool transposed) {
  const at::Tensor& input = call.FirstTensor();
  const at::Tensor& weight = call.Tensor("weight");
  const at::Tensor bias = call.TensorOrUndefined("bias");
  if (weight.dim() < 3) return;
  const auto rank = static_cast<std::size_t>(weight.dim() - 2);
  // A padding may be a word.
  if (call.IsList("padding")) RequireAll(call, "padding", rank, 0);
  RequireAll(call, "dilation", rank, 1);
  RequireAll(call, "stride", rank, 1);
  if (input.scalar_type() != weight.scalar_type()) {
    Fail(
        fmt::format("convolves elements of type {} with weights of type {}, "
                    "which must be the same",
                    TypeText(input), TypeText(weight)));
  }
  if (!bias.defined()) return;
  const std::int64_t filters =
      transposed ? weight.size(1) * call.Int("groups", 1) : weight.size(0);
  if (bias.dim() == 1 && bias.size(0) == filters) return;
  Fail(fmt::format("has a bias of shape {}, its weight of shape {} needs [{}]",
                   Text(bias.sizes()), Text(weight.sizes()), filters));
}

void CheckForward(const Call& call) { CheckConvolution(call, false); }

void CheckTransposed(const Call& call) {
  CheckConvolution(call, true);
  const at::Tensor& weight = call.Tensor("weight");
  if (weight.dim() < 3) return;
  const auto rank = static_cast<std::size_t>(weight.dim() - 2);
  const Sizes added = call.Ints("output_padding", rank, 0);
  const Sizes strides = call.Ints("stride", rank, 1);
  const Sizes dilations = call.Ints("dilation", rank, 1);
  for (std::size_t i = 0; i < rank; ++i) {
    if (added[i] < std::max(strides[i], dilations[i])) continue;
    Fail(
        fmt::format("has output_padding {}, which is not below its stride {} "
                    "or dilation {}",
                    added[i], strides[i], dilations[i]));
  }
}

void CheckEither(const Call& call) {
  CheckConvolution(call, call.Bool("transposed", false));
}

// ---- Indices ---------------------------------------------------------------

void RequireIndex(const at::Tensor& index) {
  const at::ScalarType type = index.scalar_type();
  if (type != at::kLong && type != at::kInt) {
    Fail(
        fmt::format("takes elements at numbers of type {}, expected i64 or "
                    "i32",
                    TypeText(index)));
  }
  if (index.dim() > 1) {
    Fail(fmt::format("takes elements at numbers of shape {}, expected a vector",
                     Text(index.sizes())));
  }
}

/// index_select, index_add, index_fill (TensorAdvancedIndexing.cpp).
void CheckIndex(const Call& call) { RequireIndex(call.Tensor("index")); }

void CheckIndexAdd(const Call& call) {
  const at::Tensor& self = call.Tensor("self");
  const at::Tensor& source = call.Tensor("source");
  RequireIndex(call.Tensor("index"));
  if (self.scalar_type() != source.scalar_type()) {
    Fail(fmt::format("adds elements of type {} to ones of type {}",
                     TypeText(source), TypeText(self)));
  }
  const std::int64_t rank = self.dim();
  std::int64_t dim = call.Int("dim");
  if (dim < 0) dim += rank;
  bool fits = source.dim() == rank;
  for (std::int64_t i = 0; fits && i < rank; ++i) {
    const std::int64_t wanted =
        i == dim ? call.Tensor("index").numel() : self.size(i);
    fits = source.size(i) == wanted;
  }
  if (fits || rank == 0) return;
  Fail(
      fmt::format("adds a tensor of shape {} at {} places of dimension {} of "
                  "one of shape {}",
                  Text(source.sizes()), call.Tensor("index").numel(), dim,
                  Text(self.sizes())));
}

/// Shape of self[indices]; empty where it depends on what a mask holds.
std::optional<Sizes> ShapeAt(const at::Tensor& self,
                             const std::vector<at::Tensor>& indices) {
  Sizes common;
  Sizes shape;
  std::optional<std::size_t> place;
  bool is_torn = false;  // Then the dimensions of the indices come first.
  for (std::size_t i = 0; i < static_cast<std::size_t>(self.dim()); ++i) {
    const bool is_index = i < indices.size() && indices[i].defined();
    if (!is_index) {
      shape.push_back(self.size(static_cast<std::int64_t>(i)));
      continue;
    }
    const at::ScalarType type = indices[i].scalar_type();
    if (type == at::kBool || type == at::kByte) return std::nullopt;
    common = at::infer_size(common, indices[i].sizes());
    is_torn = is_torn || (place && shape.size() > *place);
    if (!place) place = shape.size();
  }
  const std::size_t front = is_torn ? 0 : place.value_or(0);
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(front),
               common.begin(), common.end());
  return shape;
}

void CheckIndexPut(const Call& call) {
  const at::Tensor& self = call.Tensor("self");
  const at::Tensor& values = call.Tensor("values");
  if (self.scalar_type() != values.scalar_type()) {
    Fail(fmt::format("puts elements of type {} among ones of type {}",
                     TypeText(values), TypeText(self)));
  }
  const auto shape = ShapeAt(self, call.OptionalTensors("indices"));
  if (!shape || at::is_expandable_to(values.sizes(), *shape)) return;
  Fail(fmt::format("puts a tensor of shape {} at places of shape {}",
                   Text(values.sizes()), Text(*shape)));
}

// ---- Dimensions and types --------------------------------------------------

void CheckDim(const Call& call) {
  const std::int64_t rank = std::max<std::int64_t>(call.FirstTensor().dim(), 1);
  const std::int64_t dim = call.Int("dim", -1);
  if (dim >= -rank && dim < rank) return;
  Fail(fmt::format("works along dimension {} of a tensor of rank {}", dim,
                   call.FirstTensor().dim()));
}

void CheckFloats(const Call& call) {
  const at::ScalarType type = call.FirstTensor().scalar_type();
  if (at::isFloatingType(type) || at::isComplexType(type)) return;
  Fail(
      fmt::format("has no kernel for elements of type {}, only for "
                  "floating-point ones",
                  TypeText(call.FirstTensor())));
}

/// softmax(x, dim, dtype): a given type is cast to first.
void CheckSoftmax(const Call& call) {
  CheckDim(call);
  if (!call.DType("dtype")) CheckFloats(call);
}

/// Interpolation, which the CPU also has for bytes.
void CheckImage(const Call& call) {
  if (call.FirstTensor().scalar_type() != at::kByte) CheckFloats(call);
}

void CheckIntegers(const Call& call) {
  const at::ScalarType type = call.FirstTensor().scalar_type();
  if (at::isIntegralType(type, /*includeBool=*/true)) return;
  Fail(fmt::format("combines bits of elements of type {}, expected integers",
                   TypeText(call.FirstTensor())));
}

void CheckNotFlags(const Call& call) {
  if (call.FirstTensor().scalar_type() != at::kBool) return;
  Fail("has no kernel for elements of type bool");
}

// ---- Images ----------------------------------------------------------------

void CheckGrid(const Call& call) {
  const at::Tensor& input = call.Tensor("input");
  const at::Tensor& grid = call.Tensor("grid");
  if (input.scalar_type() == grid.scalar_type()) return;
  Fail(
      fmt::format("samples elements of type {} at a grid of type {}, which "
                  "must be the same",
                  TypeText(input), TypeText(grid)));
}

// ---- The table -------------------------------------------------------------

struct OperandRow {
  std::string_view name;  ///< Without "aten::", of every overload.
  void (*check)(const Call& call);
};

constexpr std::array kOperandRows = std::to_array<OperandRow>({
    {"_convolution", &CheckEither},
    {"_softmax", &CheckDim},
    {"addmm", &CheckAddmm},
    {"addmm_", &CheckAddmm},
    {"bitwise_and", &CheckIntegers},
    {"bitwise_not", &CheckIntegers},
    {"bitwise_or", &CheckIntegers},
    {"bitwise_xor", &CheckIntegers},
    {"conv1d", &CheckForward},
    {"conv2d", &CheckForward},
    {"conv3d", &CheckForward},
    {"conv_transpose1d", &CheckTransposed},
    {"conv_transpose2d", &CheckTransposed},
    {"conv_transpose3d", &CheckTransposed},
    {"convolution", &CheckEither},
    {"gelu", &CheckFloats},
    {"grid_sampler", &CheckGrid},
    {"grid_sampler_2d", &CheckGrid},
    {"grid_sampler_3d", &CheckGrid},
    {"index_add", &CheckIndexAdd},
    {"index_add_", &CheckIndexAdd},
    {"index_fill", &CheckIndex},
    {"index_put", &CheckIndexPut},
    {"index_put_", &CheckIndexPut},
    {"index_select", &CheckIndex},
    {"linear", &CheckLinear},
    {"log_softmax", &CheckSoftmax},
    {"relu", &CheckNotFlags},
    {"silu", &CheckFloats},
    {"softmax", &CheckSoftmax},
    {"sort", &CheckDim},
    {"std", &CheckFloats},
    {"upsample_bicubic2d", &CheckImage},
    {"upsample_bilinear2d", &CheckImage},
    {"upsample_linear1d", &CheckImage},
    {"upsample_trilinear3d", &CheckImage},
    {"var", &CheckFloats},
});
static_assert(std::ranges::is_sorted(kOperandRows, {}, &OperandRow::name));

}  // namespace

void RequireOperandsFit(const c10::OperatorHandle& op,
                        torch::jit::Stack& stack) {
  constexpr std::string_view kNamespace = "aten::";
  std::string_view name = op.schema().name();
  const std::string_view overload = op.schema().overload_name();
  const bool names_dimensions = overload.find("imname") != overload.npos;
  if (!name.starts_with(kNamespace) || names_dimensions) return;
  name.remove_prefix(kNamespace.size());
  const auto* row =
      std::ranges::lower_bound(kOperandRows, name, {}, &OperandRow::name);
  if (row != kOperandRows.end() && row->name == name)
    row->check(Call(op, stack));
}

}  // namespace foretell
