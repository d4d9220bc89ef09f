#include <ATen/ATen.h>

#include <algorithm>
#include <vector>

#include "frontends/onnx/node_context.h"
#include "frontends/onnx/operator_table.h"
#include "frontends/onnx/ops/helpers.h"
#include "frontends/onnx/ops/lowerings.h"

namespace foretell::onnx {
namespace {

struct Box {
  float x1, y1, x2, y2;

  float Area() const { return (x2 - x1) * (y2 - y1); }
};

/// Four numbers of a row as a box whose first corner is the smaller one.
Box BoxOf(const float* row, bool center_point) {
  if (center_point) {
    return {row[0] - row[2] / 2, row[1] - row[3] / 2, row[0] + row[2] / 2,
            row[1] + row[3] / 2};
  }
  return {std::min(row[1], row[3]), std::min(row[0], row[2]),
          std::max(row[1], row[3]), std::max(row[0], row[2])};
}

/// Area that two boxes share over the area that they cover together.
float IntersectionOverUnion(const Box& a, const Box& b) {
  const float width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  const float height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  if (width <= 0 || height <= 0) return 0;
  const float shared = width * height;
  const float together = a.Area() + b.Area() - shared;
  return a.Area() <= 0 || b.Area() <= 0 || together <= 0 ? 0
                                                         : shared / together;
}

struct SuppressionRule {
  std::int64_t most = 0;  ///< Boxes kept per image and class.
  float iou_threshold = 0;
  bool has_score_threshold = false;
  float score_threshold = 0;
};

/// Places of the boxes that stay, best score first.
std::vector<std::int64_t> KeptBoxes(const std::vector<Box>& boxes,
                                    const float* scores,
                                    const SuppressionRule& rule) {
  std::vector<std::int64_t> candidates;
  for (size_t i = 0; i < boxes.size(); ++i) {
    if (!rule.has_score_threshold || scores[i] > rule.score_threshold) {
      candidates.push_back(static_cast<std::int64_t>(i));
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [scores](auto a, auto b) { return scores[a] > scores[b]; });
  std::vector<std::int64_t> kept;
  for (const std::int64_t i : candidates) {
    if (static_cast<std::int64_t>(kept.size()) >= rule.most) break;
    const Box& box = boxes[static_cast<size_t>(i)];
    const bool overlaps =
        std::any_of(kept.begin(), kept.end(), [&](std::int64_t k) {
          return IntersectionOverUnion(boxes[static_cast<size_t>(k)], box) >
                 rule.iou_threshold;
        });
    if (!overlaps) kept.push_back(i);
  }
  return kept;
}

SuppressionRule ReadRule(NodeContext& ctx) {
  SuppressionRule rule;
  if (ctx.Has(2)) rule.most = ctx.Int(2);
  if (ctx.Has(3)) rule.iou_threshold = static_cast<float>(ctx.Double(3));
  rule.has_score_threshold = ctx.Has(4);
  if (ctx.Has(4)) rule.score_threshold = static_cast<float>(ctx.Double(4));
  return rule;
}

void LowerNonMaxSuppression(NodeContext& ctx) {
  RequireData(ctx, ctx.Tensor(0));
  RequireData(ctx, ctx.Tensor(1));
  const at::Tensor boxes = ctx.Tensor(0).to(at::kCPU, at::kFloat).contiguous();
  const at::Tensor scores = ctx.Tensor(1).to(at::kCPU, at::kFloat).contiguous();
  ctx.Check(boxes.dim() == 3 && boxes.size(2) == 4 && scores.dim() == 3 &&
                scores.size(0) == boxes.size(0) &&
                scores.size(2) == boxes.size(1),
            "boxes are not [images, boxes, 4] or scores not [images, classes, "
            "boxes]");
  const SuppressionRule rule = ReadRule(ctx);
  const bool center_point = ctx.IntAttribute("center_point_box", 0) != 0;
  const std::int64_t images = boxes.size(0), count = boxes.size(1);
  const std::int64_t classes = scores.size(1);
  std::vector<std::int64_t> rows;
  for (std::int64_t image = 0; image < images; ++image) {
    std::vector<Box> of_image;
    for (std::int64_t i = 0; i < count; ++i) {
      of_image.push_back(
          BoxOf(boxes.const_data_ptr<float>() + (image * count + i) * 4,
                center_point));
    }
    for (std::int64_t c = 0; c < classes; ++c) {
      const float* of_class =
          scores.const_data_ptr<float>() + (image * classes + c) * count;
      for (const std::int64_t i : KeptBoxes(of_image, of_class, rule)) {
        rows.insert(rows.end(), {image, c, i});
      }
    }
  }
  at::Tensor selected =
      at::empty({static_cast<std::int64_t>(rows.size()) / 3, 3},
                at::TensorOptions().dtype(at::kLong));
  std::copy(rows.begin(), rows.end(),
            selected.mutable_data_ptr<std::int64_t>());
  ctx.Set(0, MovedTo(selected, ctx.device()));
}

constexpr OnnxOperator kDetectionOperators[] = {
    {"NonMaxSuppression",
     {10, kAny},
     &LowerNonMaxSuppression,
     "",
     kDependsOnData},
    {"RoiAlign", {10, kAny}, &LowerRoiAlign},
};

}  // namespace

std::span<const OnnxOperator> DetectionOperators() {
  return kDetectionOperators;
}

}  // namespace foretell::onnx
