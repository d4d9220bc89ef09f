#include "src/features/operator_class.h"

#include <gtest/gtest.h>

#include <set>

namespace foretell {
namespace {

TEST(OperatorClass, GroupsBackwardWithForward) {
  EXPECT_EQ(ClassOf(OpKind::kConvolutionBackward), OperatorClass::kConvolution);
  EXPECT_EQ(ClassOf(OpKind::kTransposedConvolution),
            OperatorClass::kConvolution);
  EXPECT_EQ(ClassOf(OpKind::kAttentionBackward), OperatorClass::kAttention);
  EXPECT_EQ(ClassOf(OpKind::kRecurrentBackward), OperatorClass::kRecurrent);
  EXPECT_EQ(ClassOf(OpKind::kNormBackward), OperatorClass::kNormalization);
  EXPECT_EQ(ClassOf(OpKind::kPoolBackward), OperatorClass::kResampling);
  EXPECT_EQ(ClassOf(OpKind::kEmbeddingBackward), OperatorClass::kMovement);
}

TEST(OperatorClass, UsesEveryClass) {
  std::set<OperatorClass> classes;
  for (int i = 0; i < kNumOpKinds; ++i) {
    classes.insert(ClassOf(static_cast<OpKind>(i)));
  }
  EXPECT_EQ(classes.size(), 13u);
}

TEST(OperatorClass, IsOtherOnlyWhereNothingIsKnown) {
  std::set<OpKind> others;
  for (int i = 0; i < kNumOpKinds; ++i) {
    const OpKind kind = static_cast<OpKind>(i);
    if (ClassOf(kind) == OperatorClass::kOther) others.insert(kind);
  }
  EXPECT_EQ(others, (std::set<OpKind>{OpKind::kFft, OpKind::kDetection,
                                      OpKind::kCollective, OpKind::kOther}));
}

}  // namespace
}  // namespace foretell
