// Kernels of TransformerEngine (2.18, pytorch/csrc) as operators;
// src/program/te_linear.cc runs them. What create_tensor of a quantizer
// (csrc/quantizer.cpp) allocates, by format of the values:
//
//   e4m3, e5m2  a byte per value, by columns a transposed copy, and one scale
//               in f32 for both
//   mxfp8       a byte per value and one per 32 values, each by rows and by
//               columns
//   nvfp4       half a byte per value and one per 16, and a scale in f32 each
//
// Scales of blocks lie in tiles of 128 x 4, in the order that cuBLAS reads.

#include <string>

#include "src/program/meta/families.h"
#include "src/program/meta/mx.h"

namespace foretell::meta {
namespace {

constexpr const char* kTransformerEngineSchemas[] = {
    "compute_amax(Tensor input) -> Tensor",
    "compute_scale_from_amax(Tensor amax) -> Tensor",
    "quantize(Tensor input, Tensor? scale, str format, bool rowwise, bool "
    "columnwise, bool dbias) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
    "gemm(Tensor left, Tensor? left_scale, Tensor? right_scale, Tensor? bias, "
    "Tensor right, ScalarType out_dtype) -> Tensor",
};

constexpr std::int64_t kNvfp4Block = 16;

void OneFloat(Call& call) { call.Return(Contiguous(Sizes{1}, at::kFloat)); }

/// Values and scales of a matrix by rows.
void ReturnBlocks(Call& call, const Sizes& sizes, const std::string& format) {
  const bool is_packed = format == "nvfp4";
  const std::int64_t block = is_packed ? kNvfp4Block : kMxBlock;
  call.Return(is_packed ? Contiguous(Sizes{sizes[0], sizes[1] / 2}, at::kByte)
                        : Contiguous(sizes, at::kFloat8_e4m3fn));
  call.Return(Contiguous(Sizes{TiledScaleBytes(sizes[0], sizes[1] / block)},
                         at::kByte));
}

void QuantizeTensor(Call& call, const Sizes& sizes, at::ScalarType type) {
  const bool by_columns = call.Bool("columnwise", false);
  call.ReturnIf(call.Bool("rowwise", false), Contiguous(sizes, type));
  call.Return(Contiguous(Sizes{1}, at::kFloat));
  call.ReturnIf(by_columns, Contiguous(Sizes{sizes[1], sizes[0]}, type));
  call.Return(at::Tensor());
}

void QuantizeBlocks(Call& call, const Sizes& sizes, const std::string& format) {
  for (const bool by_columns : {false, true}) {
    if (!call.Bool(by_columns ? "columnwise" : "rowwise", false)) {
      call.Return(at::Tensor());
      call.Return(at::Tensor());
    } else if (by_columns) {
      ReturnBlocks(call, {sizes[1], sizes[0]}, format);
    } else {
      ReturnBlocks(call, sizes, format);
    }
  }
}

void TeQuantize(Call& call) {
  const at::Tensor& input = call.Tensor("input");
  const std::int64_t width = input.size(-1);
  const Sizes sizes = {width == 0 ? 0 : input.numel() / width, width};
  const std::string format = call.Word("format");
  if (format == "e4m3") {
    QuantizeTensor(call, sizes, at::kFloat8_e4m3fn);
  } else if (format == "e5m2") {
    QuantizeTensor(call, sizes, at::kFloat8_e5m2);
  } else {
    QuantizeBlocks(call, sizes, format);
  }
  call.ReturnIf(call.Bool("dbias", false),
                Contiguous(Sizes{width}, input.scalar_type()));
}

/// left [m, k] times right [n, k], transposed.
void TeGemm(Call& call) {
  call.Return(Contiguous(
      Sizes{call.Tensor("left").size(0), call.Tensor("right").size(0)},
      call.DType("out_dtype").value_or(at::kBFloat16)));
}

constexpr KernelRow kTransformerEngineKernels[] = {
    {"transformer_engine::compute_amax", OneFloat},
    {"transformer_engine::compute_scale_from_amax", OneFloat},
    {"transformer_engine::gemm", TeGemm},
    {"transformer_engine::quantize", TeQuantize},
};

}  // namespace

std::vector<LibrarySchemas> TransformerEngineSchemas() {
  return {{"transformer_engine", kTransformerEngineSchemas}};
}

std::span<const KernelRow> TransformerEngineKernels() {
  return kTransformerEngineKernels;
}

}  // namespace foretell::meta
