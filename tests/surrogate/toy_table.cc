#include "tests/surrogate/toy_table.h"

namespace foretell::surrogate {

Table ToyTable(int batches, int edges,
               const std::function<double(double, double)>& target) {
  Table table{.columns = {"batch", "edge"},
              .target = "memory",
              .inputs = Eigen::MatrixXd(batches * edges, 2),
              .values = Eigen::VectorXd(batches * edges)};
  for (int i = 0; i < batches * edges; ++i) {
    const double batch = 1 << (i % batches);
    const double edge = 16 * (1 + i / batches);
    table.inputs.row(i) << batch, edge;
    table.values[i] = target(batch, edge);
  }
  return table;
}

}  // namespace foretell::surrogate
