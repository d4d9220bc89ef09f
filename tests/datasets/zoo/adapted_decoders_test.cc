// Small decoders by a config.json, with LoRA on the layers that transformers
// names, against what PEFT counts.

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/datasets/scratch.h"
#include "tests/datasets/zoo/transformers_test.h"

namespace foretell {
namespace {

struct AdaptedCount {
  std::int64_t parameters = 0;  ///< Of the network and its adapters.
  std::int64_t trained = 0;
};

AdaptedCount CountAdapted(const std::string& model,
                          const nlohmann::json& layers) {
  std::string targets;
  for (const std::string layer : layers) {
    targets.append(targets.empty() ? "" : "|").append(layer);
  }
  const LoraSpec spec = {.rank = 8, .targets = "\\b(" + targets + ")\\."};
  const Trace trace =
      TraceZoo(model + "?seq=8", 1,
               {.run = {.mode = Mode::kTraining}, .loop = {.lora = spec}});
  AdaptedCount count = {.parameters = trace.graph.ParameterElements()};
  for (const Storage& storage : trace.graph.storages()) {
    if (storage.role == TensorRole::kGradient) count.trained += storage.bytes;
  }
  // Of 4 bytes, and each of a trace's two steps has its own.
  count.trained /= 2 * 4;
  return count;
}

TEST(AdaptedDecoders, HaveTheParametersThatPeftCounts) {
  std::ifstream file(std::string(FORETELL_SOURCE_DIR) +
                     "/tests/datasets/zoo/reference_adapters.json");
  const nlohmann::json reference = nlohmann::json::parse(file);
  EXPECT_GE(reference.at("rows").size(), 20);
  for (const nlohmann::json& row : reference.at("rows")) {
    SCOPED_TRACE(row.dump());
    const dataset_test::Scratch scratch;
    const std::string path = scratch / "config.json";
    std::ofstream(path) << row.at("config");
    const AdaptedCount count = CountAdapted(path, row.at("targets"));
    EXPECT_EQ(count.parameters, row.at("parameters"));
    EXPECT_EQ(count.trained, row.at("trained"));
  }
}

std::int64_t ParametersWith(const std::string& targets) {
  const LoraSpec spec = {.rank = 8, .targets = targets};
  return TraceZoo(
             "llama?width=64&depth=2&heads=4&kv_heads=2&inner=96&vocabulary="
             "128&seq=8&attention=eager&sinks=true&experts=4&moe=gpt_oss",
             1, {.run = {.mode = Mode::kTraining}, .loop = {.lora = spec}})
      .graph.ParameterElements();
}

// Each of its two tensors per layer would have an adapter of its own size.
TEST(AdaptedDecoders, LeaveExpertsThatArePackedIntoOneParameter) {
  EXPECT_EQ(ParametersWith("_proj"), ParametersWith("[qkvo]_proj"));
}

}  // namespace
}  // namespace foretell
