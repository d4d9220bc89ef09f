#include "toy.h"

#include "foretell/graph_io.h"

namespace foretell::dataset_test {

OperatorGraph ToyGraph(std::int64_t batch) {
  const std::string image = "f32[" + std::to_string(batch) + ",3,8,8]";
  const std::string result = "f32[" + std::to_string(batch) + ",4,8,8]";
  return ParseGraph("graph \"toy\" mode=inference precision=fp32 batch=" +
                    std::to_string(batch) + "\n%x = input " + image +
                    "\n%w = parameter f32[4,3,3,3]\n" +
                    "%a = conv2d(%x, %w) {stride=[1, 1], padding=[1, 1]} : " +
                    result + "\n%b = relu(%a) : " + result + "\noutput %b\n");
}

Point ToyPoint(const std::string& model, std::int64_t batch) {
  return {.model = model,
          .family = "toy",
          .format = "zoo",
          .path = {},
          .batch = batch,
          .mode = Mode::kInference,
          .precision = Precision::kFp32,
          .optimizer = {},
          .inputs = "x=f32[" + std::to_string(batch) + ",3,8,8]",
          .image_size = 8};
}

Label ToyLabel(RowId point, double latency_ms) {
  Label label{.point = point, .device = "gpu"};
  label.source = "test";
  label.latency_ms = latency_ms;
  return label;
}

}  // namespace foretell::dataset_test
