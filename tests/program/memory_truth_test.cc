// The life of every tensor that a trace on meta predicts, against the storages
// of a real run of the same program on the CPU.
//
//     FORETELL_PRINT_MEMORY=1 program_test --gtest_filter='MemoryTruth*'
//
// prints the comparison of every network.

#include "tests/program/memory_truth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>

#include "foretell/trace.h"
#include "tests/program/networks.h"

namespace foretell {
namespace {

using program_test::AllNetworks;
using program_test::CompareMemory;
using program_test::ExplainedOperator;
using program_test::MemoryComparison;
using program_test::NamedNetwork;

constexpr Mode kModes[] = {Mode::kInference, Mode::kTraining};

MemoryComparison Compare(const NamedNetwork& network, Mode mode,
                         const std::vector<ExplainedOperator>& explained,
                         std::optional<DType> autocast = std::nullopt) {
  const Program program = network.ToProgram();
  TraceOptions options{
      .mode = mode, .optimizer = Optimizer::kAdam, .autocast = autocast};
  const Trace meta = TraceProgram(program, network.inputs, options);
  options.device = TraceDevice::kCpu;
  const Trace cpu = TraceProgram(program, network.inputs, options);
  return CompareMemory(meta.graph, cpu.graph, explained);
}

std::string Join(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

void PrintRow(const std::string& name, Mode mode,
              const MemoryComparison& comparison) {
  if (std::getenv("FORETELL_PRINT_MEMORY") == nullptr) return;
  std::printf("| %s | %s | %zu | %lld | %lld | %zu | %s |\n", name.c_str(),
              std::string(ModeName(mode)).c_str(), comparison.points.size(),
              static_cast<long long>(comparison.PeakOnMeta()),
              static_cast<long long>(comparison.PeakOnCpu()),
              comparison.Differences().size(),
              Join(comparison.unmatched).c_str());
}

TEST(MemoryTruth, CoversTwentyFamilies) {
  EXPECT_GE(AllNetworks().size(), 20u);
}

TEST(MemoryTruth, MetaAndCpuAgreeToTheByteBesideExplainedOperators) {
  for (const NamedNetwork& network : AllNetworks()) {
    for (const Mode mode : kModes) {
      SCOPED_TRACE(network.name + " " + std::string(ModeName(mode)));
      const MemoryComparison comparison =
          Compare(network, mode, program_test::ExplainedOperators());
      PrintRow(network.name, mode, comparison);
      EXPECT_GE(comparison.points.size(), 3u);
      for (const auto& point : comparison.Jumps()) {
        ADD_FAILURE() << "after node " << point.node << " (" << point.target
                      << "): " << point.meta_bytes << " bytes on meta, "
                      << point.cpu_bytes << " on the CPU";
      }
    }
  }
}

// In 16 bits CUDA's attention is FlashAttention, which pads small heads, and
// recurrent layers keep a reserve; the CPU's kernels do neither.
TEST(MemoryTruth, HoldsUnderAutocastBesideAttentionAndRecurrence) {
  std::set<std::string> different;
  for (const NamedNetwork& network : AllNetworks()) {
    for (const Mode mode : kModes) {
      const MemoryComparison comparison = Compare(
          network, mode, program_test::ExplainedOperators(), DType::kBF16);
      EXPECT_GE(comparison.points.size(), 3u);
      if (!comparison.Jumps().empty()) different.insert(network.name);
    }
  }
  EXPECT_THAT(different, testing::ElementsAre("bert", "gpt", "gru", "lstm",
                                              "swin", "vit"));
}

TEST(MemoryTruth, EveryExplanationIsNeeded) {
  for (const ExplainedOperator& row : program_test::ExplainedOperators()) {
    std::vector<ExplainedOperator> others = program_test::ExplainedOperators();
    std::erase_if(others, [&](const ExplainedOperator& other) {
      return other.target == row.target;
    });
    bool is_needed = false;
    for (const NamedNetwork& network : AllNetworks()) {
      for (const Mode mode : kModes) {
        is_needed =
            is_needed || !Compare(network, mode, others).Differences().empty();
      }
    }
    EXPECT_TRUE(is_needed) << row.target << ": " << row.reason;
  }
}

}  // namespace
}  // namespace foretell
