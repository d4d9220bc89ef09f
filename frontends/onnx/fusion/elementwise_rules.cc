// torch.addcmul(x, a, b) is exported as x + (a · b) · value, even if the value
// is 1, its default. No model writes out a product with 1; with another value
// the pattern may be what the model itself computes in three steps.

#include <optional>
#include <string>

#include "frontends/onnx/fusion/rules.h"

namespace foretell::onnx {

std::optional<Replacement> FuseAddcmul(Match match) {
  const Node& add = match.last();
  if (add.inputs.size() != 2) return std::nullopt;
  for (const std::string& scaled : {add.inputs[0], add.inputs[1]}) {
    Match attempt = match;
    const std::optional<std::string> addend = Beside(add, scaled);
    const Node* by_one = attempt.Take(scaled, "Mul");
    const std::optional<std::string> name =
        by_one == nullptr ? std::nullopt
                          : BesideNumber(match.body(), *by_one, 1);
    const Node* product = name ? attempt.Take(*name, "Mul") : nullptr;
    if (!addend || product == nullptr || product->inputs.size() != 2) continue;
    return attempt.By("Addcmul",
                      {*addend, product->inputs[0], product->inputs[1]});
  }
  return std::nullopt;
}

}  // namespace foretell::onnx
