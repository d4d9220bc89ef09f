#include "src/features/operator_class.h"

#include <array>

namespace foretell {
namespace {

struct ClassRow {
  OpKind kind;
  OperatorClass op_class;
};

constexpr ClassRow kRows[] = {
    {OpKind::kConvolution, OperatorClass::kConvolution},
    {OpKind::kTransposedConvolution, OperatorClass::kConvolution},
    {OpKind::kConvolutionBackward, OperatorClass::kConvolution},
    {OpKind::kLinear, OperatorClass::kMatrixProduct},
    {OpKind::kMatmul, OperatorClass::kMatrixProduct},
    {OpKind::kEinsum, OperatorClass::kMatrixProduct},
    {OpKind::kAttention, OperatorClass::kAttention},
    {OpKind::kAttentionBackward, OperatorClass::kAttention},
    {OpKind::kRecurrent, OperatorClass::kRecurrent},
    {OpKind::kRecurrentBackward, OperatorClass::kRecurrent},
    {OpKind::kBatchNorm, OperatorClass::kNormalization},
    {OpKind::kLayerNorm, OperatorClass::kNormalization},
    {OpKind::kGroupNorm, OperatorClass::kNormalization},
    {OpKind::kInstanceNorm, OperatorClass::kNormalization},
    {OpKind::kRmsNorm, OperatorClass::kNormalization},
    {OpKind::kLocalResponseNorm, OperatorClass::kNormalization},
    {OpKind::kNormBackward, OperatorClass::kNormalization},
    {OpKind::kSoftmax, OperatorClass::kNormalization},
    {OpKind::kSoftmaxBackward, OperatorClass::kNormalization},
    {OpKind::kRelu, OperatorClass::kActivation},
    {OpKind::kGelu, OperatorClass::kActivation},
    {OpKind::kSilu, OperatorClass::kActivation},
    {OpKind::kSigmoid, OperatorClass::kActivation},
    {OpKind::kTanh, OperatorClass::kActivation},
    {OpKind::kHardActivation, OperatorClass::kActivation},
    {OpKind::kOtherActivation, OperatorClass::kActivation},
    {OpKind::kActivationBackward, OperatorClass::kActivation},
    {OpKind::kMaxPool, OperatorClass::kResampling},
    {OpKind::kAveragePool, OperatorClass::kResampling},
    {OpKind::kPoolBackward, OperatorClass::kResampling},
    {OpKind::kUpsample, OperatorClass::kResampling},
    {OpKind::kUpsampleBackward, OperatorClass::kResampling},
    {OpKind::kAdd, OperatorClass::kPointwise},
    {OpKind::kSubtract, OperatorClass::kPointwise},
    {OpKind::kMultiply, OperatorClass::kPointwise},
    {OpKind::kDivide, OperatorClass::kPointwise},
    {OpKind::kElementwise, OperatorClass::kPointwise},
    {OpKind::kCompare, OperatorClass::kPointwise},
    {OpKind::kSelect, OperatorClass::kPointwise},
    {OpKind::kCast, OperatorClass::kPointwise},
    {OpKind::kFill, OperatorClass::kPointwise},
    {OpKind::kRandom, OperatorClass::kPointwise},
    {OpKind::kDropout, OperatorClass::kPointwise},
    {OpKind::kReduce, OperatorClass::kReduction},
    {OpKind::kArgReduce, OperatorClass::kReduction},
    {OpKind::kSort, OperatorClass::kReduction},
    {OpKind::kCumulative, OperatorClass::kReduction},
    {OpKind::kLoss, OperatorClass::kReduction},
    {OpKind::kView, OperatorClass::kView},
    {OpKind::kCopy, OperatorClass::kMovement},
    {OpKind::kConcat, OperatorClass::kMovement},
    {OpKind::kPad, OperatorClass::kMovement},
    {OpKind::kGather, OperatorClass::kMovement},
    {OpKind::kScatter, OperatorClass::kMovement},
    {OpKind::kEmbedding, OperatorClass::kMovement},
    {OpKind::kEmbeddingBackward, OperatorClass::kMovement},
    {OpKind::kOptimizerUpdate, OperatorClass::kOptimizer},
    {OpKind::kCollective, OperatorClass::kOther},
    {OpKind::kFft, OperatorClass::kOther},
    {OpKind::kDetection, OperatorClass::kOther},
    {OpKind::kOther, OperatorClass::kOther},
};

constexpr std::array<OperatorClass, kNumOpKinds> ClassesByKind() {
  std::array<OperatorClass, kNumOpKinds> classes;
  classes.fill(OperatorClass::kOther);
  for (const ClassRow& row : kRows) {
    classes[static_cast<std::size_t>(row.kind)] = row.op_class;
  }
  return classes;
}

constexpr std::array<OperatorClass, kNumOpKinds> kClasses = ClassesByKind();
static_assert(std::size(kRows) == kNumOpKinds, "a kind has no class");

}  // namespace

OperatorClass ClassOf(OpKind kind) {
  return kClasses.at(static_cast<std::size_t>(kind));
}

}  // namespace foretell
