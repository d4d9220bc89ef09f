#include "src/network/ensemble.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "foretell/error.h"
#include "src/network/weights.h"
#include "tests/network/toy_terms.h"

namespace foretell::learned {
namespace {

NetworkOptions EnsembleOptions(std::int64_t members) {
  NetworkOptions options = TermOptions(TermSet::kKernels);
  options.members = members;
  return options;
}

/// The member, alone, with the weights that it has in the ensemble.
std::shared_ptr<Network> MemberOf(const Network& ensemble, int member) {
  const std::string prefix = "members." + std::to_string(member) + ".";
  std::map<std::string, StoredTensor> weights;
  for (const auto& [name, tensor] : WeightsOf(ensemble)) {
    if (!name.starts_with(prefix)) continue;
    weights[name.substr(prefix.size())] = tensor;
  }
  return RestoreNetwork(EnsembleOptions(1), weights, "member");
}

TEST(Ensemble, PredictsTheMeanOfItsMembers) {
  const auto network = MakeNetwork(EnsembleOptions(3));
  network->eval();
  RandomizeTerms(*network);
  const TermTable table = ToyKernels({1, 2}, {2, 3});
  double sum = 0;
  for (int member = 0; member < 3; ++member) {
    sum += PredictOne(*MemberOf(*network, member), table, TermSet::kKernels);
  }
  EXPECT_NEAR(PredictOne(*network, table, TermSet::kKernels), sum / 3, 1e-6);
  EXPECT_NE(PredictOne(*MemberOf(*network, 0), table, TermSet::kKernels),
            PredictOne(*MemberOf(*network, 1), table, TermSet::kKernels));
}

TEST(Ensemble, SupervisesEachMemberAlone) {
  const auto network = MakeNetwork(EnsembleOptions(2));
  network->eval();
  RandomizeTerms(*network);
  const GraphBatch batch =
      CollateTables({ToyKernels({1, 2}, {2, 3})}, TermSet::kKernels);
  const TrainingOutput output = network->TrainingForward(batch);
  // Of each the sum and three heads.
  ASSERT_EQ(output.supervised.size(), 8);
  output.supervised[4].sum().backward();
  for (const auto& item : network->named_parameters()) {
    if (item.key().starts_with("members.1.")) continue;
    EXPECT_FALSE(item.value().grad().defined()) << item.key();
  }
  EXPECT_NEAR(output.prediction.item<double>(),
              network->forward(batch).item<double>(), 1e-6);
}

TEST(Ensemble, ScalesTheInputsOfAll) {
  const auto network = MakeNetwork(EnsembleOptions(2));
  network->eval();
  const GraphBatch batch = CollateTables(
      {ToyKernels({1, 2}, {2, 3}), ToyKernels({4}, {1}, 5)}, TermSet::kKernels);
  const at::Tensor seen = network->InputsToScale(batch);
  const at::Tensor deviation = seen.std(0, /*unbiased=*/false).clamp_min(0.1);
  network->SetInputScale(seen.mean(0), deviation);
  const at::Tensor distance = MemberOf(*network, 1)->InputDistance(batch);
  EXPECT_TRUE(at::allclose(network->InputDistance(batch), distance));
}

TEST(Ensemble, NeedsAMember) {
  try {
    MakeNetwork(EnsembleOptions(0));
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "a network's members is 0, expected at least 1");
  }
}

}  // namespace
}  // namespace foretell::learned
