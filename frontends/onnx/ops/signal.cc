#include <ATen/ATen.h>

#include <cmath>
#include <optional>
#include <vector>

#include "frontends/onnx/node_context.h"
#include "frontends/onnx/operator_table.h"
#include "frontends/onnx/ops/helpers.h"
#include "frontends/onnx/ops/type_support.h"
#include "src/core/numbers.h"

namespace foretell::onnx {
namespace {

/// Longest window or transform that is made.
constexpr std::int64_t kMaxLength = std::int64_t{1} << 30;

/// A tensor whose last axis holds real (1) or real and imaginary (2) parts, as
/// ATen's real or complex tensor without that axis.
at::Tensor Signal(const NodeContext& ctx, const at::Tensor& x) {
  const std::int64_t parts = x.dim() > 0 ? x.size(-1) : 0;
  ctx.Check(parts == 1 || parts == 2,
            "the last axis has {}, expected 1 (real) or 2 (complex)",
            Counted(parts, "element"));
  // ATen transforms float and double only.
  const bool known =
      x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble;
  const at::Tensor exact = known ? x : x.to(at::kFloat);
  if (parts == 1) return exact.select(-1, 0);
  return at::view_as_complex(exact.contiguous());
}

/// Inverse of Signal for a result of type `type`.
at::Tensor Parts(const at::Tensor& signal, at::ScalarType type) {
  return CastTo(
      signal.is_complex() ? at::view_as_real(signal) : signal.unsqueeze(-1),
      type);
}

/// Bins 0 to length / 2 of a whole spectrum.
at::Tensor FirstHalf(const at::Tensor& spectrum, std::int64_t axis) {
  return spectrum.slice(axis, 0, spectrum.size(axis) / 2 + 1);
}

// ---- DFT -------------------------------------------------------------------

at::Tensor Transform(const at::Tensor& signal, std::optional<std::int64_t> n,
                     std::int64_t axis, bool inverse, bool onesided) {
  if (inverse && onesided) return at::fft_irfft(signal, n, axis);
  if (inverse) return at::fft_ifft(signal, n, axis);
  if (!onesided) return at::fft_fft(signal, n, axis);
  if (signal.is_complex()) return FirstHalf(at::fft_fft(signal, n, axis), axis);
  return at::fft_rfft(signal, n, axis);
}

void LowerDft(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  const at::Tensor signal = Signal(ctx, x);
  std::int64_t axis = ctx.opset() < 20 ? ctx.IntAttribute("axis", 1)
                      : ctx.Has(2)     ? ctx.Int(2)
                                       : -2;
  axis = NormalizeAxis(ctx, axis, x.dim());
  ctx.Check(axis < signal.dim(), "axis is that of real and imaginary parts");
  std::optional<std::int64_t> length;
  if (ctx.Has(1)) length = ctx.Int(1);
  ctx.Check(length.value_or(1) > 0 && length.value_or(1) <= kMaxLength,
            "dft_length is {}", length.value_or(1));
  ctx.Set(0, Parts(Transform(signal, length, axis,
                             ctx.IntAttribute("inverse", 0) != 0,
                             ctx.IntAttribute("onesided", 0) != 0),
                   x.scalar_type()));
}

// ---- STFT ------------------------------------------------------------------

void LowerStft(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  ctx.Check(x.dim() == 2 || x.dim() == 3, "signal has rank {}, expected 2 or 3",
            x.dim());
  // onnxruntime also takes real samples without an axis of parts.
  const at::Tensor signal = Signal(ctx, x.dim() == 2 ? x.unsqueeze(-1) : x);
  const at::Tensor window = ctx.OptionalTensor(2);
  std::int64_t length = window.defined() ? window.numel() : signal.size(1);
  if (ctx.Has(3)) length = ctx.Int(3);
  const std::int64_t step = ctx.Int(1);
  ctx.Check(step > 0 && length > 0 && length <= signal.size(1),
            "frames of {} every {} of {}", length, step,
            Counted(signal.size(1), "sample"));
  const bool onesided = ctx.IntAttribute("onesided", 1) != 0;
  const at::ScalarType real = c10::toRealValueType(signal.scalar_type());
  const at::Tensor weights =
      window.defined() ? CastTo(window, real)
                       : at::ones({length}, signal.options().dtype(real));
  at::Tensor spectrum =
      at::stft(signal, length, step, length, weights, /*normalized=*/false,
               /*onesided=*/onesided && !signal.is_complex(),
               /*return_complex=*/true);
  if (onesided && signal.is_complex()) spectrum = FirstHalf(spectrum, 1);
  ctx.Set(0, Parts(spectrum.transpose(1, 2), x.scalar_type()));
}

// ---- Windows ---------------------------------------------------------------

using WindowFunction = at::Tensor (*)(std::int64_t, bool, at::TensorOptions);

at::Tensor Hann(std::int64_t n, bool periodic, at::TensorOptions options) {
  return at::hann_window(n, periodic, options);
}

/// ONNX takes the exact 25/46 where others round to 0.54.
at::Tensor Hamming(std::int64_t n, bool periodic, at::TensorOptions options) {
  constexpr double kAlpha = 25.0 / 46.0;
  return at::hamming_window(n, periodic, kAlpha, 1 - kAlpha, options);
}

at::Tensor Blackman(std::int64_t n, bool periodic, at::TensorOptions options) {
  return at::blackman_window(n, periodic, options);
}

void SetWindow(NodeContext& ctx, WindowFunction window) {
  const std::int64_t length = ctx.Int(0);
  ctx.Check(length >= 0 && length <= kMaxLength, "size is {}", length);
  const at::Device place = ctx.PlaceFor(length);
  const at::ScalarType type =
      ctx.TypeOf(ctx.IntAttribute("output_datatype", kOnnxFloat), place);
  const at::ScalarType computed = at::isFloatingType(type) ? type : at::kDouble;
  ctx.Set(0, CastTo(window(length, ctx.IntAttribute("periodic", 1) != 0,
                           at::TensorOptions().dtype(computed).device(place)),
                    type));
}

void LowerHannWindow(NodeContext& ctx) { SetWindow(ctx, &Hann); }
void LowerHammingWindow(NodeContext& ctx) { SetWindow(ctx, &Hamming); }
void LowerBlackmanWindow(NodeContext& ctx) { SetWindow(ctx, &Blackman); }

// ---- MelWeightMatrix -------------------------------------------------------

struct MelBank {
  std::int64_t bands, dft_length, sample_rate;
  double lowest_hz, highest_hz;

  std::int64_t Bins() const { return dft_length / 2 + 1; }
};

/// Spectrogram bins at which the bands begin, peak and end: bands + 2 of them.
std::vector<std::int64_t> BandEdges(const MelBank& bank) {
  const auto mel = [](double hz) { return 2595 * std::log10(1 + hz / 700); };
  const auto hertz = [](double m) {
    return 700 * (std::pow(10, m / 2595) - 1);
  };
  const double low = mel(bank.lowest_hz);
  const double step =
      (mel(bank.highest_hz) - low) / static_cast<double>(bank.bands + 2);
  std::vector<std::int64_t> edges;
  for (std::int64_t i = 0; i < bank.bands + 2; ++i) {
    const double hz = hertz(low + static_cast<double>(i) * step);
    edges.push_back(static_cast<std::int64_t>(
        std::floor(static_cast<double>(bank.dft_length + 1) * hz /
                   static_cast<double>(bank.sample_rate))));
  }
  return edges;
}

/// Triangles of height 1, row-major [bins, bands].
std::vector<double> MelWeights(const NodeContext& ctx, const MelBank& bank) {
  const std::vector<std::int64_t> edges = BandEdges(bank);
  std::vector<double> weights(static_cast<size_t>(bank.Bins() * bank.bands),
                              0.0);
  for (std::int64_t band = 0; band < bank.bands; ++band) {
    const std::int64_t begin = edges[static_cast<size_t>(band)];
    const std::int64_t peak = edges[static_cast<size_t>(band) + 1];
    const std::int64_t end = edges[static_cast<size_t>(band) + 2];
    ctx.Check(begin >= 0 && begin <= peak && peak <= end && end <= bank.Bins(),
              "bands reach beyond the spectrum");
    for (std::int64_t bin = begin; bin < std::max(end, peak + 1); ++bin) {
      const double rising = peak == begin
                                ? 1
                                : static_cast<double>(bin - begin) /
                                      static_cast<double>(peak - begin);
      const double weight = bin <= peak ? rising
                                        : static_cast<double>(end - bin) /
                                              static_cast<double>(end - peak);
      ctx.Check(bin < bank.Bins(), "bands reach beyond the spectrum");
      weights[static_cast<size_t>(bin * bank.bands + band)] = weight;
    }
  }
  return weights;
}

void LowerMelWeightMatrix(NodeContext& ctx) {
  const MelBank bank{.bands = ctx.Int(0),
                     .dft_length = ctx.Int(1),
                     .sample_rate = ctx.Int(2),
                     .lowest_hz = ctx.Double(3),
                     .highest_hz = ctx.Double(4)};
  constexpr std::int64_t kMaxBands = 1 << 16;
  ctx.Check(bank.bands > 0 && bank.bands <= kMaxBands && bank.dft_length > 0 &&
                bank.dft_length <= kMaxBands && bank.sample_rate > 0,
            "num_mel_bins is {}, dft_length {}, sample_rate {}", bank.bands,
            bank.dft_length, bank.sample_rate);
  const at::ScalarType type =
      ctx.TypeOf(ctx.IntAttribute("output_datatype", kOnnxFloat));
  ctx.Set(0, CastTo(at::tensor(MelWeights(ctx, bank), at::kDouble)
                        .reshape({bank.Bins(), bank.bands}),
                    type));
}

constexpr OnnxOperator kSignalOperators[] = {
    {"BlackmanWindow", {17, kAny}, &LowerBlackmanWindow},
    {"DFT", {17, kAny}, &LowerDft},
    {"HammingWindow", {17, kAny}, &LowerHammingWindow},
    {"HannWindow", {17, kAny}, &LowerHannWindow},
    {"MelWeightMatrix", {17, kAny}, &LowerMelWeightMatrix},
    {"STFT", {17, kAny}, &LowerStft},
};

}  // namespace

std::span<const OnnxOperator> SignalOperators() { return kSignalOperators; }

}  // namespace foretell::onnx
