// Kernels of libraries that hold weights in few bits. Each is one launch; the
// names are those of bitsandbytes/_ops.py (0.50) where it has one, with only
// the arguments that decide shapes.

#include "src/program/meta/families.h"
#include "src/program/meta/shapes.h"

namespace foretell::meta {
namespace {

constexpr const char* kBitsandbytesSchemas[] = {
    "dequantize_4bit(Tensor A, Tensor absmax, int[] shape, ScalarType dtype) "
    "-> Tensor",
    "dequantize_blockwise(Tensor A, Tensor absmax) -> Tensor",
    "int8_vectorwise_quant(Tensor A) -> (Tensor, Tensor)",
    "int8_linear_matmul(Tensor A, Tensor B) -> Tensor",
    "int8_mm_dequant(Tensor A, Tensor row_stats, Tensor col_stats, "
    "ScalarType dtype) -> Tensor",
};
constexpr const char* kAwqSchemas[] = {
    "dequantize(Tensor qweight, Tensor scales, Tensor? zeros, int[] shape, "
    "ScalarType dtype) -> Tensor",
};
constexpr const char* kGptqSchemas[] = {
    "quant_matmul(Tensor input, Tensor qweight, Tensor scales, Tensor qzeros, "
    "Tensor g_idx, int columns) -> Tensor",
};

void Unpacked(Call& call) {
  call.Return(Contiguous(call.Ints("shape"), *call.DType("dtype")));
}

void UnpackedScales(Call& call) {
  call.Return(Like(call.Tensor("A"), at::kFloat));
}

void QuantizedRows(Call& call) {
  const at::Tensor& input = call.Tensor("A");
  call.Return(Like(input, at::kChar));
  call.Return(Contiguous(Sizes{input.size(0)}, at::kFloat));
}

void EightBitSums(Call& call) {
  call.Return(Contiguous(
      Sizes{call.Tensor("A").size(0), call.Tensor("B").size(0)}, at::kInt));
}

void ConvertedProduct(Call& call) {
  call.Return(Like(call.Tensor("A"), *call.DType("dtype")));
}

void PackedProduct(Call& call) {
  const at::Tensor& input = call.Tensor("input");
  Sizes sizes = input.sizes().vec();
  sizes.back() = call.Int("columns");
  call.Return(Contiguous(sizes, input.scalar_type()));
}

constexpr KernelRow kQuantizedKernels[] = {
    {"bitsandbytes::dequantize_4bit", Unpacked},
    {"bitsandbytes::dequantize_blockwise", UnpackedScales},
    {"bitsandbytes::int8_vectorwise_quant", QuantizedRows},
    {"bitsandbytes::int8_linear_matmul", EightBitSums},
    {"bitsandbytes::int8_mm_dequant", ConvertedProduct},
    {"awq::dequantize", Unpacked},
    {"gptq::quant_matmul", PackedProduct},
};

}  // namespace

std::vector<LibrarySchemas> QuantizedSchemas() {
  return {{"bitsandbytes", kBitsandbytesSchemas},
          {"awq", kAwqSchemas},
          {"gptq", kGptqSchemas}};
}

std::span<const KernelRow> QuantizedKernels() { return kQuantizedKernels; }

}  // namespace foretell::meta
