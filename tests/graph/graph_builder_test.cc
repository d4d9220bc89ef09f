#include <gtest/gtest.h>

#include "foretell/graph.h"
#include "tests/graph/expect_error.h"

namespace foretell {
namespace {

constexpr ErrorCode kInvalid = ErrorCode::kInvalidArgument;

/// %x = input f32[4]; %y = relu(%x), without events.
struct Toy {
  GraphBuilder builder{GraphInfo{.name = "toy"}};
  StorageId x_storage = builder.AddStorage(16, TensorRole::kInput);
  ValueId x = builder.AddSource("x", {DType::kF32, {4}}, x_storage);
  StorageId y_storage = builder.AddStorage(16, TensorRole::kActivation);
  NodeId relu =
      builder.AddNode({.target = "aten::relu.default", .inputs = {x}});
  ValueId y = builder.AddResult(relu, "y", {DType::kF32, {4}}, y_storage);
};

TEST(GraphBuilder, BuildsWhatItWasTold) {
  Toy toy;
  toy.builder.MarkInput(toy.x);
  toy.builder.MarkOutput(toy.y);
  toy.builder.Allocate(toy.x_storage, kNone);
  toy.builder.Allocate(toy.y_storage, toy.relu);
  toy.builder.SetRole(toy.y_storage, TensorRole::kSaved);
  const OperatorGraph graph = toy.builder.Build();
  ASSERT_EQ(graph.nodes().size(), 1u);
  EXPECT_EQ(graph.node(0).target, "relu");
  EXPECT_EQ(graph.node(0).kind, OpKind::kRelu);
  EXPECT_EQ(graph.value(toy.y).producer, 0);
  EXPECT_EQ(graph.storage(toy.y_storage).role, TensorRole::kSaved);
  EXPECT_EQ(graph.storage(toy.y_storage).label, "y");
  EXPECT_EQ(graph.inputs().front(), toy.x);
  EXPECT_EQ(graph.outputs().front(), toy.y);
}

TEST(GraphBuilder, IsEmptyAfterBuild) {
  Toy toy;
  toy.builder.DeriveLifetimes();
  toy.builder.Build();
  EXPECT_EQ(toy.builder.num_nodes(), 0);
  EXPECT_TRUE(toy.builder.Build().values().empty());
}

TEST(GraphBuilder, InventsNamesThatAreFree) {
  GraphBuilder builder{GraphInfo{}};
  const StorageId storage = builder.AddStorage(4, TensorRole::kInput);
  builder.AddSource("0", {}, storage);
  const ValueId second = builder.AddSource("", {}, storage);
  const ValueId third = builder.AddSource("", {}, storage);
  EXPECT_EQ(builder.value(second).name, "1");
  EXPECT_EQ(builder.value(third).name, "2");
}

TEST(GraphBuilder, TakesATransposedConvolutionFromItsAttribute) {
  GraphBuilder builder{GraphInfo{}};
  const NodeId node = builder.AddNode({.target = "convolution",
                                       .inputs = {},
                                       .attributes = {{"transposed", true}}});
  EXPECT_EQ(node, 0);
  ExpectError([&] { builder.Build(); }, kInvalid,
              "node 0 (convolution): convolution has 0 tensor inputs");
}

TEST(GraphBuilder, CountsParametersOncePerStorage) {
  GraphBuilder builder{GraphInfo{}};
  const StorageId tied = builder.AddStorage(40, TensorRole::kParameter);
  builder.AddSource("a", {DType::kF32, {10}}, tied);
  builder.AddSource("b", {DType::kF32, {2, 5}}, tied);
  const StorageId buffer = builder.AddStorage(12, TensorRole::kBuffer);
  builder.AddSource("c", {DType::kF32, {3}}, buffer);
  builder.DeriveLifetimes();
  EXPECT_EQ(builder.Build().ParameterElements(), 10);
}

TEST(GraphBuilder, BelievesADeclaredParameterCount) {
  GraphBuilder builder{GraphInfo{}};
  builder.SetParameterElements(7);
  EXPECT_EQ(builder.Build().ParameterElements(), 7);
  ExpectError([&] { builder.SetParameterElements(-1); }, kInvalid, "-1");
}

TEST(GraphBuilder, RefusesANegativeBatch) {
  ExpectError([] { GraphBuilder builder(GraphInfo{.name = "n", .batch = -2}); },
              kInvalid, "graph 'n': the batch is -2");
}

TEST(GraphBuilder, RefusesNegativeBytes) {
  Toy toy;
  ExpectError([&] { toy.builder.AddStorage(-1, TensorRole::kInput, "s"); },
              kInvalid, "('s') has -1 bytes");
}

TEST(GraphBuilder, RefusesANameThatIsTaken) {
  Toy toy;
  ExpectError([&] { toy.builder.AddSource("y", {}, toy.x_storage); }, kInvalid,
              "two tensors are called 'y'");
}

TEST(GraphBuilder, RefusesAnUnknownStorage) {
  Toy toy;
  ExpectError([&] { toy.builder.AddSource("z", {}, 2); }, kInvalid,
              "tensor 'z': storage 2 does not exist, the graph has 2");
  ExpectError([&] { toy.builder.SetRole(-1, TensorRole::kInput); }, kInvalid,
              "storage -1 does not exist");
  ExpectError([&] { toy.builder.storage(9); }, kInvalid, "storage 9");
}

TEST(GraphBuilder, RefusesANegativeSize) {
  Toy toy;
  ExpectError(
      [&] {
        toy.builder.AddSource("z", {DType::kF32, {2, -3}}, toy.x_storage);
      },
      kInvalid, "tensor 'z' has a negative size: f32[2,-3]");
}

TEST(GraphBuilder, RefusesARankAbove64) {
  Toy toy;
  const TensorType type{DType::kF32, std::vector<std::int64_t>(65, 1)};
  ExpectError([&] { toy.builder.AddSource("z", type, toy.x_storage); },
              kInvalid, "rank 65, at most 64");
}

TEST(GraphBuilder, RefusesMoreThan2To56Elements) {
  Toy toy;
  const std::int64_t limit = std::int64_t{1} << 56;
  toy.builder.AddSource("fits", {DType::kU8, {limit}}, toy.x_storage);
  for (const std::vector<std::int64_t>& shape :
       {std::vector{limit + 1}, {limit, 256}, {limit, 8, 0}}) {
    ExpectError(
        [&] {
          toy.builder.AddSource("z", {DType::kU8, shape}, toy.x_storage);
        },
        kInvalid, "tensor 'z': u8[");
  }
}

TEST(GraphBuilder, RefusesMoreThan2To60BytesOfStorages) {
  const std::int64_t limit = std::int64_t{1} << 60;
  GraphBuilder builder{GraphInfo{}};
  ExpectError([&] { builder.AddStorage(limit + 1, TensorRole::kInput, "s"); },
              kInvalid, "('s') has 1152921504606846977 bytes");
  builder.AddStorage(limit / 2, TensorRole::kInput);
  builder.AddStorage(limit / 2, TensorRole::kInput);
  builder.AddStorage(1, TensorRole::kInput);
  builder.DeriveLifetimes();
  ExpectError([&] { builder.Build(); }, kInvalid,
              "all storages have more than 2^60 bytes together");
}

TEST(GraphBuilder, RefusesMoreThan2To60BytesOfOneOperator) {
  GraphBuilder builder{GraphInfo{}};
  const std::int64_t size = std::int64_t{1} << 58;
  const StorageId storage = builder.AddStorage(size, TensorRole::kInput);
  const TensorType type{DType::kF32, {size / 4}};
  const ValueId x = builder.AddSource("x", type, storage);
  const NodeId cat =
      builder.AddNode({.target = "cat", .inputs = {x, x, x, x, x}});
  builder.AddResult(cat, "y", {DType::kF32, {1}}, storage);
  builder.DeriveLifetimes();
  ExpectError([&] { builder.Build(); }, kInvalid,
              "node 0 (cat): its operands and results have more than 2^60");
}

TEST(GraphBuilder, RefusesAnUnknownInputOfANode) {
  Toy toy;
  ExpectError([&] { toy.builder.AddNode({.target = "relu", .inputs = {2}}); },
              kInvalid,
              "node 1 (relu): input value 2 does not exist, the graph has 2");
}

TEST(GraphBuilder, RefusesANodeWithoutOperator) {
  Toy toy;
  ExpectError([&] { toy.builder.AddNode({.target = "aten::", .inputs = {}}); },
              kInvalid, "node 1 has no operator name");
}

TEST(GraphBuilder, RefusesCallsOfTensorsThatAreNotTheirs) {
  Toy toy;
  ExpectError([&] { toy.builder.AddInner(1, "z", {}, toy.y_storage); },
              kInvalid,
              "inner tensor 'z': node 1 does not exist, the graph has 1");
  ExpectError([&] { toy.builder.AddCall(1, {.target = "relu"}, {}); }, kInvalid,
              "call 'relu': node 1 does not exist, the graph has 1");
  ExpectError([&] { toy.builder.AddCall(0, {.target = "exp"}, {0}); }, kInvalid,
              "call 0 (exp): 'x' is not a tensor of that node");
  ExpectError([&] { toy.builder.AddCall(0, {.target = "exp"}, {9}); }, kInvalid,
              "call 0 (exp): result 9 does not exist, the graph has 2");
  ExpectError(
      [&] { toy.builder.AddCall(0, {.target = "exp", .inputs = {7}}, {}); },
      kInvalid, "call 0 (exp): input value 7 does not exist, the graph has 2");
}

TEST(GraphBuilder, GrowsAStorageAndNeverShrinksIt) {
  Toy toy;
  const std::int64_t bytes = toy.builder.storage(toy.y_storage).bytes;
  toy.builder.Grow(toy.y_storage, bytes + 8);
  toy.builder.Grow(toy.y_storage, 1);
  EXPECT_EQ(toy.builder.storage(toy.y_storage).bytes, bytes + 8);
  ExpectError([&] { toy.builder.Grow(9, 1); }, kInvalid,
              "Grow: storage 9 does not exist");
  ExpectError([&] { toy.builder.Grow(toy.y_storage, -1); }, kInvalid,
              "has -1 bytes, expected 0 to 2^60");
}

TEST(GraphBuilder, RefusesAResultOfAnUnknownNode) {
  Toy toy;
  ExpectError([&] { toy.builder.AddResult(1, "z", {}, toy.y_storage); },
              kInvalid, "result 'z': node 1 does not exist, the graph has 1");
  ExpectError([&] { toy.builder.SetScope(3, "s"); }, kInvalid, "node 3");
}

TEST(GraphBuilder, RefusesAResultAsInput) {
  Toy toy;
  ExpectError([&] { toy.builder.MarkInput(toy.y); }, kInvalid,
              "input 'y' is the result of node 0 (relu)");
}

TEST(GraphBuilder, RefusesAnInputMarkedTwice) {
  Toy toy;
  toy.builder.MarkInput(toy.x);
  toy.builder.MarkInput(toy.x);
  toy.builder.DeriveLifetimes();
  ExpectError([&] { toy.builder.Build(); }, kInvalid,
              "input 'x' is marked twice");
}

TEST(GraphBuilder, RefusesAnUnknownOutput) {
  Toy toy;
  ExpectError([&] { toy.builder.MarkOutput(2); }, kInvalid, "value 2");
}

TEST(GraphBuilder, RefusesAStorageThatIsNeverAllocated) {
  Toy toy;
  toy.builder.Allocate(toy.x_storage, kNone);
  ExpectError([&] { toy.builder.Build(); }, kInvalid,
              "storage 1 ('y') is never allocated");
}

TEST(GraphBuilder, RefusesASecondAllocation) {
  Toy toy;
  toy.builder.Allocate(toy.x_storage, kNone);
  toy.builder.Allocate(toy.y_storage, 0);
  toy.builder.Allocate(toy.y_storage, 0);
  ExpectError([&] { toy.builder.Build(); }, kInvalid,
              "storage 1 ('y') is allocated twice");
}

TEST(GraphBuilder, RefusesAFreeBeforeTheAllocation) {
  Toy toy;
  toy.builder.Free(toy.y_storage, kNone);
  ExpectError([&] { toy.builder.Build(); }, kInvalid, "unallocated");
}

TEST(GraphBuilder, RefusesASecondFree) {
  Toy toy;
  toy.builder.Allocate(toy.y_storage, kNone);
  toy.builder.Free(toy.y_storage, 0);
  toy.builder.Free(toy.y_storage, 0);
  ExpectError([&] { toy.builder.Build(); }, kInvalid,
              "storage 1 ('y') is freed at node 0 a second time");
}

TEST(GraphBuilder, RefusesEventsOutOfOrder) {
  Toy toy;
  toy.builder.Allocate(toy.y_storage, 0);
  toy.builder.Allocate(toy.x_storage, kNone);
  ExpectError([&] { toy.builder.Build(); }, kInvalid,
              "event 1: at node -1 comes after one at node 0");
}

TEST(GraphBuilder, RefusesEventsOfUnknownNodesAndStorages) {
  Toy toy;
  toy.builder.Allocate(toy.x_storage, 1);
  ExpectError([&] { toy.builder.Build(); }, kInvalid, "node 1 does not exist");
  Toy other;
  other.builder.Allocate(5, 0);
  ExpectError([&] { other.builder.Build(); }, kInvalid,
              "storage 5 does not exist");
}

TEST(GraphBuilder, RefusesDerivedLifetimesOnTopOfEvents) {
  Toy toy;
  toy.builder.Allocate(toy.x_storage, kNone);
  ExpectError([&] { toy.builder.DeriveLifetimes(); }, kInvalid,
              "already has 1 events");
}

TEST(GraphBuilder, RefusesMacsThatOnlyTogetherExceedInt64) {
  GraphBuilder builder{GraphInfo{}};
  const std::int64_t size = std::int64_t{1} << 21;  // size^3 = 2^63
  const TensorType square{DType::kU8, {size, size / 2}};
  const StorageId storage = builder.AddStorage(0, TensorRole::kInput);
  const ValueId a = builder.AddSource("a", square, storage);
  for (int i = 0; i < 3; ++i) {
    const NodeId mm = builder.AddNode({.target = "mm", .inputs = {a, a}});
    builder.AddResult(mm, "", {DType::kU8, {size, size}}, storage);
  }
  builder.DeriveLifetimes();
  ExpectError([&] { builder.Build(); }, kInvalid, "all operators exceed 2^62");
}

TEST(Node, ReadsAttributesByType) {
  const Node node{.target = "pool",
                  .attributes = {{"kernel_size", std::int64_t{3}},
                                 {"stride", std::vector<std::int64_t>{2, 1}},
                                 {"ceil_mode", true},
                                 {"p", 0.5}}};
  EXPECT_EQ(node.Ints("kernel_size", {}), (std::vector<std::int64_t>{3}));
  EXPECT_EQ(node.Ints("stride", {}), (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(node.Ints("padding", {7}), (std::vector<std::int64_t>{7}));
  EXPECT_EQ(node.Ints("p", {7}), (std::vector<std::int64_t>{7}));
  EXPECT_EQ(node.Int("ceil_mode", 0), 1);
  EXPECT_EQ(node.Int("kernel_size", 0), 3);
  EXPECT_EQ(node.Int("p", 9), 9);
  EXPECT_EQ(node.FindAttribute("missing"), nullptr);
}

}  // namespace
}  // namespace foretell
