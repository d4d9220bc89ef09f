#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/judge/report.h"

/// What a reader wants to know first: does it fit, how fast is it, what uses
/// the memory. Everything that opens an answer (text, JSON, pages, Python)
/// gets it from here.
namespace foretell {

/// Whether the step runs on the device that it was predicted for.
enum class Outcome : std::uint8_t {
  kFits,  ///< The upper end of the memory interval fits.
  /// The estimate fits but the upper end does not, or the upper end fits once
  /// the allocator has given cached segments back.
  kTight,
  kDoesNotFit,
};
/// "fits", "tight", "does not fit".
std::string_view OutcomeName(Outcome outcome);
Outcome OutcomeOf(const mig::Verdict& verdict);

/// Steps as rates, of all batches that a step accumulates; of one GPU where
/// each has a batch of its own, of a group where its GPUs share one.
struct Throughput {
  double samples_per_s = 0;
  /// If an input is a matrix of integers, which is how networks read tokens.
  std::optional<double> tokens_per_s = {};
};
Throughput ThroughputOf(const Report& report);
/// `rate`, ThroughputOf(report), of all GPUs together.
Throughput TotalOf(const Throughput& rate, const Report& report);

/// A part of the total memory, in MiB.
struct MemoryPart {
  std::string name;  ///< "activations", "CUDA context", …
  double mib = 0;
};
/// What the total consists of at the peak, largest first: the roles of the live
/// tensors, workspaces, the CUDA context, and what else the allocator holds
/// ("allocator cache"). A figure that was learned or corrected differs from
/// their sum, which is the simulated total.
std::vector<MemoryPart> MemoryParts(const Report& report);

/// Whether a card of a common size would hold the step.
struct CardOutcome {
  int gb = 0;
  Outcome outcome = Outcome::kDoesNotFit;
};
/// For cards of 24, 40 and 80 GB, by the usable memory of an RTX 4090 and the
/// two A100s and the prediction's own context.
std::vector<CardOutcome> CommonCards(const Report& report);

/// A line of a summary.
struct SummaryLine {
  std::string label;  ///< "speed", "memory", …
  std::string text;
};

/// An answer that reads at a glance, without color.
struct Summary {
  Outcome outcome = Outcome::kFits;
  /// "resnet50.onnx · training with adamw · fp32 · batch 8"
  std::string title;
  std::string inputs;  ///< "image f32[8, 3, 224, 224]"; empty without inputs.
  std::string place;   ///< "a100-sxm4-40gb · CUDA context of cuda13"
  /// The first has the outcome in its label ("FITS") and its numbers.
  std::vector<SummaryLine> lines = {};
};
Summary Summarize(const Report& report);

/// The settings of a step in words: "training with adamw", "inference".
std::string ModeText(const Report& report);
/// "fp32", or "fp32 with autocast to bf16".
std::string PrecisionText(const Report& report);
/// "GPU-bound", "host-bound", "link-bound".
std::string_view BoundText(StepBound bound);
/// Both ends with three digits: "223 – 893".
std::string RangeText(const Interval& interval);
/// MiB as GiB with three digits, at most two behind the point: "11.4", "0.44".
std::string GibText(double mib);

}  // namespace foretell
