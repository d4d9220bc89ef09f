// Every stock network, small, through two training steps on the meta device,
// and in which module each operator runs.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "datasets/zoo/selection.h"
#include "src/graph/block_paths.h"
#include "tests/datasets/zoo/trace_network.h"

namespace foretell {
namespace {

using zoo_test::TraceNetwork;

/// What makes a family's networks small; others run as they are.
const std::map<std::string_view, std::string>& Small() {
  static const std::map<std::string_view, std::string> kSmall = {
      {"efficientnet", "image_size=32"},
      {"mnasnet", "image_size=32"},
      {"mobilenet", "image_size=32"},
      {"resnet", "image_size=32"},
      {"vgg", "image_size=32"},
      {"densenet", "image_size=32"},
      {"convnext", "image_size=32"},
      {"regnet", "image_size=32"},
      {"inception", "image_size=96"},
      {"unet", "image_size=32"},
      {"unet3d", "edge=16"},
      {"weather", "height=32&width=32"},
      {"vit", "image_size=224"},
      {"swin", "image_size=56"},
      {"visformer", "image_size=32"},
      {"poolformer", "image_size=64"},
      {"mixer", "image_size=32"},
      {"bert", "seq=8"},
      {"gpt", "seq=8"},
      {"t5", "seq=8"},
      {"deberta", "seq=8"},
      {"rnn", "seq=4"},
      {"llama", "seq=8"},
      {"sam", "image_size=256"},
      {"diffusion_unet", "image_size=8"},
      {"vae_decoder", "image_size=8"},
      {"vae_encoder", "image_size=64"},
      {"whisper", "frames=40"},
      {"detr", "height=64&width=96"},
      {"flux", "image_size=4&seq=8"},
      {"flux2", "image_size=4&seq=8"},
      {"sd3", "image_size=8&seq=8"},
      {"wan", "frames=2&height=4&width=4&seq=8"},
  };
  return kSmall;
}

std::string SmallName(const std::string& name) {
  const auto found = Small().find(zoo::Select(name).family->name);
  return found == Small().end() ? name : name + "?" + found->second;
}

/// Operators that read a parameter of a numbered block run in that block, and
/// their module is that of the parameter or one around it. Weights that modules
/// share have the name of the first.
void ExpectModulesOfParameters(const OperatorGraph& graph) {
  const BlockOf block_of = BlocksOfNumber(0);
  std::set<ValueId> seen;
  for (const Node& node : graph.nodes()) {
    if (node.phase != Phase::kForward) continue;
    for (const ValueId input : node.inputs) {
      const Value& value = graph.value(input);
      if (graph.storage(value.storage).role != TensorRole::kParameter ||
          value.producer != kNone || !seen.insert(input).second) {
        continue;
      }
      EXPECT_TRUE(node.scope.empty() ||
                  value.name.starts_with(node.scope + "."))
          << value.name << " is read in '" << node.scope << "'";
      EXPECT_EQ(block_of(node.scope), block_of(value.name)) << value.name;
    }
  }
}

TEST(Training, EveryStockNetworkLearns) {
  for (const std::string& name : zoo::Names()) {
    SCOPED_TRACE(name);
    const std::string small = SmallName(name);
    const Trace trace = TraceNetwork(small, 2, Mode::kTraining);
    EXPECT_TRUE(trace.warnings.empty())
        << (trace.warnings.empty() ? "" : trace.warnings.front());
    const auto& nodes = trace.graph.nodes();
    EXPECT_TRUE(std::any_of(nodes.begin(), nodes.end(), [](const Node& node) {
      return node.phase == Phase::kBackward;
    }));
    ExpectModulesOfParameters(trace.graph);
    // Two steps, each with a gradient of every parameter.
    std::int64_t gradient_bytes = 0;
    for (const Storage& storage : trace.graph.storages()) {
      if (storage.role == TensorRole::kGradient)
        gradient_bytes += storage.bytes;
    }
    EXPECT_EQ(gradient_bytes, 2 * 4 * zoo::Load(small).parameter_elements());
  }
}

}  // namespace
}  // namespace foretell
