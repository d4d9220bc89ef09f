// Reading and writing at indices.
#include <ATen/ExpandUtils.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "src/core/failure.h"
#include "src/program/checks/families.h"
#include "src/program/checks/predicates.h"

namespace foretell::checks {
namespace {

constexpr std::initializer_list<at::ScalarType> kIndexTypes = {at::kLong,
                                                               at::kInt};

bool IsMask(const at::Tensor& index) {
  return index.scalar_type() == at::kBool || index.scalar_type() == at::kByte;
}

void RequireIndex(const at::Tensor& index) {
  if (index.scalar_type() != at::kLong && index.scalar_type() != at::kInt) {
    throw InvalidArgument(
        "takes elements at numbers of type {}, expected i64 or i32",
        TypeText(index));
  }
  if (index.dim() > 1) {
    throw InvalidArgument(
        "takes elements at numbers of shape {}, expected a vector",
        Text(index.sizes()));
  }
}

/// index_select (TensorAdvancedIndexing.cpp).
void CheckIndexSelect(const Call& call) {
  const at::Tensor& self = call.Tensor("self");
  RequireIndex(call.Tensor("index"));
  RequireDim(call.Int("dim"), self.dim());
  if (self.dim() == 0) RequireElements(call.Tensor("index"), "an index", 1);
}

void CheckIndexFill(const Call& call) {
  RequireIndex(call.Tensor("index"));
  RequireOneOf(call.Tensor("index"), "an index", {at::kLong});
  RequireDim(call.Int("dim"), call.Tensor("self").dim());
  if (call.IsTensor("value")) {
    RequireRank(call.Tensor("value"), "a value", 0, 0);
  } else {
    RequireHolds(call.Tensor("self"), call.Scalar("value"));
  }
}

void CheckIndexAdd(const Call& call) {
  const at::Tensor& self = call.Tensor("self");
  const at::Tensor& source = call.Tensor("source");
  RequireIndex(call.Tensor("index"));
  if (self.scalar_type() != source.scalar_type()) {
    throw InvalidArgument("adds elements of type {} to ones of type {}",
                          TypeText(source), TypeText(self));
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
  throw InvalidArgument(
      "adds a tensor of shape {} at {} places of dimension {} of one of shape "
      "{}",
      Text(source.sizes()), call.Tensor("index").numel(), dim,
      Text(self.sizes()));
}

/// Indices are integers, or masks of the dimensions that they replace.
void RequireIndices(const at::Tensor& self,
                    const std::vector<at::Tensor>& indices) {
  std::int64_t axis = 0;
  for (const at::Tensor& index : indices) {
    RequireOneOf(index, "an index",
                 {at::kLong, at::kInt, at::kByte, at::kBool});
    const std::int64_t taken =
        index.defined() && IsMask(index) ? index.dim() : 1;
    if (axis + taken > self.dim()) {
      throw InvalidArgument(
          "has indices of more than the {} dimensions of shape {}", self.dim(),
          Text(self.sizes()));
    }
    if (index.defined() && IsMask(index)) {
      RequireShape(index, "a mask", self.sizes().slice(axis, taken));
    }
    axis += taken;
  }
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
    if (IsMask(indices[i])) return std::nullopt;
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
  const std::vector<at::Tensor> indices = call.OptionalTensors("indices");
  // One number on the host at a mask is masked_fill, which converts it.
  const bool may_fill = values.is_cpu() && values.numel() == 1 &&
                        std::ranges::any_of(indices, [](const auto& index) {
                          return index.defined() && IsMask(index);
                        });
  if (self.scalar_type() != values.scalar_type() && !may_fill) {
    throw InvalidArgument("puts elements of type {} among ones of type {}",
                          TypeText(values), TypeText(self));
  }
  RequireIndices(self, indices);
  const auto shape = ShapeAt(self, indices);
  if (!shape || at::is_expandable_to(values.sizes(), *shape)) return;
  throw InvalidArgument("puts a tensor of shape {} at places of shape {}",
                        Text(values.sizes()), Text(*shape));
}

/// put_ and take: numbers into a flat tensor (TensorAdvancedIndexing.cpp).
void CheckPut(const Call& call) {
  const at::Tensor& index = call.Tensor("index");
  const at::Tensor& source = call.Tensor("source");
  RequireOneOf(index, "an index", {at::kLong});
  RequireTypeOf(source, "a source", call.Tensor("self"), "an operand");
  RequireElements(source, "a source", index.numel());
}

void CheckTake(const Call& call) {
  const at::Tensor& self = call.Tensor("self");
  const at::Tensor& index = call.Tensor("index");
  RequireOneOf(index, "an index", {at::kLong});
  if (self.numel() > 0 || index.numel() == 0) return;
  throw InvalidArgument("takes {} elements of a tensor of shape {}",
                        index.numel(), Text(self.sizes()));
}

/// check_arguments (EmbeddingBag.cpp), which CUDA does in part; indices and
/// offsets are promoted to one type.
void CheckEmbeddingBag(const Call& call) {
  const at::Tensor& weight = call.Tensor("weight");
  const at::Tensor samples = call.TensorOrUndefined("per_sample_weights");
  RequireFloats(weight);
  RequireRank(weight, "a weight", 2, 2);
  for (const std::string_view name : {"indices", "offsets"}) {
    if (at::isIntegralType(call.Tensor(name).scalar_type(), true)) continue;
    RequireOneOf(call.Tensor(name), name, kIndexTypes);
  }
  RequireRank(call.Tensor("indices"), "indices", 1, 2);
  RequireRank(call.Tensor("offsets"), "offsets", 1, 1);
  RequireTypeOf(samples, "per_sample_weights", weight, "a weight");
}

/// one_hot (Onehot.cpp); -1 asks for as many classes as the elements name.
void CheckOneHot(const Call& call) {
  const std::int64_t classes = call.Int("num_classes", -1);
  if (classes == -1 || call.Tensor("self").numel() == 0) return;
  RequireAtLeast(classes, "num_classes", 1);
}

/// repeat_interleave (Repeat.cpp).
void CheckRepeatInterleave(const Call& call) {
  if (!call.IsTensor("repeats")) return;
  RequireOneOf(call.Tensor("repeats"), "repeats", kIndexTypes);
  RequireRank(call.Tensor("repeats"), "repeats", 0, 1);
}

/// searchsorted_pre_check (BucketizationUtils.h).
void CheckBucketize(const Call& call) {
  RequireRank(call.Tensor("boundaries"), "boundaries", 1, 1);
}

void CheckSearchSorted(const Call& call) {
  const at::Tensor& boundaries = call.Tensor("sorted_sequence");
  if (boundaries.dim() == 0) {
    throw InvalidArgument(
        "searches in a number, expected a tensor of at least 1 dimension");
  }
  const at::Tensor sorter = call.TensorOrUndefined("sorter");
  RequireOneOf(sorter, "a sorter", {at::kLong});
  RequireShape(sorter, "a sorter", boundaries.sizes());
  if (!call.IsTensor("self") || boundaries.dim() == 1) return;
  const at::Tensor& self = call.Tensor("self");
  Sizes expected = boundaries.sizes().vec();
  expected.back() = self.dim() > 0 ? self.size(-1) : 1;
  RequireShape(self, "an operand", expected);
}

constexpr std::array kIndexRows = std::to_array<OperandRow>({
    {"bucketize", &CheckBucketize},
    {"embedding_bag", &CheckEmbeddingBag},
    {"index_add", &CheckIndexAdd},
    {"index_add_", &CheckIndexAdd},
    {"index_fill", &CheckIndexFill},
    {"index_fill_", &CheckIndexFill},
    {"index_put", &CheckIndexPut},
    {"index_put_", &CheckIndexPut},
    {"index_select", &CheckIndexSelect},
    {"one_hot", &CheckOneHot},
    {"put", &CheckPut},
    {"put_", &CheckPut},
    {"repeat_interleave", &CheckRepeatInterleave},
    {"searchsorted", &CheckSearchSorted},
    {"take", &CheckTake},
});

}  // namespace

std::span<const OperandRow> IndexRows() { return kIndexRows; }

}  // namespace foretell::checks
