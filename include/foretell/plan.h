#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Chunks of volumes: the largest block that an algorithm can work on in a
/// given memory, by its footprint: a function of the block's shape that was
/// fitted to a few small runs.
namespace foretell {

/// Version of the document of a Footprint; grows when a field changes its
/// meaning.
inline constexpr int kFootprintSchemaVersion = 1;

/// A part of a footprint: bytes * edge0^powers[0] * edge1^powers[1] * …
struct FootprintTerm {
  double bytes = 0;         ///< >= 0.
  std::vector<int> powers;  ///< One per axis.
};

/// A run that a footprint was fitted to.
struct FootprintRun {
  std::vector<std::int64_t> shape;  ///< Elements of the block, by axis.
  std::int64_t peak_bytes = 0;      ///< Peak resident memory of the process.
};

/// A failed run, and the reason in one line.
struct FailedRun {
  std::vector<std::int64_t> shape;
  std::string message;
};

/// Peak resident memory of a process that works on one block at a time, by the
/// shape of the block that it reads. It never shrinks as a block grows.
struct Footprint {
  std::string algorithm;
  std::string dtype;              ///< Of an element: "f32"; empty: unknown.
  std::vector<std::string> axes;  ///< Slowest first, all different.
  std::vector<FootprintTerm> terms;
  /// Elements that a task reads beyond its chunk, on each side, by axis; empty:
  /// none.
  std::vector<std::int64_t> halo;
  std::vector<std::string> whole;  ///< Axes that are never cut.
  /// Axes of each cut array if there are several (a matrix product has two);
  /// empty: one array with all axes.
  std::vector<std::vector<std::string>> arrays;
  double error = 0;          ///< Mean leave-one-out error, share of 1.
  double largest_error = 0;  ///< Largest such error.
  std::string command;       ///< Template of the command that was measured.
  std::string source;        ///< Machine of the runs; may be empty.
  std::vector<FootprintRun> runs;
  std::vector<FailedRun> failed = {};
};

/// Bytes for a block of `shape` [axes]. Requires a size per axis.
double PeakBytes(const Footprint& footprint,
                 std::span<const std::int64_t> shape);

/// Error of the part that grows with the block, share of 1: the largest
/// leave-one-out error relative to the largest run's memory beyond that of the
/// process itself. Estimates the error of a block much larger than those that
/// ran. Infinite if no run uses more. Requires a run.
double ErrorOfGrowth(const Footprint& footprint);

/// PeakBytes as an expression of Python over the names of the axes.
std::string FootprintFormula(const Footprint& footprint);

/// Algorithms with a built-in footprint: "convolution3d", "fft", "matmul",
/// "sort", "stencil".
std::vector<std::string> BuiltInAlgorithms();

/// A built-in footprint, measured on one machine with NumPy, SciPy and Dask;
/// see its `source`. Throws Error(kNotFound) that lists the known ones for an
/// unknown algorithm, or one without this `dtype`.
Footprint BuiltInFootprint(std::string_view algorithm, std::string_view dtype);

/// Reads what FootprintToJson writes; docs/planning.md has every field. Throws
/// Error that names `origin`, the field and its value: kCorrupt, and
/// kUnsupported for another schema version.
Footprint FootprintFromJson(std::string_view json, const std::string& origin);
std::string FootprintToJson(const Footprint& footprint);

/// The volume to cut, and the memory for a block.
struct ChunkRequest {
  std::vector<std::int64_t> shape;  ///< Elements of the volume, by axis.
  std::int64_t memory_bytes = 0;  ///< Memory of the worker that gets one block.
  double margin = 0.1;            ///< Share of it to leave free.
  /// Chunks are multiples of these (the storage's chunks), except at the end of
  /// a volume; empty: 1.
  std::vector<std::int64_t> align = {};
};

/// Chunks of a volume.
struct ChunkPlan {
  std::vector<std::int64_t> chunk;  ///< By axis, at most the volume's shape.
  std::vector<std::int64_t> block;  ///< With the halo, as read by a task.
  std::int64_t chunks = 0;          ///< Number of chunks in the volume.
  double peak_bytes = 0;            ///< Of the block, by the footprint.
  double usable_bytes = 0;          ///< Memory without the margin.
};

/// The largest chunk whose block fits, as near to a cube as the volume, its
/// alignment and the axes that are never cut allow; then reduced so that all
/// chunks along an axis are about equal. More memory or a smaller margin never
/// gives a chunk that is smaller along any axis.
///
/// Throws Error that names both values: kInvalidArgument for another number of
/// sizes than axes, a size below 1, a memory below 1 or a margin outside [0,
/// 1); kUnsupported if the smallest chunk does not fit.
ChunkPlan PlanChunk(const Footprint& footprint, const ChunkRequest& request);

/// The `chunks=` argument of Dask for each array of the footprint: "(64, 64,
/// 64)".
std::vector<std::string> DaskChunks(const Footprint& footprint,
                                    const ChunkPlan& plan);

}  // namespace foretell
