// One row for each operator whose meta kernel looks at less than its other
// ones, in checks/. The rows come from calls with misfitting operands on both
// devices (tests/program/operand_checks_test.cc), the rules from LibTorch 2.13.
#include "src/program/operand_checks.h"

#include <string_view>
#include <unordered_map>

#include "src/program/checks/families.h"
#include "src/program/meta/call.h"

namespace foretell {
namespace {

using CheckTable = std::unordered_map<std::string_view, checks::Check>;

CheckTable AllChecks() {
  CheckTable table;
  for (const auto rows :
       {checks::AttentionRows(), checks::ConvolutionRows(),
        checks::DimensionRows(), checks::ImageRows(), checks::IndexRows(),
        checks::LossRows(), checks::MaskRows(), checks::NormRows(),
        checks::ProductRows(), checks::RecurrentRows(), checks::TypeRows()}) {
    for (const checks::OperandRow& row : rows)
      table.emplace(row.name, row.check);
  }
  return table;
}

}  // namespace

void RequireOperandsFit(const c10::OperatorHandle& op,
                        torch::jit::Stack& stack) {
  static const CheckTable kChecks = AllChecks();
  constexpr std::string_view kNamespace = "aten::";
  std::string_view name = op.schema().name();
  const std::string_view overload = op.schema().overload_name();
  const bool names_dimensions = overload.find("imname") != overload.npos;
  if (!name.starts_with(kNamespace) || names_dimensions) return;
  name.remove_prefix(kNamespace.size());
  const auto row = kChecks.find(name);
  if (row != kChecks.end()) row->second(meta::Call(op, stack));
}

}  // namespace foretell
