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
#include <map>
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

/// The steps that a trace knows, as they are printed.
const std::map<std::string, TraceOptions> kSteps = {
    {"inference", {}},
    {"inference in grad mode", {.run = {.grad_mode = true}}},
    {"training",
     {.run = {.mode = Mode::kTraining, .optimizer = Optimizer::kAdam}}}};

MemoryComparison Compare(const NamedNetwork& network, TraceOptions options,
                         const std::vector<ExplainedOperator>& explained) {
  const Program program = network.ToProgram();
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

void PrintRow(const std::string& name, const std::string& step,
              const MemoryComparison& comparison) {
  if (std::getenv("FORETELL_PRINT_MEMORY") == nullptr) return;
  std::printf("| %s | %s | %zu | %lld | %lld | %zu | %s |\n", name.c_str(),
              step.c_str(), comparison.points.size(),
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
    for (const auto& [step, options] : kSteps) {
      SCOPED_TRACE(network.name + " " + step);
      const MemoryComparison comparison =
          Compare(network, options, program_test::ExplainedOperators());
      PrintRow(network.name, step, comparison);
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
    for (const auto& [step, plain] : kSteps) {
      TraceOptions options = plain;
      options.run.precision = Precision::kBf16;
      options.run.autocast = true;
      const MemoryComparison comparison =
          Compare(network, options, program_test::ExplainedOperators());
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
      for (const auto& [step, options] : kSteps) {
        is_needed = is_needed ||
                    !Compare(network, options, others).Differences().empty();
      }
    }
    EXPECT_TRUE(is_needed) << row.target << ": " << row.reason;
  }
}

}  // namespace
}  // namespace foretell
