// The segmented sum and mean of neighbours on a GPU, forward and backward.
//
// Rows have few neighbours (an operator reads one to three tensors) and many
// columns (the hidden width), and the arithmetic is one multiply-add per
// element read: the kernel is bound by memory. One warp computes one row, its
// lanes side by side in the columns, so that every read of a neighbour's row
// is one coalesced run; a lane reads four floats at once where alignment
// allows, which keeps more bytes in flight per instruction. The sum stays in
// registers and is written once.
//
// The gradient of the rows is the same sum over the transposed lists, so no
// thread ever adds to what another one writes: no atomics, and the same bits
// in every run. Scattering along an edge list, as frameworks do, writes
// [edges, columns] to memory and adds it up with atomics.
//
// Rows wider than one warp's 128 floats are cut into chunks of columns, one
// warp each: more warps to hide the latency of the reads behind.

#include <cuda_runtime.h>

#include "src/network/segment_mean.h"

namespace foretell::learned {
namespace {

constexpr int kWarp = 32;
constexpr int kWarpsPerBlock = 8;

// A run of Width floats that is read and written as one.
template <int Width>
struct alignas(Width * sizeof(float)) Pack {
  float lane[Width];
};

template <int Width>
__device__ __forceinline__ Pack<Width> LoadPack(const Rows<const float>& rows,
                                                std::int64_t row,
                                                std::int64_t column) {
  return *reinterpret_cast<const Pack<Width>*>(rows.data + row * rows.stride +
                                               column);
}

template <int Width>
__device__ __forceinline__ void AddScaled(Pack<Width>& total,
                                          const Pack<Width>& x, float scale) {
#pragma unroll
  for (int w = 0; w < Width; ++w) total.lane[w] += scale * x.lane[w];
}

__device__ __forceinline__ float ScaleOf(const float* scales, std::int64_t i) {
  return scales == nullptr ? 1.0F : __ldg(scales + i);
}

template <int Width>
__global__ void __launch_bounds__(kWarp* kWarpsPerBlock)
    SegmentSumKernel(const SegmentSum<float> sum) {
  const std::int64_t row =
      static_cast<std::int64_t>(blockIdx.x) * kWarpsPerBlock + threadIdx.y;
  const std::int64_t column =
      (static_cast<std::int64_t>(blockIdx.y) * kWarp + threadIdx.x) * Width;
  if (row >= sum.num_rows || column >= sum.num_columns) return;
  Pack<Width> total = {};
  const int end = __ldg(sum.begin + row + 1);
  for (int k = __ldg(sum.begin + row); k < end; ++k) {
    const std::int64_t j = __ldg(sum.neighbour + k);
    AddScaled(total, LoadPack<Width>(sum.x, j, column),
              ScaleOf(sum.source_scale, j));
  }
  Pack<Width> result = {};
  AddScaled(result, total, ScaleOf(sum.target_scale, row));
  if (sum.own.data != nullptr) {
    AddScaled(result, LoadPack<Width>(sum.own, row, column),
              ScaleOf(sum.own_scale, row));
  }
  *reinterpret_cast<Pack<Width>*>(sum.out.data + row * sum.out.stride +
                                  column) = result;
}

template <int Width>
void Launch(const SegmentSum<float>& sum, cudaStream_t stream) {
  const auto blocks = [](std::int64_t items, std::int64_t per_block) {
    return static_cast<unsigned>((items + per_block - 1) / per_block);
  };
  const dim3 grid(blocks(sum.num_rows, kWarpsPerBlock),
                  blocks(sum.num_columns, kWarp * Width));
  SegmentSumKernel<Width>
      <<<grid, dim3(kWarp, kWarpsPerBlock), 0, stream>>>(sum);
}

bool IsAligned(const void* data, std::int64_t stride, int width) {
  return reinterpret_cast<std::uintptr_t>(data) % (width * sizeof(float)) ==
             0 &&
         stride % width == 0;
}

// Whether every row can be read in packs of `width` floats.
bool FitsPacks(const SegmentSum<float>& sum, int width) {
  return sum.num_columns % width == 0 &&
         IsAligned(sum.x.data, sum.x.stride, width) &&
         IsAligned(sum.own.data, sum.own.stride, width) &&
         IsAligned(sum.out.data, sum.out.stride, width);
}

}  // namespace

int LaunchSegmentSum(const SegmentSum<float>& sum, void* stream) {
  if (sum.num_rows == 0 || sum.num_columns == 0) return cudaSuccess;
  const auto cuda_stream = static_cast<cudaStream_t>(stream);
  if (FitsPacks(sum, 4)) {
    Launch<4>(sum, cuda_stream);
  } else {
    Launch<1>(sum, cuda_stream);
  }
  return cudaGetLastError();
}

const char* CudaErrorText(int error) {
  return cudaGetErrorString(static_cast<cudaError_t>(error));
}

}  // namespace foretell::learned
