#include <algorithm>
#include <cstddef>
#include <limits>

#include "foretell/plan.h"
#include "src/core/text.h"
#include "src/surrogate/power_sum.h"

namespace foretell {
namespace {

surrogate::PowerSum SumOf(const Footprint& footprint) {
  std::vector<surrogate::Term> terms;
  for (const FootprintTerm& term : footprint.terms) {
    terms.push_back({term.bytes, term.powers});
  }
  return surrogate::PowerSum(std::move(terms));
}

}  // namespace

double PeakBytes(const Footprint& footprint,
                 std::span<const std::int64_t> shape) {
  double bytes = 0;
  for (const FootprintTerm& term : footprint.terms) {
    double product = term.bytes;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      for (int k = 0; k < term.powers[i]; ++k) {
        product *= static_cast<double>(shape[i]);
      }
    }
    bytes += product;
  }
  return bytes;
}

double ErrorOfGrowth(const Footprint& footprint) {
  const std::vector<std::int64_t> nothing(footprint.axes.size(), 0);
  const auto largest = static_cast<double>(
      std::ranges::max(footprint.runs, {}, &FootprintRun::peak_bytes)
          .peak_bytes);
  const double growth = largest - PeakBytes(footprint, nothing);
  if (growth <= 0) return std::numeric_limits<double>::infinity();
  return footprint.largest_error * largest / growth;
}

std::string FootprintFormula(const Footprint& footprint) {
  return SumOf(footprint).Formula(footprint.axes);
}

}  // namespace foretell
