#include "src/cost/gemm.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

// Time of a matrix product.
//
// A library cuts the result into tiles, one per thread block, and the SMs work
// them off in waves. A last wave that is nearly empty costs as much as a full
// one, and a product with fewer tiles than SMs leaves SMs idle, unless its sum
// over k is split among several blocks whose partial results are added through
// memory. Large tiles reuse operands better and run closer to the peak.
//
//   time(tile, split) = waves * 2 * tile_m * tile_n * (ceil(k / split) + start)
//                         / (peak per SM * efficiency(tile))
//                       + (split > 1) * partial results written and read
//   waves             = ceil(ceil(m / tile_m) * ceil(n / tile_n) * batch
//                            * split / SMs)
//
// On tensor cores a tile of 256 x 128 needs 3,000 cycles to load its first
// elements and to write its results, others as much per result, and products
// overlap with neither: short sums run far from the peak. That is as long as 94
// elements of the sum take on an A100 and 161 on an H200, whose published
// products show both (fit_cost_table.py), but 30 on an RTX 3090, which
// multiplies less per cycle.
//
// Rows that do not begin on a multiple of 16 bytes are loaded in pieces of 4 or
// 2 bytes (the align2 and align1 kernels of cuBLAS): an H100 needs three times
// as long for 3001 x 3001 matrices of BF16 as for those of 4096 x 4096, which
// multiply 2.5 times as much. Tiles of 64 x 64 to 256 x 128, of elements of 2
// and of 4 bytes, load 2.4 to 3.9 pieces per cycle of a multiprocessor there
// (kinds.jsonl.gz), and 4.8 on an A100, if that is what makes training steps
// with 50,265 words slower (score_transformers.py: BartForCausalLM,
// TrOCRForCausalLM).
//
// On Hopper cuBLAS has kernels of its own for operands of 16 bits (nvjet), with
// more shapes of tiles, narrow ones included, and higher shares: 12 to 30 %
// less than the time of the others. Fitted to the H100's products
// (kinds.jsonl.gz, drawn.jsonl.gz) and to those that aiconfigurator publishes
// of an H100.
//
// Kernels for convolutions on tensor cores have no start of their own: it is
// part of the share in tensor_convolution.cc. Those on FP32 lanes have tiles as
// narrow as 32 that still run near the peak, cost as much as 12 more elements
// of the sum to start and to end, and divide the long sums of a weight's
// gradient further.
//
// A single product of few rows or columns on FP32 lanes has tiles as narrow as
// they are, which run nearly as fast as large ones. Fitted to half of a table
// of linear layers of at most 256 rows or columns on an A100 (NeuSight); what
// DeepBench publishes of a V100 is then -6 to +6 % off where it was 62 to 174 %
// (fit_cost_table.py). Batches of small products use other kernels on an A100,
// which are far slower.
//
// A product with a single row or column on FP32 lanes is a matrix-vector
// product, for which libraries have kernels of their own: its arithmetic hides
// behind its memory traffic.
//
// The library's heuristic is assumed to find the best (tile, split). The tile
// efficiencies are fitted to published A100 measurements
// (scripts/published/fit_cost_table.py): 54,222 BF16 products, median error 8
// %, and 29,969 FP32 ones, median error 6 %.

namespace foretell::cost {
namespace {

struct Tile {
  double m;
  double n;
  double efficiency;  ///< Share of an SM's peak on such a tile.
};

constexpr Tile kTensorCoreTiles[] = {
    {256, 128, 0.85}, {128, 128, 0.80}, {128, 64, 0.71},
    {64, 64, 0.65},   {32, 64, 0.20},   {16, 64, 0.19},
};
/// By both sides, as the names of the kernels have them; tiles that hold fewer
/// elements reach less.
constexpr Tile kWarpgroupTiles[] = {
    {320, 128, 0.90}, {128, 320, 0.90}, {256, 128, 0.90}, {128, 256, 0.90},
    {256, 160, 0.90}, {160, 256, 0.90}, {192, 192, 0.90}, {192, 128, 0.90},
    {128, 192, 0.90}, {128, 128, 0.85}, {128, 64, 0.60},  {64, 128, 0.60},
    {64, 64, 0.54},   {64, 32, 0.36},   {32, 64, 0.36},   {64, 16, 0.21},
    {16, 64, 0.21},   {64, 8, 0.12},    {8, 64, 0.12},
};
/// Of convolutions: the time to start a tile is part of their share.
constexpr Tile kTensorConvolutionTiles[] = {
    {256, 128, 0.83}, {128, 128, 0.56}, {128, 64, 0.50},
    {64, 64, 0.49},   {32, 64, 0.21},   {16, 64, 0.15},
};
constexpr Tile kSimtTiles[] = {
    {256, 128, 0.61}, {128, 128, 0.87}, {128, 64, 0.70},
    {64, 128, 0.70},  {128, 32, 0.65},  {32, 128, 0.65},
};
/// Of multiprocessors with 128 FP32 lanes, Hopper's (kinds.jsonl.gz). Products
/// that fill it have the first.
constexpr Tile kWideSimtTiles[] = {
    {256, 128, 0.86}, {128, 256, 0.86}, {128, 128, 0.82}, {128, 64, 0.75},
    {64, 64, 0.67},   {32, 64, 0.48},   {32, 32, 0.38},
};
constexpr std::size_t kLargeWideTiles = 2;
constexpr double kLargeDepth = 1024;
/// Storing a tile, which its sum does not overlap with.
constexpr double kWideStartDepth = 29;
/// Of many products at once.
constexpr Tile kSimtBatchTiles[] = {
    {256, 128, 0.61}, {128, 128, 0.87}, {128, 64, 0.45},
    {64, 64, 0.16},   {32, 64, 0.09},   {32, 32, 0.06},
};
/// Fitted to half of DeepBench's FP32 convolutions and of a traced training
/// step on V100, P100 and T4.
constexpr Tile kSimtConvolutionTiles[] = {
    {128, 128, 0.85}, {128, 64, 0.75}, {64, 128, 0.75},
    {128, 32, 0.65},  {32, 128, 0.65},
};

/// Of Hopper's FP32 lanes (kinds.jsonl.gz): xmma kernels of images as they lie.
constexpr Tile kHopperSimtConvolutionTiles[] = {
    {256, 64, 0.65}, {128, 32, 0.45}, {32, 32, 0.27}};

/// Kernels of a unit.
struct Library {
  std::span<const Tile> tiles;
  double most_splits;
  double start_depth;  ///< Elements of a tile's sum that starting it costs.
  bool splits_to_fill = false;  ///< Up to a block for each multiprocessor.
};

/// A block sums over at least this many k; shorter sums are not split.
constexpr double kMinSplitDepth = 128;
constexpr double kVectorEfficiency = 0.50;
/// Cycles of a multiprocessor for each result of a tile on tensor cores, in
/// addition to those of its products.
constexpr double kTileStartCycles = 3000.0 / (256 * 128);
/// A partial result is a 4-byte float, written once and read once.
constexpr double kPartialResultBytes = 8;

constexpr double kLoadsPerCycle = 4.8;
constexpr double kHopperLoadsPerCycle = 2.9;

/// Elements of a tile's sum in whose time tensor cores could start and end it.
double TensorStartDepth(double flops_per_us, const Machine& machine) {
  const double cycles_per_us = machine.CyclesPerUs() * machine.sms;
  return kTileStartCycles / 2 * flops_per_us / cycles_per_us;
}

Library WideSimtLibrary(const GemmShape& shape) {
  const std::span<const Tile> tiles = kWideSimtTiles;
  const Tile& large = tiles.front();
  const bool is_large = std::max(shape.m, shape.n) >= large.m &&
                        std::min(shape.m, shape.n) >= large.n &&
                        shape.k >= kLargeDepth;
  if (!is_large) return {tiles, 16, kWideStartDepth};
  return {tiles.first(kLargeWideTiles), 128, kWideStartDepth, true};
}

Library LibraryOf(MatrixUnit unit, const GemmShape& shape, double flops_per_us,
                  const Machine& machine) {
  switch (unit) {
    case MatrixUnit::kTensorCore:
      return {kTensorCoreTiles, 16, TensorStartDepth(flops_per_us, machine)};
    case MatrixUnit::kWarpgroup:
      return {kWarpgroupTiles, 16, TensorStartDepth(flops_per_us, machine)};
    case MatrixUnit::kTensorConvolution:
      return {kTensorConvolutionTiles, shape.divides ? 256.0 : 16.0, 0};
    case MatrixUnit::kSimt:
      if (machine.HasNewerTensorCores()) return WideSimtLibrary(shape);
      if (shape.batch > 1) return {kSimtBatchTiles, 16, 0};
      return {kSimtTiles, 16, 0};
    case MatrixUnit::kSimtConvolution:
      if (machine.HasNewerTensorCores()) {
        return {kHopperSimtConvolutionTiles, 256, 35};
      }
      return {kSimtConvolutionTiles, 256, 12};
  }
  return {};
}

/// A tile, and into how many parts the sum of each is divided.
struct Division {
  Tile tile;
  double split;
  double start_depth;
};

double TilesOf(const GemmShape& shape, const Tile& tile) {
  return std::ceil(shape.m / tile.m) * std::ceil(shape.n / tile.n) *
         shape.batch;
}

double TiledUs(const GemmShape& shape, const Division& division,
               double flops_per_us, const Machine& machine) {
  const auto& [tile, split, start_depth] = division;
  const double waves = std::ceil(TilesOf(shape, tile) * split / machine.sms);
  const double multiply_us =
      2 * tile.m * tile.n / (flops_per_us / machine.sms * tile.efficiency);
  const double edges = std::min(tile.m, shape.m) + std::min(tile.n, shape.n);
  const double loads_per_cycle =
      machine.HasNewerTensorCores() ? kHopperLoadsPerCycle : kLoadsPerCycle;
  const double load_us =
      edges * shape.loads / loads_per_cycle / machine.CyclesPerUs();
  const double us =
      waves * (std::ceil(shape.k / split) * std::max(multiply_us, load_us) +
               start_depth * multiply_us);
  if (split == 1) return us;
  const double results = shape.batch * shape.m * shape.n;
  return us + results * kPartialResultBytes / machine.bytes_per_us;
}

}  // namespace

double GemmUs(const GemmShape& shape, MatrixUnit unit, double flops_per_us,
              const Machine& machine) {
  if (!(shape.Macs() > 0)) return 0;
  if (unit == MatrixUnit::kSimt && std::min(shape.m, shape.n) == 1) {
    return 2 * shape.Macs() / flops_per_us / kVectorEfficiency;
  }
  double best = std::numeric_limits<double>::infinity();
  const Library library = LibraryOf(unit, shape, flops_per_us, machine);
  for (const Tile& tile : library.tiles) {
    for (double split = 1; split <= library.most_splits; split *= 2) {
      if (split > 1 && shape.k / split < kMinSplitDepth) break;
      const bool overfills =
          library.splits_to_fill &&
          TilesOf(shape, tile) * split > static_cast<double>(machine.sms);
      if (split > 1 && overfills) break;
      best = std::min(best, TiledUs(shape, {tile, split, library.start_depth},
                                    flops_per_us, machine));
    }
  }
  return best;
}

}  // namespace foretell::cost
