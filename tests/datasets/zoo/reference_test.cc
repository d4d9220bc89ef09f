// Stock networks against the implementations that they are named after.

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "foretell/features.h"
#include "tests/datasets/zoo/trace_network.h"

namespace foretell {
namespace {

using zoo_test::TraceNetwork;

/// One row of reference.csv.
struct Reference {
  std::string model;
  std::string library;
  std::int64_t batch = 0;
  std::int64_t parameters = 0;
  std::int64_t macs = 0;
};

/// model,library,reference,input,batch,parameters,macs.
Reference ParseRow(const std::string& line) {
  std::vector<std::string> cells;
  std::stringstream stream(line);
  for (std::string cell; std::getline(stream, cell, ',');) {
    cells.push_back(cell);
  }
  if (cells.size() != 7) throw std::runtime_error("reference.csv: " + line);
  return {cells[0], cells[1], std::stoll(cells[4]), std::stoll(cells[5]),
          std::stoll(cells[6])};
}

std::vector<Reference> ReadReferences() {
  std::ifstream file(FORETELL_SOURCE_DIR "/tests/datasets/zoo/reference.csv");
  std::string line;
  std::getline(file, line);  // The header.
  std::vector<Reference> references;
  while (std::getline(file, line)) references.push_back(ParseRow(line));
  return references;
}

TEST(Reference, StockNetworksHaveItsParametersAndMacs) {
  const std::vector<Reference> references = ReadReferences();
  ASSERT_GE(references.size(), 52u);
  for (const Reference& reference : references) {
    SCOPED_TRACE(reference.library + " " + reference.model);
    EXPECT_EQ(zoo::Load(reference.model).parameter_elements(),
              reference.parameters);
    const Trace trace = TraceNetwork(reference.model, reference.batch);
    const auto macs = static_cast<double>(reference.macs);
    EXPECT_NEAR(static_cast<double>(CountStaticFeatures(trace.graph).macs),
                macs, 1e-3 * macs);
  }
}

}  // namespace
}  // namespace foretell
