// What an ATen operator does, by its name.
//
// The table of op_kind_table.h lists names by kind, which is the easiest way to
// read and extend it. The compiler splits the lists into single names and sorts
// them, so that a look-up is one binary search and a name that is listed twice
// does not compile.

#include "src/graph/op_kind_table.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "src/core/name_table.h"

namespace foretell {
namespace {

constexpr NameTable<kNumOpKinds> kKindNames = {
    "convolution",
    "transposed_convolution",
    "convolution_backward",
    "linear",
    "matmul",
    "einsum",
    "attention",
    "attention_backward",
    "recurrent",
    "recurrent_backward",
    "embedding",
    "embedding_backward",
    "batch_norm",
    "layer_norm",
    "group_norm",
    "instance_norm",
    "rms_norm",
    "local_response_norm",
    "norm_backward",
    "softmax",
    "softmax_backward",
    "relu",
    "gelu",
    "silu",
    "sigmoid",
    "tanh",
    "hard_activation",
    "other_activation",
    "activation_backward",
    "max_pool",
    "average_pool",
    "pool_backward",
    "add",
    "subtract",
    "multiply",
    "divide",
    "elementwise",
    "compare",
    "select",
    "reduce",
    "arg_reduce",
    "sort",
    "cumulative",
    "view",
    "copy",
    "cast",
    "concat",
    "pad",
    "upsample",
    "upsample_backward",
    "gather",
    "scatter",
    "fill",
    "random",
    "dropout",
    "fft",
    "detection",
    "loss",
    "optimizer_update",
    "collective",
    "other",
};

struct Entry {
  std::string_view target;
  OpKind kind = OpKind::kOther;
};

constexpr std::size_t CountTargets() {
  std::size_t count = 0;
  for (const OpKindRow& row : kOpKindRows) {
    count += 1 + static_cast<std::size_t>(
                     std::count(row.targets.begin(), row.targets.end(), ' '));
  }
  return count;
}

constexpr std::array<Entry, CountTargets()> SortedEntries() {
  std::array<Entry, CountTargets()> entries;
  std::size_t next = 0;
  for (const OpKindRow& row : kOpKindRows) {
    std::string_view rest = row.targets;
    while (!rest.empty()) {
      const std::size_t length = std::min(rest.find(' '), rest.size());
      entries[next++] = {rest.substr(0, length), row.kind};
      rest.remove_prefix(std::min(length + 1, rest.size()));
    }
  }
  std::ranges::sort(entries, {}, &Entry::target);
  return entries;
}

constexpr std::array<Entry, CountTargets()> kEntries = SortedEntries();

constexpr bool NamesAreUnique() {
  return std::ranges::adjacent_find(kEntries, {}, &Entry::target) ==
         kEntries.end();
}
static_assert(NamesAreUnique(), "an operator is in the table twice");
static_assert(!kEntries.front().target.empty(), "two blanks in a row");

OpKind Find(std::string_view target) {
  const auto* entry =
      std::ranges::lower_bound(kEntries, target, {}, &Entry::target);
  const bool found = entry != kEntries.end() && entry->target == target;
  return found ? entry->kind : OpKind::kOther;
}

}  // namespace

std::string_view OpKindName(OpKind kind) { return NameIn(kKindNames, kind); }

OpKind OpKindOf(std::string_view target) {
  constexpr std::string_view kNamespace = "aten::";
  if (target.starts_with(kNamespace)) target.remove_prefix(kNamespace.size());
  target = target.substr(0, target.find('.'));
  const bool in_place = target.ends_with('_') && !target.ends_with("__");
  if (in_place) target.remove_suffix(1);
  // The multi-tensor operators exist for optimizers.
  if (target.starts_with("_foreach_")) return OpKind::kOptimizerUpdate;
  return Find(target);
}

}  // namespace foretell
