#pragma once

#include <string_view>

// Kernels of ONNX Runtime 1.31.1, written by
// scripts/generate/onnxruntime_kernels.py from what its providers register.

namespace foretell::runtime::ort {

/// An operator of ai.onnx that lacks a kernel of the CUDA provider for some of
/// the types for which the CPU provider has one, or for float16.
struct KernelRow {
  std::string_view name;
  std::string_view cuda;  ///< Types with a kernel, as DTypeName has them.
  std::string_view cpu;
};

/// Sorted by name.
// clang-format off
inline constexpr KernelRow kKernelRows[] = {
    {"Acos", "", "f32"},
    {"Acosh", "", "f32"},
    {"AffineGrid", "", "f64 f32"},
    {"ArgMax", "f64 f32 f16", "f64 f32 i64 i32 i8 u8"},
    {"ArgMin", "f64 f32 f16", "f64 f32 i64 i32 i8 u8"},
    {"Asin", "", "f32"},
    {"Asinh", "", "f32"},
    {"Atan", "", "f32"},
    {"Atanh", "", "f32"},
    {"BitCast", "", "f64 f32 f16 bf16 i64 i32 i16 i8 u64 u32 u16 u8"},
    {"BitShift", "", "u64 u32 u8"},
    {"BitwiseAnd", "", "i64 i32 i16 i8 u64 u32 u16 u8"},
    {"BitwiseNot", "", "i64 i32 i16 i8 u64 u32 u16 u8"},
    {"BitwiseOr", "", "i64 i32 i16 i8 u64 u32 u16 u8"},
    {"BitwiseXor", "", "i64 i32 i16 i8 u64 u32 u16 u8"},
    {"BlackmanWindow", "", "i64 i32"},
    {"Celu", "", "f32"},
    {"Clip", "f64 f32 f16 i64 i8 u64 u8", "f64 f32 f16 i64 i32 i8 u64 u32 u8"},
    {"Col2Im", "", "f32"},
    {"ConvInteger", "", "i8 u8"},
    {"Cosh", "", "f32"},
    {"CumProd", "", "f64 f32 i64 i32 u64 u32"},
    {"DFT", "", "f64 f32"},
    {"DepthToSpace", "f64 f32 f16", "f64 f32 i8 u8"},
    {"DequantizeLinear", "i8 u8", "i32 i16 i8 u16 u8"},
    {"Det", "", "f32"},
    {"Einsum", "f64 f32 f16", "f64 f32 i64 i32"},
    {"Equal", "f64 f32 f16 i64 i32 u64 u32 bool", "f64 f32 i64 i32 i16 i8 u64 u32 u16 u8 bool"},
    {"EyeLike", "f64 f32 i64 i32 u64", "f64 f32 i64 i32 u64"},
    {"GatherND", "f64 f32 f16 bf16 i64 bool", "f64 f32 f16 bf16 i64 i32 i16 i8 u64 u32 u16 u8 bool"},
    {"GlobalLpPool", "", "f32"},
    {"Greater", "f64 f32 f16 i64 i32 u64 u32", "f64 f32 i64 i32 i16 i8 u64 u32 u16 u8"},
    {"GreaterOrEqual", "f64 f32 f16 i64 i32 u64 u32", "f64 f32 i64 i32 i16 i8 u64 u32 u16 u8"},
    {"GridSample", "f32", "f64 f32"},
    {"HammingWindow", "", "i64 i32"},
    {"HannWindow", "", "i64 i32"},
    {"Hardmax", "", "f32"},
    {"Less", "f64 f32 f16 i64 i32 u64 u32", "f64 f32 i64 i32 i16 i8 u64 u32 u16 u8"},
    {"LessOrEqual", "f64 f32 f16 i64 i32 u64 u32", "f64 f32 i64 i32 i16 i8 u64 u32 u16 u8"},
    {"LpNormalization", "f32 f16 bf16", "f64 f32"},
    {"LpPool", "", "f32"},
    {"MatMul", "f64 f32 f16 bf16", "f64 f32 i64 i32 u64 u32"},
    {"MatMulInteger", "i8", "i8 u8"},
    {"Max", "f64 f32 f16 bf16 i64 i32 u64 u32", "f64 f32 f16 i64 i32 i8 u64 u32 u8"},
    {"MaxRoiPool", "", "f32"},
    {"MaxUnpool", "", "f32"},
    {"Mean", "", "f32"},
    {"MeanVarianceNormalization", "", "f32"},
    {"MelWeightMatrix", "", "i64 i32"},
    {"Min", "f64 f32 f16 bf16 i64 i32 u64 u32", "f64 f32 f16 i64 i32 i8 u64 u32 u8"},
    {"Mod", "f64 f32 f16 bf16 i64 i32 u64 u32", "f64 f32 f16 i64 i32 i16 i8 u64 u32 u16 u8"},
    {"Multinomial", "", "f32"},
    {"OneHot", "f32 f16 i64", "f32 i64 i32"},
    {"Pad", "f64 f32 f16 bool", "f64 f32 i64 i32 i8 u64 u32 u8 bool"},
    {"QLinearConv", "", "i8 u8"},
    {"QLinearMatMul", "", "i8 u8"},
    {"QuantizeLinear", "i8 u8", "i16 i8 u16 u8"},
    {"Range", "f64 f32 i64 i32 i16", "f64 f32 i64 i32 i16"},
    {"ReduceL1", "f64 f32 f16 i32", "f64 f32 i64 i32"},
    {"ReduceL2", "f64 f32 f16 i32", "f64 f32 i64 i32"},
    {"ReduceLogSum", "f64 f32 f16", "f64 f32 i64 i32"},
    {"ReduceLogSumExp", "f64 f32 f16", "f64 f32 i64 i32"},
    {"ReduceMax", "f64 f32 f16 i64 i32 i8 u8", "f64 f32 i64 i32 i8 u8 bool"},
    {"ReduceMean", "f64 f32 f16 bf16 i32", "f64 f32 i64 i32"},
    {"ReduceMin", "f64 f32 f16 i64 i32 i8 u8", "f64 f32 i64 i32 i8 u8 bool"},
    {"ReduceProd", "f64 f32 f16 i32", "f64 f32 i64 i32"},
    {"ReduceSumSquare", "f64 f32 f16", "f64 f32 i64 i32"},
    {"Relu", "f64 f32 f16 bf16", "f64 f32 i32 i8"},
    {"Resize", "f64 f32 f16 i32 u8", "f32 i32 i8 u8"},
    {"STFT", "", "f64 f32"},
    {"Scale", "", "f32"},
    {"Shrink", "f64 f32 f16 i64 i32 i16 i8 u64 u32 u16 u8", "f64 f32 f16 bf16 i64 i32 i16 i8 u64 u32 u16 u8"},
    {"Sinh", "", "f32"},
    {"SpaceToDepth", "f64 f32 f16", "f64 f32 i8 u8"},
    {"Tan", "", "f32"},
    {"Tile", "f64 f32 f16 bf16 i64 i32", "f64 f32 i64 i32 i16 i8 u64 u32 u16 u8 bool"},
    {"Unique", "", "f64 f32 i64 i8"},
    {"Upsample", "f64 f32 f16 i32 u8", "f32 i32 i8 u8"},
    {"Where", "f64 f32 f16 bf16 i64 i32 u8", "f64 f32 i64 i32 i8 u32 u8"},
};
// clang-format on

}  // namespace foretell::runtime::ort
