// What TransformerEngine changes in the memory of a step, by device.

#include "src/memory/te_memory.h"

#include <gtest/gtest.h>

#include <string>

#include "foretell/graph_io.h"
#include "src/core/units.h"

namespace foretell::memory {
namespace {

/// A quantization by rows and by columns in `format`, and a product.
OperatorGraph Quantized(const std::string& format) {
  return ParseGraph(R"(graph "network" batch=32
%x = input bf16[32,64]
%a, %a.2, %a.3 = transformer_engine::quantize(%x) {format=")" +
                    format +
                    R"(", columnwise=true} : f8[32,64], f32[1], f8[64,32]
%b = transformer_engine::gemm(%a, %a.2, %a.2, %a) : bf16[32,32]
output %b, %a.3
)");
}

DeviceSpec DeviceOf(int capability) {
  DeviceSpec device;
  device.compute_capability = capability;
  return device;
}

TEST(TeMemory, HasAWorkspaceOfItsOwn) {
  const OperatorGraph graph = Quantized("e4m3");
  const TeMemory ada = TeMemoryOf(graph, DeviceOf(89));
  EXPECT_EQ(graph.node(ada.first_product).target, "transformer_engine::gemm");
  EXPECT_EQ(ada.workspace_bytes, 4 * kMiB);
  EXPECT_EQ(TeMemoryOf(graph, DeviceOf(90)).workspace_bytes, 32 * kMiB + 1024);
  EXPECT_EQ(TeMemoryOf(ParseGraph(R"(graph "network" batch=1
%x = input f32[1]
output %x
)"),
                       DeviceOf(90))
                .first_product,
            kNone);
}

TEST(TeMemory, NeedsNoCopyWhereProductsTakeAnyLayout) {
  const auto needless = [](const std::string& format, int capability) {
    return TeMemoryOf(Quantized(format), DeviceOf(capability)).needless.size();
  };
  EXPECT_EQ(needless("e4m3", 89), 0);
  EXPECT_EQ(needless("e4m3", 90), 0);
  EXPECT_EQ(needless("e4m3", 100), 1);
  EXPECT_EQ(needless("e5m2", 103), 1);
  EXPECT_EQ(needless("e4m3", 120), 0);
  EXPECT_EQ(needless("mxfp8", 100), 0);
}

}  // namespace
}  // namespace foretell::memory
