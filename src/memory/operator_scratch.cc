#include "src/memory/operator_scratch.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "src/core/checked.h"
#include "src/memory/reduction_buffer.h"

// What operators allocate inside, which no trace on the meta device shows.
//
// All of it is read off PyTorch 2.11's sources, and equals the bytes that an
// H100 took beyond the results (datasets/labels/h100-sxm5-80gb/kinds.jsonl.gz,
// `workspace_bytes`), to the byte but for the attention of 32 bits, where some
// lengths take a second `delta`.

namespace foretell::memory {
namespace {

constexpr std::int64_t kFloatBytes = 4;
constexpr std::int64_t kLongBytes = 8;

const TensorType& TypeOf(const OperatorGraph& graph, const Node& node,
                         std::size_t place) {
  return graph.value(node.inputs[place]).type;
}

/// `_softmax_backward_data(grad, output)` multiplies its operands into a tensor
/// (softmax_backward_cuda_out in aten/src/ATen/native/cuda/SoftMax.cu).
std::vector<std::int64_t> OfSoftmax(const Node& node,
                                    const OperatorGraph& graph) {
  return {TypeOf(graph, node, 0).Bytes()};
}

/// The operands of a fused attention's gradient: grad_out, query, key, …, each
/// [batch, heads, length, width].
struct Attention {
  const TensorType& query;
  const TensorType& key;

  std::int64_t Batch() const { return query.shape[0]; }
  std::int64_t Heads() const { return query.shape[1]; }
  std::int64_t Length() const { return query.shape[2]; }
  std::int64_t Width() const { return query.shape[3]; }
};

/// mha_bwd in csrc/flash_attn/flash_api.cpp of FlashAttention 2, which PyTorch
/// builds: row sums, the gradient of the query in float, and where several
/// heads share a key the gradients of key and value for every head.
std::vector<std::int64_t> OfFlash(const Attention& at) {
  constexpr std::int64_t kRows = 128;
  constexpr std::int64_t kColumns = 32;
  constexpr std::int64_t kWidest = 192;
  const std::int64_t rows =
      at.Batch() * at.Heads() * RoundUp(at.Length(), kRows);
  const std::int64_t width = RoundUp(at.Width(), kColumns);
  const std::int64_t padded =
      width <= kWidest ? width : std::max<std::int64_t>(width, 256);
  std::vector<std::int64_t> sizes = {rows * kFloatBytes,
                                     rows * padded * kFloatBytes};
  if (at.key.shape[1] != at.Heads()) {
    const std::int64_t expanded = at.key.Bytes() / at.key.shape[1] * at.Heads();
    sizes.insert(sizes.end(), 2, expanded);
  }
  return sizes;
}

/// AttentionBackwardKernel in aten/src/ATen/native/transformers/cuda/
/// mem_eff_attention/kernel_backward.h: row sums, and the gradient of the query
/// in tiles of floats with 16 bytes each of locks.
std::vector<std::int64_t> OfEfficient(const Attention& at) {
  constexpr std::int64_t kTile = 64;
  constexpr std::int64_t kLockBytes = 16;
  const std::int64_t heads = at.Batch() * at.Heads();
  const std::int64_t tiles =
      heads * CeilDiv(at.Length(), kTile) * CeilDiv(at.Width(), kTile);
  return {heads * at.Length() * kFloatBytes,
          tiles * (kTile * kTile * kFloatBytes + kLockBytes)};
}

template <std::vector<std::int64_t> (*sizes)(const Attention&)>
std::vector<std::int64_t> OfAttention(const Node& node,
                                      const OperatorGraph& graph) {
  if (node.inputs.size() < 3) return {};
  const Attention at = {TypeOf(graph, node, 1), TypeOf(graph, node, 2)};
  if (at.query.shape.size() != 4 || at.key.shape.size() != 4 ||
      at.key.shape[1] == 0) {
    return {};
  }
  return sizes(at);
}

/// embedding_dense_backward_cuda in aten/src/ATen/native/cuda/Embedding.cu:
/// more than 3,072 indices are sorted, and the rows of their gradients summed
/// ten at a time, in float (EmbeddingBackwardKernel.cu).
std::vector<std::int64_t> OfEmbedding(const Node& node,
                                      const OperatorGraph& graph) {
  constexpr std::int64_t kUnsorted = 3072;
  constexpr std::int64_t kRowsPerSum = 10;
  if (node.inputs.size() < 2) return {};
  const TensorType& gradient = TypeOf(graph, node, 0);
  const std::int64_t count = TypeOf(graph, node, 1).NumElements();
  if (count <= kUnsorted || gradient.shape.empty()) return {};
  const std::int64_t rows = node.Int("num_weights", count);
  const std::int64_t sums = count / kRowsPerSum + std::min(count, rows);
  // Sorted and first places; starts, counts and offsets of the segments.
  std::vector<std::int64_t> sizes(5, count * kLongBytes);
  sizes.push_back(sums * kLongBytes);
  sizes.push_back(sums * gradient.shape.back() * kFloatBytes);
  return sizes;
}

struct Rule {
  std::string_view target;
  std::vector<std::int64_t> (*sizes)(const Node&, const OperatorGraph&);
};

constexpr std::array<Rule, 5> kRules = {{
    {"_softmax_backward_data", &OfSoftmax},
    {"_scaled_dot_product_flash_attention_backward", &OfAttention<&OfFlash>},
    {"_scaled_dot_product_efficient_attention_backward",
     &OfAttention<&OfEfficient>},
    {"embedding_backward", &OfEmbedding},
    {"embedding_dense_backward", &OfEmbedding},
}};

}  // namespace

std::vector<std::int64_t> ScratchTensors(const Node& node,
                                         const OperatorGraph& graph,
                                         const DeviceSpec& device) {
  if (node.inputs.empty()) return {};
  const auto rule = std::ranges::find(kRules, node.target, &Rule::target);
  std::vector<std::int64_t> sizes;
  if (rule != kRules.end()) {
    sizes = rule->sizes(node, graph);
  } else {
    sizes = {ReductionBufferBytes(node, graph, device)};
  }
  std::erase(sizes, 0);
  return sizes;
}

}  // namespace foretell::memory
