#include <ATen/ATen.h>

#include <algorithm>
#include <string>
#include <vector>

#include "frontends/onnx/node_context.h"
#include "frontends/onnx/operator_table.h"
#include "frontends/onnx/ops/helpers.h"
#include "frontends/onnx/ops/lowerings.h"
#include "frontends/onnx/ops/type_support.h"
#include "frontends/onnx/ops/window.h"
#include "src/core/numbers.h"

namespace foretell::onnx {
namespace {

using Ints = std::vector<std::int64_t>;

// ---- Sampling --------------------------------------------------------------

/// ATen's numbers for the attribute values of GridSample.
std::int64_t InterpolationOf(const NodeContext& ctx) {
  const std::string mode = ctx.StringAttribute("mode", "linear");
  if (mode == "linear" || mode == "bilinear") return 0;
  if (mode == "nearest") return 1;
  if (mode == "cubic" || mode == "bicubic") return 2;
  FailAttribute(ctx, "mode", mode);
}

std::int64_t PaddingOf(const NodeContext& ctx) {
  const std::string mode = ctx.StringAttribute("padding_mode", "zeros");
  if (mode == "zeros") return 0;
  if (mode == "border") return 1;
  if (mode == "reflection") return 2;
  FailAttribute(ctx, "padding_mode", mode);
}

void LowerGridSample(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  const std::int64_t interpolation = InterpolationOf(ctx);
  if (x.dim() != 4 && (x.dim() != 5 || interpolation == 2)) {
    ctx.Fail(ErrorCode::kUnsupported,
             "input has rank {}, foretell knows rank 4, and rank 5 without "
             "mode 'cubic'",
             x.dim());
  }
  const at::Tensor grid = ctx.Tensor(1);
  const at::ScalarType type =
      at::isFloatingType(x.scalar_type()) ? x.scalar_type() : at::kFloat;
  ctx.Set(0, CastTo(at::grid_sampler(CastTo(x, type), CastTo(grid, type),
                                     interpolation, PaddingOf(ctx),
                                     ctx.IntAttribute("align_corners", 0) != 0),
                    x.scalar_type()));
}

void LowerAffineGrid(NodeContext& ctx) {
  ctx.Set(0,
          at::affine_grid_generator(ctx.Tensor(0), ctx.Ints(1),
                                    ctx.IntAttribute("align_corners", 0) != 0));
}

// ---- Blocks of space and depth ---------------------------------------------

/// Checks rank 4 and a positive block that divides what it must.
std::int64_t BlockSize(const NodeContext& ctx, const at::Tensor& x) {
  ctx.RequireAttribute("blocksize", Attribute::Kind::kInt);
  const std::int64_t block = ctx.IntAttribute("blocksize", 1);
  ctx.Check(x.dim() == 4, "input has rank {}, expected 4", x.dim());
  ctx.Check(block > 0 && block < (1 << 20), "blocksize is {}", block);
  return block;
}

/// True for column-row-depth order, which is that of PyTorch's pixel shuffle.
bool DepthVariesSlowest(const NodeContext& ctx) {
  const std::string mode = ctx.StringAttribute("mode", "DCR");
  if (mode == "CRD") return true;
  if (mode == "DCR") return false;
  FailAttribute(ctx, "mode", mode);
}

void LowerDepthToSpace(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  const std::int64_t b = BlockSize(ctx, x);
  const std::int64_t n = x.size(0), h = x.size(2), w = x.size(3);
  ctx.Check(x.size(1) % (b * b) == 0,
            "blocksize {} squared does not divide {} channels", b, x.size(1));
  if (DepthVariesSlowest(ctx)) {
    ctx.Set(0, at::pixel_shuffle(x, b));
    return;
  }
  const std::int64_t c = x.size(1) / (b * b);
  ctx.Set(0, x.reshape({n, b, b, c, h, w})
                 .permute({0, 3, 4, 1, 5, 2})
                 .reshape({n, c, h * b, w * b}));
}

void LowerSpaceToDepth(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  const std::int64_t b = BlockSize(ctx, x);
  const std::int64_t n = x.size(0), c = x.size(1);
  ctx.Check(x.size(2) % b == 0 && x.size(3) % b == 0,
            "blocksize {} does not divide {} by {} pixels", b, x.size(2),
            x.size(3));
  if (DepthVariesSlowest(ctx)) {
    ctx.Set(0, at::pixel_unshuffle(x, b));
    return;
  }
  const std::int64_t h = x.size(2) / b, w = x.size(3) / b;
  ctx.Set(0, x.reshape({n, c, h, b, w, b})
                 .permute({0, 3, 5, 1, 2, 4})
                 .reshape({n, c * b * b, h, w}));
}

// ---- Cropping --------------------------------------------------------------

void LowerCenterCropPad(NodeContext& ctx) {
  at::Tensor x = ctx.Tensor(0);
  const Ints wanted = ctx.Ints(1);
  const Ints axes =
      NormalizeAxes(ctx, ctx.IntsAttribute("axes", Iota(x.dim())), x.dim());
  ctx.Check(axes.size() == wanted.size(), "shape has {}, expected {}",
            Counted(wanted.size(), "element"), axes.size());
  Ints pads(2 * static_cast<size_t>(x.dim()), 0);
  for (size_t k = 0; k < axes.size(); ++k) {
    const std::int64_t size = x.size(axes[k]);
    ctx.Check(wanted[k] >= 0, "shape holds {}", wanted[k]);
    if (wanted[k] < size) {
      const std::int64_t first = (size - wanted[k]) / 2;
      x = x.slice(axes[k], first, first + wanted[k]);
    } else {
      const auto last_first = static_cast<size_t>(x.dim() - 1 - axes[k]);
      const std::int64_t total = wanted[k] - size;
      pads[2 * last_first] = total / 2;
      pads[2 * last_first + 1] = total - total / 2;
    }
  }
  const bool pads_any =
      std::any_of(pads.begin(), pads.end(), [](auto pad) { return pad != 0; });
  ctx.Set(0, pads_any ? at::constant_pad_nd(x, pads, 0) : x);
}

// ---- Col2Im ----------------------------------------------------------------

/// For every block element and block position, in row-major order, the pixel of
/// the unpadded image; `dump` for those that fall into the padding.
Ints PixelsOfBlocks(const Window& w, const Ints& image, const Ints& blocks,
                    std::int64_t dump) {
  const std::int64_t elements = Product(w.kernel), positions = Product(blocks);
  Ints pixels;
  pixels.reserve(static_cast<size_t>(elements * positions));
  for (std::int64_t e = 0; e < elements; ++e) {
    for (std::int64_t l = 0; l < positions; ++l) {
      std::int64_t rest_e = e, rest_l = l, pixel = 0, step = 1;
      bool inside = true;
      for (size_t a = w.rank(); a-- > 0;) {
        const std::int64_t at = rest_l % blocks[a] * w.strides[a] +
                                rest_e % w.kernel[a] * w.dilations[a] -
                                w.pads_begin[a];
        inside = inside && at >= 0 && at < image[a];
        pixel += at * step;
        step *= image[a];
        rest_l /= blocks[a];
        rest_e /= w.kernel[a];
      }
      pixels.push_back(inside ? pixel : dump);
    }
  }
  return pixels;
}

/// Adds every block element to its pixel; what falls into the padding goes to
/// one element past the image.
at::Tensor AddBlocks(const at::Tensor& x, const Window& w, const Ints& image,
                     const Ints& blocks) {
  const std::int64_t n = x.size(0), c = x.size(1) / Product(w.kernel);
  const std::int64_t pixels = Product(image);
  const at::Tensor index =
      MovedTo(at::tensor(PixelsOfBlocks(w, image, blocks, pixels), at::kLong),
              x.device());
  Ints shape = {n, c};
  shape.insert(shape.end(), image.begin(), image.end());
  return at::zeros({n * c, pixels + 1}, x.options())
      .index_add(1, index, x.reshape({n * c, -1}))
      .slice(1, 0, pixels)
      .reshape(shape);
}

void LowerCol2Im(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  const Ints image = ctx.Ints(1);
  const Window w = ReadWindow(ctx, ctx.Ints(2), image);
  Ints blocks;
  for (size_t a = 0; a < w.rank(); ++a) {
    const std::int64_t reach =
        image[a] + w.pads_begin[a] + w.pads_end[a] - w.Extent(a);
    ctx.Check(reach >= 0, "block_shape spans more than image_shape and pads");
    blocks.push_back(reach / w.strides[a] + 1);
  }
  const std::int64_t elements = Product(w.kernel);
  ctx.Check(
      x.dim() == 3 && x.size(1) % elements == 0 && x.size(2) == Product(blocks),
      "input does not hold the blocks that the attributes describe: {} at {} "
      "positions",
      Counted(elements, "element"), Product(blocks));
  ctx.Set(0, w.rank() == 2 && w.HasSymmetricPads()
                 ? at::col2im(x, image, w.kernel, w.dilations, w.pads_begin,
                              w.strides)
                 : AddBlocks(x, w, image, blocks));
}

constexpr OnnxOperator kImageOperators[] = {
    {"AffineGrid", {20, kAny}, &LowerAffineGrid},
    {"CenterCropPad", {18, kAny}, &LowerCenterCropPad},
    {"Col2Im", {18, kAny}, &LowerCol2Im},
    {"DepthToSpace", {1, kAny}, &LowerDepthToSpace},
    {"GridSample", {16, kAny}, &LowerGridSample},
    {"Resize", {10, kAny}, &LowerResize},
    {"SpaceToDepth", {1, kAny}, &LowerSpaceToDepth},
    {"Upsample", {1, 9}, &LowerUpsample},
};

}  // namespace

std::span<const OnnxOperator> ImageOperators() { return kImageOperators; }

}  // namespace foretell::onnx
