// Cubes in order of size are a chain: along it one axis after the other, the
// last one first because its elements lie side by side, grows by one. Edges are
// then rounded down to the alignment and cut at the volume's. Every member of
// the chain holds the one before, footprints never shrink, so that the last one
// that fits is found by bisection, and more memory never gives less.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>

#include "foretell/plan.h"
#include "src/core/checked.h"
#include "src/core/failure.h"
#include "src/core/numbers.h"
#include "src/core/text.h"
#include "src/core/units.h"

namespace foretell {
namespace {

using Shape = std::vector<std::int64_t>;

/// Sizes beyond this would leave no room for sums of them.
constexpr std::int64_t kLongestEdge = std::int64_t{1} << 40;

std::string ShapeText(const Shape& shape) {
  return fmt::format("{}", fmt::join(shape, " x "));
}

void CheckSizes(const Footprint& footprint, const Shape& sizes,
                std::string_view what) {
  if (sizes.size() != footprint.axes.size()) {
    throw InvalidArgument("{}: {} has {}, expected {}: {}", footprint.algorithm,
                          what, Counted(sizes.size(), "dimension"),
                          footprint.axes.size(), Joined(footprint.axes));
  }
  for (const std::int64_t size : sizes) {
    if (size >= 1 && size <= kLongestEdge) continue;
    throw InvalidArgument("{}: {} {} has a size of {}, expected 1 to 2^40",
                          footprint.algorithm, what, ShapeText(sizes), size);
  }
}

void CheckRequest(const Footprint& footprint, const ChunkRequest& request) {
  CheckSizes(footprint, request.shape, "shape");
  if (!request.align.empty()) CheckSizes(footprint, request.align, "align");
  if (request.memory_bytes < 1) {
    throw InvalidArgument("{}: memory of {}, expected at least 1",
                          footprint.algorithm,
                          Counted(request.memory_bytes, "byte"));
  }
  if (!(request.margin >= 0 && request.margin < 1)) {
    throw InvalidArgument(
        "{}: margin of {}, expected a share from 0 to below 1",
        footprint.algorithm, request.margin);
  }
}

/// The chunks of a volume in order of size.
class Chain {
 public:
  Chain(const Footprint& footprint, const ChunkRequest& request)
      : footprint_(footprint), shape_(request.shape), unit_(request.align) {
    unit_.resize(shape_.size(), 1);
    for (std::size_t i = 0; i < shape_.size(); ++i) {
      const bool whole =
          std::ranges::find(footprint.whole, footprint.axes[i]) !=
          footprint.whole.end();
      if (whole || unit_[i] > shape_[i]) unit_[i] = shape_[i];
    }
  }

  /// Number of the last member, which is the volume.
  std::int64_t last() const {
    return (std::ranges::max(shape_) - 1) * std::ssize(shape_);
  }

  Shape ChunkAt(std::int64_t number) const {
    const auto rank = std::ssize(shape_);
    Shape chunk(shape_.size());
    for (std::ptrdiff_t i = 0; i < rank; ++i) {
      const bool has_grown = rank - 1 - i < number % rank;
      const std::int64_t edge = number / rank + 1 + (has_grown ? 1 : 0);
      chunk[static_cast<std::size_t>(i)] =
          EdgeOf(static_cast<std::size_t>(i), edge);
    }
    return chunk;
  }

  /// What a task reads for a chunk.
  Shape BlockOf(Shape chunk) const {
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      const std::int64_t halo =
          footprint_.halo.empty() ? 0 : footprint_.halo[i];
      chunk[i] = std::min(chunk[i] + 2 * halo, shape_[i]);
    }
    return chunk;
  }

  double BytesAt(std::int64_t number) const {
    return PeakBytes(footprint_, BlockOf(ChunkAt(number)));
  }

  /// Chunks per axis.
  Shape PartsOf(const Shape& chunk) const {
    Shape parts = chunk;
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      parts[i] = (shape_[i] - 1) / chunk[i] + 1;
    }
    return parts;
  }

  /// The smallest chunk with as many chunks per axis.
  Shape Evened(const Shape& chunk) const {
    Shape even = PartsOf(chunk);
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      const std::int64_t units = (shape_[i] - 1) / unit_[i] + 1;
      const std::int64_t per_part = (units - 1) / even[i] + 1;
      even[i] = std::min(per_part * unit_[i], shape_[i]);
    }
    return even;
  }

 private:
  std::int64_t EdgeOf(std::size_t axis, std::int64_t edge) const {
    if (edge >= shape_[axis]) return shape_[axis];
    return std::max(edge / unit_[axis], std::int64_t{1}) * unit_[axis];
  }

  const Footprint& footprint_;
  Shape shape_;
  Shape unit_;  ///< What an edge is a multiple of.
};

[[noreturn]] void RefuseSmallest(const Footprint& footprint, const Shape& block,
                                 double usable_bytes) {
  const auto mib = [](double bytes) {
    return FormatNumber(bytes / static_cast<double>(kMiB), 1);
  };
  throw Unsupported(
      "{}: the smallest block, {}, needs {} MiB, and {} MiB are usable",
      footprint.algorithm, ShapeText(block), mib(PeakBytes(footprint, block)),
      mib(usable_bytes));
}

}  // namespace

ChunkPlan PlanChunk(const Footprint& footprint, const ChunkRequest& request) {
  CheckRequest(footprint, request);
  const Chain chain(footprint, request);
  ChunkPlan plan;
  plan.usable_bytes =
      (1 - request.margin) * static_cast<double>(request.memory_bytes);
  if (chain.BytesAt(0) > plan.usable_bytes) {
    RefuseSmallest(footprint, chain.BlockOf(chain.ChunkAt(0)),
                   plan.usable_bytes);
  }
  std::int64_t good = 0;
  std::int64_t bad = chain.last() + 1;
  while (bad - good > 1) {
    const std::int64_t middle = good + (bad - good) / 2;
    (chain.BytesAt(middle) <= plan.usable_bytes ? good : bad) = middle;
  }
  plan.chunk = chain.Evened(chain.ChunkAt(good));
  plan.block = chain.BlockOf(plan.chunk);
  plan.peak_bytes = PeakBytes(footprint, plan.block);
  const std::optional<std::int64_t> chunks =
      CheckedProduct(chain.PartsOf(plan.chunk));
  if (!chunks) {
    throw InvalidArgument("{}: the volume has 2^63 chunks or more",
                          footprint.algorithm);
  }
  plan.chunks = *chunks;
  return plan;
}

std::vector<std::string> DaskChunks(const Footprint& footprint,
                                    const ChunkPlan& plan) {
  std::vector<std::vector<std::string>> arrays = footprint.arrays;
  if (arrays.empty()) arrays.push_back(footprint.axes);
  std::vector<std::string> texts;
  for (const std::vector<std::string>& axes : arrays) {
    std::vector<std::string> sizes;
    for (const std::string& axis : axes) {
      const auto at = std::ranges::find(footprint.axes, axis);
      const auto i = static_cast<std::size_t>(at - footprint.axes.begin());
      sizes.push_back(fmt::format("{}", plan.chunk[i]));
    }
    texts.push_back(
        fmt::format("({}{})", Joined(sizes), sizes.size() == 1 ? "," : ""));
  }
  return texts;
}

}  // namespace foretell
