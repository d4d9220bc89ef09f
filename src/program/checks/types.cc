// Element types without a kernel: only those that neither the CPU nor CUDA has.
#include <array>

#include "src/core/failure.h"
#include "src/program/checks/families.h"
#include "src/program/checks/predicates.h"

namespace foretell::checks {
namespace {

void CheckFloats(const Call& call) { RequireFloats(call.FirstTensor()); }

/// Images, which the CPU also resizes where they are bytes.
void CheckImage(const Call& call) {
  if (call.FirstTensor().scalar_type() != at::kByte) CheckFloats(call);
}

/// Averages, which the CPU also computes of i64.
void CheckAverage(const Call& call) {
  if (call.FirstTensor().scalar_type() != at::kLong) CheckFloats(call);
}

void CheckIntegers(const Call& call) {
  for (const at::Tensor& tensor : call.ReadTensors()) {
    const at::ScalarType type = tensor.scalar_type();
    if (at::isIntegralType(type, /*includeBool=*/true)) continue;
    throw InvalidArgument(
        "combines bits of elements of type {}, expected integers",
        TypeText(tensor));
  }
}

void CheckNotFlags(const Call& call) {
  for (const at::Tensor& tensor : call.ReadTensors()) {
    if (tensor.scalar_type() != at::kBool) continue;
    throw InvalidArgument("has no kernel for elements of type bool");
  }
}

/// dropout that has something to drop, and to keep (Dropout.cpp).
void CheckDropout(const Call& call) {
  const double probability = call.Double("p", 0.5);
  const bool drops = call.Bool("train", true) && probability > 0 &&
                     probability < 1 && call.FirstTensor().numel() > 0;
  if (drops) CheckFloats(call);
}

/// pad that copies what lies at the border (PadNd.cpp).
void CheckPad(const Call& call) {
  const std::string mode = call.Has("mode") ? call.Word("mode") : "constant";
  if (mode == "reflect" || mode == "replicate") CheckNotFlags(call);
}

/// median of all elements sorts flags, too (Sorting.cpp).
void CheckMedian(const Call& call) {
  if (call.Has("dim")) CheckNotFlags(call);
}

/// gelu (Activation.cpp).
void CheckGelu(const Call& call) {
  CheckFloats(call);
  const std::string word =
      call.Has("approximate") ? call.Word("approximate") : "none";
  if (word == "none" || word == "tanh") return;
  throw InvalidArgument("has approximate '{}', expected 'none' or 'tanh'",
                        word);
}

constexpr std::array kTypeRows = std::to_array<OperandRow>({
    {"_upsample_nearest_exact1d", &CheckImage},
    {"_upsample_nearest_exact2d", &CheckImage},
    {"_upsample_nearest_exact3d", &CheckImage},
    {"adaptive_avg_pool1d", &CheckFloats},
    {"adaptive_max_pool1d", &CheckFloats},
    {"adaptive_max_pool2d", &CheckFloats},
    {"adaptive_max_pool3d", &CheckFloats},
    {"avg_pool1d", &CheckAverage},
    {"avg_pool2d", &CheckAverage},
    {"avg_pool3d", &CheckAverage},
    {"bernoulli", &CheckFloats},
    {"binary_cross_entropy_with_logits", &CheckFloats},
    {"bitwise_and", &CheckIntegers},
    {"bitwise_left_shift", &CheckIntegers},
    {"bitwise_not", &CheckIntegers},
    {"bitwise_or", &CheckIntegers},
    {"bitwise_right_shift", &CheckIntegers},
    {"bitwise_xor", &CheckIntegers},
    {"ceil", &CheckNotFlags},
    {"celu", &CheckFloats},
    {"dropout", &CheckDropout},
    {"elu", &CheckFloats},
    {"floor", &CheckNotFlags},
    {"frac", &CheckFloats},
    {"gelu", &CheckGelu},
    {"glu", &CheckFloats},
    {"hardshrink", &CheckFloats},
    {"hardsigmoid", &CheckFloats},
    {"hardswish", &CheckFloats},
    {"hardtanh", &CheckNotFlags},
    {"leaky_relu", &CheckFloats},
    {"log_sigmoid", &CheckFloats},
    {"max_pool1d", &CheckFloats},
    {"max_pool1d_with_indices", &CheckNotFlags},
    {"max_pool2d", &CheckNotFlags},
    {"max_pool2d_with_indices", &CheckNotFlags},
    {"median", &CheckMedian},
    {"mish", &CheckFloats},
    {"nanmedian", &CheckMedian},
    {"pad", &CheckPad},
    {"pdist", &CheckFloats},
    {"relu", &CheckNotFlags},
    {"relu6", &CheckNotFlags},
    {"round", &CheckNotFlags},
    {"rsub", &CheckNotFlags},
    {"selu", &CheckFloats},
    {"silu", &CheckFloats},
    {"softplus", &CheckFloats},
    {"threshold", &CheckNotFlags},
    {"trunc", &CheckNotFlags},
    {"upsample_bicubic2d", &CheckImage},
    {"upsample_bilinear2d", &CheckImage},
    {"upsample_linear1d", &CheckFloats},
    {"upsample_nearest1d", &CheckImage},
    {"upsample_nearest2d", &CheckImage},
    {"upsample_nearest3d", &CheckImage},
    {"upsample_trilinear3d", &CheckFloats},
});

}  // namespace

std::span<const OperandRow> TypeRows() { return kTypeRows; }

}  // namespace foretell::checks
