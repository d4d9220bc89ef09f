#include "src/features/operator_class.h"

#include <array>
#include <initializer_list>

namespace foretell {
namespace {

struct ClassRow {
  OperatorClass op_class;
  std::initializer_list<OpKind> kinds;
};

struct ClassTable {
  using enum OpKind;
  static constexpr ClassRow kRows[] = {
      {OperatorClass::kConvolution,
       {kConvolution, kTransposedConvolution, kConvolutionBackward}},
      {OperatorClass::kMatrixProduct, {kLinear, kMatmul, kEinsum}},
      {OperatorClass::kAttention, {kAttention, kAttentionBackward}},
      {OperatorClass::kRecurrent, {kRecurrent, kRecurrentBackward}},
      {OperatorClass::kNormalization,
       {kBatchNorm, kLayerNorm, kGroupNorm, kInstanceNorm, kRmsNorm,
        kLocalResponseNorm, kNormBackward, kSoftmax, kSoftmaxBackward}},
      {OperatorClass::kActivation,
       {kRelu, kGelu, kSilu, kSigmoid, kTanh, kHardActivation, kOtherActivation,
        kActivationBackward}},
      {OperatorClass::kResampling,
       {kMaxPool, kAveragePool, kPoolBackward, kUpsample, kUpsampleBackward}},
      {OperatorClass::kPointwise,
       {kAdd, kSubtract, kMultiply, kDivide, kElementwise, kCompare, kSelect,
        kCast, kFill, kRandom, kDropout}},
      {OperatorClass::kReduction,
       {kReduce, kArgReduce, kSort, kCumulative, kLoss}},
      {OperatorClass::kView, {kView}},
      {OperatorClass::kMovement,
       {kCopy, kConcat, kPad, kGather, kScatter, kEmbedding,
        kEmbeddingBackward}},
      {OperatorClass::kOptimizer, {kOptimizerUpdate}},
      {OperatorClass::kOther, {kCollective, kFft, kDetection, kOther}},
  };
};

constexpr std::array<OperatorClass, kNumOpKinds> ClassesByKind() {
  std::array<OperatorClass, kNumOpKinds> classes;
  classes.fill(OperatorClass::kOther);
  for (const ClassRow& row : ClassTable::kRows) {
    for (const OpKind kind : row.kinds) {
      classes[static_cast<std::size_t>(kind)] = row.op_class;
    }
  }
  return classes;
}

constexpr std::array<OperatorClass, kNumOpKinds> kClasses = ClassesByKind();

constexpr std::size_t NumListed() {
  std::size_t count = 0;
  for (const ClassRow& row : ClassTable::kRows) count += row.kinds.size();
  return count;
}
static_assert(NumListed() == kNumOpKinds, "a kind has no class");

}  // namespace

OperatorClass ClassOf(OpKind kind) {
  return kClasses.at(static_cast<std::size_t>(kind));
}

}  // namespace foretell
