#include "src/parallel/gradient_buckets.h"

#include <map>
#include <utility>

#include "src/core/units.h"
#include "src/parallel/step_rewriter.h"

namespace foretell::parallel {
namespace {

constexpr std::int64_t kFirstBucketBytes = kMiB;
constexpr std::int64_t kBucketBytes = 25 * kMiB;

/// The bucket of a type that is being filled.
struct Filling {
  GradientBucket bucket;
  std::int64_t limit = kFirstBucketBytes;
};

}  // namespace

std::vector<GradientBucket> MakeBuckets(const OperatorGraph& graph,
                                        const StepFacts& facts) {
  std::vector<GradientBucket> buckets;
  std::map<DType, Filling> fillings;
  for (const ParameterIndex index : facts.by_ready) {
    const Parameter& parameter = facts.parameters[IndexOf(index)];
    const TensorType& type = graph.value(parameter.value).type;
    Filling& filling = fillings[type.dtype];
    filling.bucket.parameters.push_back(index);
    filling.bucket.bytes += type.Bytes();
    if (filling.bucket.bytes < filling.limit) continue;
    filling.limit = kBucketBytes;
    buckets.push_back(std::exchange(filling.bucket, {}));
  }
  for (auto& [type, filling] : fillings) {
    // A parameter may have no elements.
    if (filling.bucket.parameters.empty()) continue;
    buckets.push_back(std::move(filling.bucket));
  }
  return buckets;
}

}  // namespace foretell::parallel
