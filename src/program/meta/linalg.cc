// Matrix products and factorisations that LibTorch leaves out on meta.

#include <ATen/ATen.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "src/program/meta/families.h"
#include "src/program/meta/repeat_scope.h"
#include "src/program/meta/shapes.h"

namespace foretell::meta {
namespace {

void LikeFirst(Call& call) {
  const at::Tensor& input = call.FirstTensor();
  call.Return(Contiguous(input.sizes(), input.scalar_type()));
}

// Column-major matrices, as LAPACK and cuSOLVER write them.
TensorSpec ColumnMajor(at::IntArrayRef sizes, at::ScalarType dtype) {
  TensorSpec spec = Contiguous(sizes, dtype);
  spec.strides.assign(sizes.size(), 1);
  std::int64_t stride = sizes[sizes.size() - 2] * sizes.back();
  for (std::size_t i = sizes.size() - 2; i-- > 0;) {
    spec.strides[i] = stride;
    stride *= sizes[i];
  }
  spec.strides.back() = sizes[sizes.size() - 2];
  return spec;
}

void LikeFirstColumnMajor(Call& call) {
  const at::Tensor& input = call.FirstTensor();
  TORCH_CHECK(input.dim() >= 2, call.schema().name(), ": the input has rank ",
              input.dim(), ", expected at least 2");
  call.Return(ColumnMajor(input.sizes(), input.scalar_type()));
}

// batch1 [B, n, m] times batch2 [B, m, p], summed over B: a product per matrix,
// added to a copy of self (addbmm_impl_ in
// aten/src/ATen/native/LinearAlgebra.cpp).
void SumOfProducts(Call& call) {
  const at::Tensor self = call.Tensor("self");
  const at::Tensor left = call.Tensor("batch1");
  const at::Tensor right = call.Tensor("batch2");
  at::Tensor sum = call.Return(
      Contiguous(Sizes{left.size(1), right.size(2)}, self.scalar_type()));
  if (!sum.is_same(self)) sum.copy_(self);
  if (left.size(0) == 0) return;
  const RepeatScope repeat(left.size(0));
  sum.addmm_(left.select(0, 0), right.select(0, 0));
}

// self plus the outer product of vectors: one kernel that broadcasts.
void AddedOuterProduct(Call& call) {
  at::Tensor self = call.Tensor("self");
  for (const char* name : {"vec1", "vec2"}) {
    const std::int64_t rank = call.Tensor(name).dim();
    TORCH_CHECK(rank == 1, "addr: Expected 1-D argument ", name, ", but got ",
                rank, "-D");
  }
  const at::Tensor column = call.Tensor("vec1").unsqueeze(1);
  const at::Tensor row = call.Tensor("vec2");
  const Sizes sizes = {column.size(0), row.size(0)};
  if (!self.sizes().equals(sizes)) self = self.expand(sizes);
  at::Tensor out = call.NextOutput();
  call.Return(out.defined() ? at::addcmul_out(out, self, column, row)
                            : at::addcmul(self, column, row));
}

// What `_trilinear` adds per index of dimension `unrolled`: an einsum of the
// operands, a letter per dimension, taken at the first index of that one.
struct Column {
  Sizes extents;  // Of all dimensions.
  std::vector<at::Tensor> factors;
  std::string equation;
};

void AddFactor(at::Tensor factor, const Sizes& missing, std::int64_t unrolled,
               Column& column) {
  if (!column.factors.empty()) column.equation += ',';
  column.extents.resize(static_cast<std::size_t>(factor.dim()) +
                        missing.size());
  std::int64_t place = 0;
  for (std::int64_t dim = 0; dim < std::ssize(column.extents); ++dim) {
    if (std::ranges::count(missing, dim) > 0) continue;
    column.extents[static_cast<std::size_t>(dim)] = factor.size(place);
    if (dim == unrolled) {
      factor = factor.select(place, 0);
    } else {
      column.equation += static_cast<char>('a' + dim);
      ++place;
    }
  }
  column.factors.push_back(std::move(factor));
}

// The sum of products of three tensors that `bilinear` and its gradients call:
// for every index of one dimension the first two are contracted, then their
// product with the third (aten/src/ATen/native/Linear.cpp).
void SumOfTriples(Call& call) {
  const std::int64_t unrolled = call.Int("unroll_dim", 1);
  Column column;
  for (const std::string number : {"1", "2", "3"}) {
    AddFactor(call.Tensor("i" + number), call.Ints("expand" + number), unrolled,
              column);
  }
  const std::int64_t rank = std::ssize(column.extents);
  TORCH_CHECK(unrolled >= 0 && unrolled < rank, "_trilinear: unroll_dim is ",
              unrolled, ", expected 0 to ", rank - 1);
  column.equation += "->";
  Sizes sizes;
  std::optional<std::int64_t> place;  // Of the unrolled dimension.
  const Sizes summed = call.Ints("sumdim");
  for (std::int64_t dim = 0; dim < rank; ++dim) {
    if (std::ranges::count(summed, dim) > 0) continue;
    if (dim == unrolled) place = std::ssize(sizes);
    if (dim != unrolled) column.equation += static_cast<char>('a' + dim);
    sizes.push_back(column.extents[static_cast<std::size_t>(dim)]);
  }
  const at::Tensor sum = at::zeros(sizes, call.Tensor("i1").options());
  call.Return(sum);
  if (std::ranges::count(column.extents, 0) > 0) return;
  const RepeatScope repeat(column.extents[static_cast<std::size_t>(unrolled)]);
  at::Tensor part = place ? sum.select(*place, 0) : sum;
  part.add_(at::einsum(column.equation, column.factors));
}

void IntegerProduct(Call& call) {
  call.Return(Contiguous(
      Sizes{call.Tensor("self").size(0), call.Tensor("mat2").size(1)},
      at::kInt));
}

void ScaledProduct(Call& call) {
  const at::Tensor& self = call.Tensor("self");
  call.Return(Contiguous(Sizes{self.size(0), call.Tensor("mat2").size(1)},
                         call.DType("out_dtype").value_or(self.scalar_type())));
}

// mm, bmm, addmm, baddbmm with a type of result that is asked for.
void TypedProduct(Call& call) {
  const char* left = call.Has("mat1")     ? "mat1"
                     : call.Has("batch1") ? "batch1"
                                          : "self";
  const char* right = call.Has("batch2") ? "batch2" : "mat2";
  Sizes sizes = call.Tensor(left).sizes().vec();
  sizes.back() = call.Tensor(right).size(-1);
  call.Return(Contiguous(
      sizes,
      call.DType("out_dtype").value_or(call.Tensor(left).scalar_type())));
}

// One product per group of a mixture of experts: `offs` states where groups of
// rows end; their sizes depend on the data, so the result has all rows. A
// factor of rank 3 has a matrix per group; two of rank 2 are divided along the
// dimension that is summed over, as for the gradient of the weights. CUDA pads
// rows to 16 bytes.
void GroupedProduct(Call& call) {
  constexpr std::int64_t kRowBytes = 16;
  const at::Tensor& left = call.Tensor("self");
  const at::Tensor& right = call.Tensor("mat2");
  TORCH_CHECK(left.dim() >= 2 && left.dim() <= 3 && right.dim() >= 2 &&
                  right.dim() <= 3,
              call.schema().name(), ": factors of ranks ", left.dim(), " and ",
              right.dim(), ", expected 2 or 3");
  Sizes sizes = {left.size(-2), right.size(-1)};
  if (left.dim() == right.dim()) {
    const at::Tensor& groups = left.dim() == 3 ? left : call.Tensor("offs");
    sizes.insert(sizes.begin(), groups.size(0));
  }
  const at::ScalarType dtype =
      call.DType("out_dtype").value_or(left.scalar_type());
  TensorSpec spec = Contiguous(sizes, dtype);
  const auto each = static_cast<std::int64_t>(c10::elementSize(dtype));
  const std::int64_t row =
      (sizes.back() * each + kRowBytes - 1) / kRowBytes * kRowBytes / each;
  spec.strides = {row, 1};
  if (sizes.size() == 3)
    spec.strides.insert(spec.strides.begin(), sizes[1] * row);
  call.Return(spec);
}

// Weights packed as 8-bit integers [out, in].
void Int8Product(Call& call) {
  const at::Tensor& self = call.Tensor("self");
  call.Return(Contiguous(Sizes{self.size(0), call.Tensor("mat2").size(0)},
                         self.scalar_type()));
}

// Weights packed as 4-bit integers, in tiles of 8 columns [out / 8, …].
void Int4Product(Call& call) {
  constexpr std::int64_t kTile = 8;
  const at::Tensor& self = call.Tensor("self");
  call.Return(
      Contiguous(Sizes{self.size(0), call.Tensor("mat2").size(0) * kTile},
                 self.scalar_type()));
}

void Eigen(Call& call) {
  const at::Tensor& input = call.Tensor("self");
  const at::ScalarType dtype = c10::toComplexType(input.scalar_type());
  call.Return(
      Contiguous(input.sizes().slice(0, input.sizes().size() - 1), dtype));
  if (call.schema().returns().size() > 1) {
    call.Return(ColumnMajor(input.sizes(), dtype));
  }
}

void QrFactors(Call& call) {
  const at::Tensor& input = call.Tensor("self");
  Sizes tau = input.sizes().vec();
  tau.pop_back();
  tau.back() = std::min(input.size(-1), input.size(-2));
  call.Return(ColumnMajor(input.sizes(), input.scalar_type()));
  call.Return(Contiguous(tau, input.scalar_type()));
}

void SolveTriangular(Call& call) {
  const at::Tensor& matrix = call.Tensor("self");
  const at::Tensor& right = call.Tensor("B");
  const auto rank = static_cast<std::size_t>(matrix.dim());
  Sizes sizes = right.sizes().vec();
  if (sizes.size() < rank) sizes.insert(sizes.begin(), rank - sizes.size(), 1);
  for (std::size_t i = 0; i + 2 < rank; ++i) {
    std::int64_t& size = sizes[sizes.size() - rank + i];
    size = std::max(size, matrix.sizes()[i]);
  }
  call.Return(ColumnMajor(sizes, right.scalar_type()));
}

// Distances between rows: of two sets, or of one with itself.
void PairDistances(Call& call) {
  const at::Tensor& left = call.Tensor("x1");
  const at::Tensor& right = call.Tensor("x2");
  Sizes sizes = left.sizes().vec();
  sizes.back() = right.size(-2);
  call.Return(Contiguous(sizes, left.scalar_type()));
}

void OwnDistances(Call& call) {
  const at::Tensor& input = call.Tensor("self");
  const std::int64_t rows = input.size(0);
  call.Return(Contiguous(Sizes{rows * (rows - 1) / 2}, input.scalar_type()));
}

void DistancesBackward(Call& call) {
  const at::Tensor& input = call.Tensor(call.Has("x1") ? "x1" : "self");
  call.Return(Contiguous(input.sizes(), input.scalar_type()));
}

constexpr KernelRow kLinalgKernels[] = {
    {"addbmm", SumOfProducts},
    {"addr", AddedOuterProduct, Policy::kOverride},
    {"_trilinear.", SumOfTriples, Policy::kOverride},
    {"_int_mm", IntegerProduct},
    {"_scaled_mm", ScaledProduct},
    {"_scaled_mm_v2", ScaledProduct},
    {"_grouped_mm", GroupedProduct, Policy::kOverride},
    {"mm.dtype", TypedProduct},
    {"bmm.dtype", TypedProduct},
    {"addmm.dtype", TypedProduct},
    {"addmm.dtype_out", TypedProduct},
    {"baddbmm.dtype", TypedProduct},
    {"_weight_int4pack_mm", Int4Product},
    {"_weight_int8pack_mm", Int8Product},
    {"cholesky", LikeFirstColumnMajor},
    {"cholesky_inverse", LikeFirstColumnMajor},
    {"_cholesky_solve_helper", LikeFirstColumnMajor},
    {"geqrf", QrFactors},
    {"linalg_householder_product", LikeFirstColumnMajor},
    {"linalg_eig", Eigen},
    {"linalg_eigvals", Eigen},
    {"_linalg_eigvals", Eigen},
    {"linalg_matrix_exp", LikeFirst},
    {"linalg_solve_triangular", SolveTriangular},
    {"_cdist_forward", PairDistances},
    {"_cdist_backward", DistancesBackward},
    {"_pdist_forward", OwnDistances},
    {"_pdist_backward", DistancesBackward},
};

}  // namespace

std::span<const KernelRow> LinalgKernels() { return kLinalgKernels; }

}  // namespace foretell::meta
