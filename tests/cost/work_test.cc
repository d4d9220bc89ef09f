#include "src/cost/work.h"

#include <gtest/gtest.h>

#include <string>

#include "foretell/graph_io.h"

namespace foretell::cost {
namespace {

/// Work of the last node of a graph in text form.
Work WorkOfLast(const std::string& body) {
  const OperatorGraph graph = ParseGraph("graph \"g\"\n" + body);
  return WorkOf(graph, graph.nodes().back());
}

TEST(Work, ReadsOperandsAndWritesResults) {
  const Work work = WorkOfLast(R"(%x = input f32[100]
%y = input f32[100]
%z = add(%x, %y) : f32[100]
)");
  EXPECT_TRUE(work.has_kernel);
  EXPECT_EQ(work.bytes_read, 800);
  EXPECT_EQ(work.bytes_written, 400);
  EXPECT_EQ(work.flops, 100);
  EXPECT_EQ(work.kernels, 1);
}

TEST(Work, ReadsAnOperandOnceThatIsGivenTwice) {
  EXPECT_EQ(WorkOfLast(R"(%x = input f32[100]
%z = add(%x, %x) : f32[100]
)")
                .bytes_read,
            400);
}

TEST(Work, OfAViewIsNothing) {
  const Work work = WorkOfLast(R"(%x = input f32[100]
%v = view(%x) {size=[10,10]} : f32[10,10] alias %x
)");
  EXPECT_FALSE(work.has_kernel);
  EXPECT_EQ(work.bytes_read + work.bytes_written + work.kernels, 0);
}

TEST(Work, OfAReshapeThatCopiesIsACopy) {
  const Work work = WorkOfLast(R"(%x = input f32[100]
%v = reshape(%x) {shape=[10,10]} : f32[10,10]
)");
  EXPECT_TRUE(work.has_kernel);
  EXPECT_EQ(work.bytes_read, 400);
  EXPECT_EQ(work.bytes_written, 400);
}

TEST(Work, OfAnInPlaceOperatorIsThatOfItsTwin) {
  const Work work = WorkOfLast(R"(%x = input f32[100]
%z = relu_(%x) : f32[100] alias %x
)");
  EXPECT_TRUE(work.has_kernel);
  EXPECT_EQ(work.bytes_read, 400);
  EXPECT_EQ(work.bytes_written, 400);
}

TEST(Work, OfAnInPlaceCopyIsNotAView) {
  EXPECT_TRUE(WorkOfLast(R"(%x = input f32[100]
%y = input f32[100]
%z = copy_(%x, %y) : f32[100] alias %x
)")
                  .has_kernel);
}

TEST(Work, OfDropoutThatReturnsItsInputIsNothing) {
  EXPECT_FALSE(WorkOfLast(R"(%x = input f32[100]
%z = dropout(%x) : f32[100] alias %x
)")
                   .has_kernel);
}

TEST(Work, OfALookupReadsWhatItReturns) {
  const Work work = WorkOfLast(R"(%i = input i64[16]
%y = embedding(weight f32[50000,512], %i) : f32[16,512]
)");
  EXPECT_EQ(work.bytes_written, 16 * 512 * 4);
  EXPECT_EQ(work.bytes_read, 16 * 512 * 4);
}

TEST(Work, OfAGatherCountsNoIndices) {
  const Work work = WorkOfLast(R"(%x = input f32[100,8]
%i = input i64[50,8]
%y = gather(%x, %i) {dim=0} : f32[50,8]
)");
  EXPECT_EQ(work.bytes_read, 50 * 8 * 4);
}

TEST(Work, OfAGatherOfIntegersCountsAllItReads) {
  const Work work = WorkOfLast(R"(%x = input i64[50,8]
%i = input i64[50,8]
%y = gather(%x, %i) {dim=0} : i64[50,8]
)");
  EXPECT_EQ(work.bytes_read, 2 * 50 * 8 * 8);
}

TEST(Work, ReadsNoMoreOfAnExpandedTensorThanItsStorage) {
  const Work work = WorkOfLast(R"(%x = input f32[1,100]
%e = expand(%x) {size=[50,100]} : f32[50,100] alias %x
%y = relu(%e) : f32[50,100]
)");
  EXPECT_EQ(work.bytes_read, 400);
  EXPECT_EQ(work.bytes_written, 20'000);
}

TEST(Work, OfFillReadsNothing) {
  const Work work = WorkOfLast(R"(%x = input f32[100]
%z = zeros_like(%x) : f32[100]
)");
  EXPECT_EQ(work.bytes_read, 0);
  EXPECT_EQ(work.bytes_written, 400);
}

TEST(Work, CountsTwoFlopsPerMultiplyAccumulate) {
  EXPECT_EQ(WorkOfLast(R"(%x = input f32[8,32]
%z = linear(%x, weight f32[16,32]) : f32[8,16]
)")
                .flops,
            2 * 8 * 16 * 32);
}

TEST(Work, OfAMultiTensorUpdateLaunchesByTheNumberOfTensors) {
  std::string text;
  std::string operands;
  std::string results;
  std::string types;
  for (int i = 0; i < 130; ++i) {
    const std::string n = std::to_string(i);
    text += "%p" + n + " = parameter f32[10]\n";
    operands += (i > 0 ? ", %p" : "%p") + n;
    results += (i > 0 ? ", %q" : "%q") + n;
    types += (i > 0 ? ", f32[10] alias %p" : "f32[10] alias %p") + n;
  }
  const Work work = WorkOfLast(text + results + " = _foreach_mul_(" + operands +
                               ") : " + types + "\n");
  EXPECT_EQ(work.kernels, 3);
  EXPECT_EQ(work.bytes_read, 130 * 40);
  EXPECT_EQ(work.bytes_written, 130 * 40);
}

}  // namespace
}  // namespace foretell::cost
