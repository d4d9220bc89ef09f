// Archives of torch.export that are refused, and graphs that try to do harm.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/frontends/exported_file.h"
#include "tests/graph/expect_error.h"
#include "tests/program/trace_queries.h"

namespace foretell::exported {
namespace {

const std::string kLinear =
    NodeJson("y", "torch.ops.aten.linear.default",
             Named("input", TensorArgument("x")) + ", " +
                 Named("weight", TensorArgument("w")));
const std::string kResult = TensorArgument("y");

void ExpectRefusal(const std::string& model, ErrorCode code,
                   const std::string& part) {
  const SavedProgram saved(model);
  ExpectError([&] { saved.Run(); }, code, part);
}

TEST(ExportedRefusal, ReadsWhatTheOthersChangeOnePartOf) {
  const SavedProgram saved(ModelJson(kLinear, kResult));
  const Trace trace = saved.Run({.run = {.mode = Mode::kTraining}});
  EXPECT_EQ(trace.graph.ForwardMacs(), 2 * 4 * 4);
  EXPECT_TRUE(trace.warnings.empty());
}

/// A node that calls aten's `name` on x and w.
std::string CallOf(const std::string& name, const std::string& second) {
  return NodeJson("y", "torch.ops.aten." + name + ".default",
                  Named("self", TensorArgument("x")) + ", " +
                      Named(second, TensorArgument("w")));
}

TEST(ExportedRefusal, SaysWhyEachOperatorIsRefused) {
  const std::string nodes =
      NodeJson("a", "torch.ops.mine.layer.default",
               Named("x", TensorArgument("x"))) +
      ", " +
      NodeJson("b", "torch.ops.aten.record_stream.default",
               Named("self", TensorArgument("a"))) +
      ", " + CallOf("_reshape_alias", "size");
  for (const char* const part :
       {"that LibTorch alone does not have: torch.ops.mine.layer.default; ",
        "that access files", "may not terminate: torch.ops.aten.record_stream",
        "private to PyTorch",
        "list of allowed ones: torch.ops.aten._reshape_alias"}) {
    ExpectRefusal(ModelJson(nodes, kResult), ErrorCode::kUnsupported, part);
  }
}

TEST(ExportedRefusal, AVmapHasABeginningAndItsOwnLevel) {
  const std::string prefix = "torch._functorch.predispatch.";
  ExpectRefusal(
      ModelJson(NodeJson("y", prefix + "_vmap_decrement_nesting", ""), kResult),
      ErrorCode::kCorrupt, "ends a vmap that has not begun");
  const auto number = [](int value) {
    return Named("", fmt::format(R"({{"as_int": {}}})", value));
  };
  const std::string begin =
      NodeJson("a", prefix + "_vmap_increment_nesting",
               number(4) + ", " + Named("", R"({"as_string": "error"})"));
  const std::string add = NodeJson(
      "y", prefix + "_add_batch_dim",
      Named("", TensorArgument("x")) + ", " + number(0) + ", " + number(2));
  ExpectRefusal(ModelJson(begin + ", " + add, kResult), ErrorCode::kCorrupt,
                "belongs to level 2 of 1 open calls of vmap");
}

TEST(ExportedRefusal, CountsProductsThatPublicFunctionsCall) {
  const auto cast = [](const std::string& name, const std::string& value) {
    return NodeJson(name, "torch.ops.aten.to.dtype",
                    Named("self", TensorArgument(value)) + ", " +
                        Named("dtype", R"({"as_scalar_type": 2})"));
  };
  const std::string product =
      NodeJson("y", "torch.ops.aten._int_mm.default",
               Named("self", TensorArgument("xi")) + ", " +
                   Named("mat2", TensorArgument("wi")));
  const SavedProgram saved(ModelJson(
      cast("xi", "x") + ", " + cast("wi", "w") + ", " + product, kResult));
  const Trace trace = saved.Run();
  EXPECT_EQ(trace.graph.ForwardMacs(), 2 * 4 * 4);
  EXPECT_EQ(ToString(trace.outputs.at(0).type), "i32[2,4]");
}

TEST(ExportedRefusal, AnotherMajorVersionIsNamed) {
  ExpectRefusal(ModelJson(kLinear, kResult, 9, 0), ErrorCode::kUnsupported,
                "has version 9.0 of torch.export's schema (PyTorch 2.13.0), "
                "8.x is read; export the network again");
}

TEST(ExportedRefusal, ANewerMinorVersionIsWarnedOf) {
  const SavedProgram saved(ModelJson(kLinear, kResult, 8, 99));
  EXPECT_EQ(saved.Run().warnings.at(0),
            "has version 8.99 of torch.export's schema, newer than 8.20");
}

TEST(ExportedRefusal, PackagesOfAotInductorAreNamed) {
  const SavedProgram saved(Records{
      {"archive_format", "pt2"}, {"data/aotinductor/model/model.so", "code"}});
  ExpectError([&] { saved.Load(); }, ErrorCode::kUnsupported,
              "an AOTInductor package, which holds compiled code");
}

TEST(ExportedRefusal, OldArchivesAreNamed) {
  const torchscript::TemporaryFile file("old.pt2");
  file.Write(std::string("PK\3\4", 4) + "serialized_exported_program.json" +
             std::string("PK\5\6", 4) + std::string(18, '\0'));
  ExpectError([&] { LoadModel(file.path()); }, ErrorCode::kUnsupported,
              "written by torch.export of PyTorch < 2.8");
}

TEST(ExportedRefusal, OfSeveralModelsTheOneCalledModelIsTaken) {
  const std::string model = ModelJson(kLinear, kResult);
  const SavedProgram saved(Records{{"archive_format", "pt2"},
                                   {"models/decoder.json", "{}"},
                                   {"models/model.json", model}});
  EXPECT_EQ(saved.Run().warnings.at(0),
            "holds several models; uses 'model', not decoder "
            "(select it with FILE.pt2:decoder)");
}

TEST(ExportedRefusal, ANameAfterTheFileTakesOneOfSeveralModels) {
  const std::string relu = NodeJson("y", "torch.ops.aten.relu.default",
                                    Named("self", TensorArgument("x")));
  const SavedProgram saved(
      Records{{"archive_format", "pt2"},
              {"models/decoder.json", ModelJson(relu, kResult)},
              {"models/model.json", ModelJson(kLinear, kResult)}});
  const std::string path = saved.path() + ".pt2";
  std::filesystem::copy_file(saved.path(), path);
  for (const Sandbox sandbox : {Sandbox::kOff, Sandbox::kAuto}) {
    const Program program = LoadModel(path + ":decoder", {.sandbox = sandbox});
    const Trace trace =
        TraceProgram(program, BindInputs(program.inputs(), {}, "decoder"));
    EXPECT_EQ(TargetsOf(trace.graph), std::vector<std::string>{"relu"});
    EXPECT_TRUE(trace.warnings.empty());
    EXPECT_TRUE(program.name().ends_with(".pt2:decoder"));
  }
  ExpectError([&] { LoadModel(path + ":encoder"); },
              ErrorCode::kInvalidArgument,
              ".pt2:encoder: has no model 'encoder', but decoder, model");
  std::filesystem::remove(path);
}

TEST(ExportedRefusal, UnknownOperatorsAreListedAtOnce) {
  const std::string x = Named("self", TensorArgument("x"));
  ExpectRefusal(
      ModelJson(NodeJson("a", "torch.ops.mine.first.default", x) + ", " +
                    NodeJson("b", "torch.ops.higher_order.flex_attention", x) +
                    ", " + NodeJson("y", "torch.ops.mine.second.default", x),
                kResult),
      ErrorCode::kUnsupported,
      "torch.ops.higher_order.flex_attention, torch.ops.mine.first.default, "
      "torch.ops.mine.second.default");
}

TEST(ExportedRefusal, TypesThatNoGraphHasAreNamed) {
  std::string model = ModelJson(kLinear, kResult);
  const std::string dtype = R"("dtype": )";
  for (std::size_t at = 0; (at = model.find(dtype + "7", at)) < model.size();) {
    model.replace(at, dtype.size() + 1, dtype + "9");
  }
  ExpectRefusal(model, ErrorCode::kUnsupported,
                ": 'w': element type ComplexHalf is not supported");
}

TEST(ExportedRefusal, OperatorsThatTouchFilesAreRefused) {
  ExpectRefusal(
      ModelJson(NodeJson("y", "torch.ops.aten.from_file.default",
                         Named("filename", R"({"as_string": "/etc/passwd"})")),
                kResult),
      ErrorCode::kUnsupported, "torch.ops.aten.from_file.default");
}

TEST(ExportedRefusal, ValuesMustFitTheirArguments) {
  const std::string wrong[] = {R"({"as_string": "4"})",
                               R"({"as_tensor": {"name": "x"}})",
                               R"({"as_ints": [9223372036854775808]})",
                               R"({"as_floats": [0.5]})",
                               R"({"as_ints": "12"})",
                               R"({"as_custom": {}})",
                               "{}"};
  for (const std::string& size : wrong) {
    SCOPED_TRACE(size);
    const SavedProgram saved(ModelJson(
        NodeJson(
            "y", "torch.ops.aten.view.default",
            Named("self", TensorArgument("x")) + ", " + Named("size", size)),
        kResult));
    EXPECT_THROW(saved.Run(), Error);
  }
}

TEST(ExportedRefusal, MissingAndUnknownArgumentsAreNamed) {
  ExpectRefusal(ModelJson(NodeJson("y", "torch.ops.aten.linear.default",
                                   Named("input", TensorArgument("x"))),
                          kResult),
                ErrorCode::kCorrupt, "lacks argument 'weight'");
  ExpectRefusal(ModelJson(NodeJson("y", "torch.ops.aten.relu.default",
                                   Named("self", TensorArgument("x")) + ", " +
                                       Named("more", TensorArgument("x"))),
                          kResult),
                ErrorCode::kCorrupt, "does not accept the argument 'more'");
}

TEST(ExportedRefusal, ValuesAreMadeOnceAndBeforeTheyAreRead) {
  const std::string relu = "torch.ops.aten.relu.default";
  ExpectRefusal(
      ModelJson(NodeJson("y", relu, Named("self", TensorArgument("later"))),
                kResult),
      ErrorCode::kCorrupt,
      "node 'y' (torch.ops.aten.relu.default): reads 'later', which no earlier "
      "node defines");
  ExpectRefusal(
      ModelJson(NodeJson("x", relu, Named("self", TensorArgument("x"))),
                kResult),
      ErrorCode::kCorrupt, "'x' is made twice");
}

TEST(ExportedRefusal, LoopsEnd) {
  const std::string always = GraphJson({"t"}, "", R"({"as_bool": true})");
  const std::string body = GraphJson({"t"}, "", TensorArgument("t"));
  const std::string loop = fmt::format(
      R"({{"name": "y", "target": "torch.ops.higher_order.while_loop",
           "inputs": [{}, {}, {}],
           "outputs": [{{"as_tensor": {{"name": "y"}}}}]}})",
      Named("", GraphArgument(always)), Named("", GraphArgument(body)),
      Named("", R"({"as_tensors": [{"name": "x"}]})"));
  ExpectRefusal(ModelJson(loop, kResult), ErrorCode::kUnsupported,
                "a loop in it does not end");
}

TEST(ExportedRefusal, SequencesOfOneOperatorHaveOneLength) {
  const std::string same = GraphJson({"s", "t"}, "", TensorArgument("s"));
  for (const std::string target : {"map_impl", "scan"}) {
    const std::string carried =
        target == "scan" ? Named("", R"({"as_tensors": []})") + ", " : "";
    const std::string node = NodeJson(
        "y", "torch.ops.higher_order." + target,
        Named("", GraphArgument(same)) + ", " + carried +
            Named("", R"({"as_tensors": [{"name": "w"}, {"name": "x"}]})"));
    ExpectRefusal(ModelJson(node, kResult), ErrorCode::kCorrupt,
                  "got sequences of 4 and 2 elements");
  }
}

TEST(ExportedRefusal, AutocastTakesTypesAndNotWhatIsLeftOfANumber) {
  const std::string same = GraphJson({"t"}, "", TensorArgument("t"));
  const std::string node =
      NodeJson("y", "torch.ops.higher_order.wrap_with_autocast",
               Named("", R"({"as_string": "cpu"})") + ", " +
                   Named("", R"({"as_int": 261})") + ", " +
                   Named("", R"({"as_bool": true})") + ", " +
                   Named("", R"({"as_bool": false})") + ", " +
                   Named("", GraphArgument(same)) + ", " +
                   Named("", TensorArgument("x")));
  ExpectRefusal(ModelJson(node, kResult), ErrorCode::kUnsupported,
                "autocast to element type 261, expected f16 (5) or bf16 (15)");
}

/// A model whose input has the formula as its leading size.
std::string WithFormula(const std::string& formula, int example) {
  std::string model = ModelJson(kLinear, kResult);
  const std::string fixed = R"({"as_int": 2})";
  model.replace(
      model.find(fixed), fixed.size(),
      fmt::format(
          R"({{"as_expr": {{"expr_str": "{}", "hint": {{"as_int": {}}}}}}})",
          formula, example));
  return model;
}

TEST(ExportedRefusal, FormulasOfNumbersBeyondTheLimitAreTakenForUnknown) {
  const std::string symbol = "Symbol('s77', positive=True)";
  const std::string beyond = "Add(Integer(-9223372036854775808), s)";
  const std::pair<std::string, std::string> cases[] = {
      {symbol, "batch"},
      {"Add(Integer(-4), " + symbol + ")", "batch-4"},
      {beyond, beyond},
      {"Integer(-9223372036854775808)", "Integer(-9223372036854775808)"},
      {"Integer(2)", ""},
      {"Symbol('')", "Symbol('')"}};
  for (const auto& [formula, expected] : cases) {
    SCOPED_TRACE(formula);
    const SavedProgram saved(WithFormula(formula, 2));
    EXPECT_EQ(saved.Load().inputs().front().dims->front().symbol, expected);
    EXPECT_EQ(saved.Run().graph.ForwardMacs(), 2 * 4 * 4);
  }
}

TEST(ExportedRefusal, ExamplesBelowZeroAreRefused) {
  ExpectRefusal(WithFormula("Symbol('s77')", -1), ErrorCode::kCorrupt,
                "signature, user_input: a size is -1");
}

TEST(ExportedRefusal, SizesThatOverflowAreNamed) {
  std::string model = WithFormula("Add(Integer(-2), Symbol('s77'))", 2);
  const SavedProgram saved(model);
  const Program program = saved.Load();
  const std::int64_t huge = std::int64_t{1} << 54;
  ExpectError(
      [&] {
        const std::vector<BoundInput> inputs = {
            {"x", {DType::kF32, {huge, 0}}}};
        TraceProgram(program, inputs);
      },
      ErrorCode::kInvalidArgument,
      "input 'x': dimension 0 is 18014398509481984, which is no value of "
      "'batch-2'");
}

TEST(ExportedRefusal, BranchesOnContentAreNamed) {
  const std::string same = GraphJson({"t"}, "", TensorArgument("t"));
  const std::string node = NodeJson(
      "y", "torch.ops.higher_order.cond",
      Named("", TensorArgument("x")) + ", " + Named("", GraphArgument(same)) +
          ", " + Named("", GraphArgument(same)) + ", " +
          Named("", R"({"as_tensors": [{"name": "x"}]})"));
  ExpectRefusal(ModelJson(node, kResult), ErrorCode::kUnsupported,
                "torch.ops.higher_order.cond: depends on the content of a "
                "tensor, which a trace without arithmetic does not have; use "
                "--trace cpu");
}

TEST(ExportedRefusal, ANameIsAllOfItsBytes) {
  std::string model = ModelJson(kLinear, kResult);
  const std::string weight = R"("arg": {"name": "w"})";
  model.replace(model.find(weight), weight.size(),
                R"("arg": {"name": "w\u0000v"})");
  ExpectRefusal(model, ErrorCode::kCorrupt, R"(lacks 'w\x00v')");
}

TEST(ExportedRefusal, DeepJsonIsRefused) {
  ExpectRefusal(std::string(100'000, '['), ErrorCode::kCorrupt,
                "nested deeper than 160 levels");
}

TEST(ExportedRefusal, AFieldTwiceIsRefused) {
  const std::string model = ModelJson(kLinear, kResult);
  ExpectRefusal(R"({"schema_version": {}, )" + model.substr(1),
                ErrorCode::kCorrupt, "\"schema_version\" is given twice");
}

TEST(ExportedRefusal, DamagedTextIsRefused) {
  const std::string model = ModelJson(kLinear, kResult);
  for (std::size_t length = 0; length < model.size(); length += 7) {
    const SavedProgram saved(model.substr(0, length));
    EXPECT_THROW(saved.Load(), Error) << length;
  }
}

/// relu(x @ w) twice, of which `wrap` makes what keeps tensors for backward.
std::string TwoProducts() {
  const auto linear = [](const std::string& name, const std::string& input) {
    return NodeJson(name, "torch.ops.aten.linear.default",
                    Named("input", TensorArgument(input)) + ", " +
                        Named("weight", TensorArgument("w")));
  };
  const auto tanh = [](const std::string& name, const std::string& input) {
    return NodeJson(name, "torch.ops.aten.tanh.default",
                    Named("self", TensorArgument(input)));
  };
  return linear("a", "x") + ", " + tanh("b", "a") + ", " + linear("c", "b") +
         ", " + tanh("y", "c");
}

/// The same in a checkpoint.
std::string TwoProductsAgain() {
  const std::string graph =
      GraphJson({"w", "x"}, TwoProducts(), TensorArgument("y"));
  return ModelJson(
      NodeJson("y", "torch.ops.higher_order.tag_activation_checkpoint",
               Named("", GraphArgument(graph)) + ", " +
                   Named("", TensorArgument("w")) + ", " +
                   Named("", TensorArgument("x")) + ", " +
                   Named("use_reentrant", R"({"as_bool": false})")),
      kResult);
}

TEST(ExportedCheckpoint, ComputesAgainWhatItDoesNotKeep) {
  const SavedProgram plain(ModelJson(TwoProducts(), kResult));
  const SavedProgram saved(TwoProductsAgain());
  const TraceOptions training = {.run = {.mode = Mode::kTraining}};
  const OperatorGraph kept = plain.Run(training).graph;
  const OperatorGraph again = saved.Run(training).graph;
  EXPECT_EQ(again.ForwardMacs(), kept.ForwardMacs());
  EXPECT_EQ(BytesOfRole(again, TensorRole::kGradient),
            BytesOfRole(kept, TensorRole::kGradient));
  const auto count = [](const OperatorGraph& traced, Phase phase) {
    const auto targets = TargetsOf(traced, phase);
    return std::count(targets.begin(), targets.end(), "tanh");
  };
  EXPECT_EQ(count(kept, Phase::kBackward), 0);
  EXPECT_EQ(count(again, Phase::kForward), 2);
  EXPECT_EQ(count(again, Phase::kBackward), 2);
  // Of f32[2,4] each, the first product's tanh is kept, the second's is the
  // result; a checkpoint keeps no more than the result. Two steps.
  EXPECT_EQ(BytesOfRole(kept, TensorRole::kSaved) -
                BytesOfRole(again, TensorRole::kSaved),
            2 * 32);
}

/// Bytes alive once the forward pass and the loss are over.
std::int64_t HeldForBackward(const OperatorGraph& graph) {
  const auto forward = TargetsOf(graph, Phase::kForward).size();
  return LiveBytesAfter(graph, static_cast<NodeId>(forward) - 1);
}

TEST(ExportedCheckpoint, KeepsWhatARecomputedBlockKeeps) {
  std::string nodes = TwoProducts();
  const std::string empty = R"("metadata": {})";
  const std::string in_block =
      R"("metadata": {"nn_module_stack": "b0,blocks.0,torch.nn.Module"})";
  for (std::size_t at = nodes.find(empty); at != std::string::npos;
       at = nodes.find(empty, at + in_block.size())) {
    nodes.replace(at, empty.size(), in_block);
  }
  const SavedProgram plain(ModelJson(nodes, kResult));
  const OperatorGraph kept =
      plain.Run({.run = {.mode = Mode::kTraining}}).graph;
  const OperatorGraph blocks = plain
                                   .Run({.run = {.mode = Mode::kTraining},
                                         .loop = {.recompute = "blocks.*"}})
                                   .graph;
  const OperatorGraph again = SavedProgram(TwoProductsAgain())
                                  .Run({.run = {.mode = Mode::kTraining}})
                                  .graph;
  EXPECT_EQ(HeldForBackward(blocks), HeldForBackward(again));
  EXPECT_EQ(HeldForBackward(blocks), HeldForBackward(kept) - 32);
  // The last operators of the block saved nothing that is gone.
  const auto backward = TargetsOf(blocks, Phase::kBackward);
  EXPECT_EQ(std::count(backward.begin(), backward.end(), "tanh"), 1);
}

}  // namespace
}  // namespace foretell::exported
