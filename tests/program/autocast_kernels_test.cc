// The kernels of small networks that were traced under autocast.

#include "tests/program/autocast_kernels.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "foretell/trace.h"
#include "tests/program/networks.h"

namespace foretell {
namespace {

using program_test::AllNetworks;
using program_test::NamedNetwork;

OperatorGraph TraceOf(const NamedNetwork& network,
                      const TraceOptions& options) {
  return TraceProgram(network.ToProgram(), network.inputs, options).graph;
}

/// Networks in which casts are others than those that a plain trace is given.
/// Each time the trace is right.
const std::map<std::string, std::string> kDifferent = {
    {"autoencoder_1d", "upsampling runs in f32; plain traces keep f16"},
    {"detr", "the cast of an expanded tensor has all its elements"},
    {"lstm", "a state that is given twice is cast twice"},
};

TEST(AutocastKernels, AreThoseThatPlainTracesAreGiven) {
  for (const NamedNetwork& network : AllNetworks()) {
    const OperatorGraph traced = TraceOf(network, {.autocast = DType::kF16});
    const OperatorGraph plain =
        TraceOf(network, {.precision = Precision::kFp16});
    for (const bool channels_last : {false, true}) {
      const std::string difference =
          FirstDifference(traced, plain, channels_last);
      EXPECT_EQ(!difference.empty(), kDifferent.contains(network.name))
          << network.name << ": " << difference;
    }
  }
}

}  // namespace
}  // namespace foretell
