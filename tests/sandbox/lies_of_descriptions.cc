// What a file is said to hold: inputs, parameters, warnings.

#include "tests/sandbox/lies.h"

namespace foretell::lies {
namespace {

void SendWarnings(Lie& lie, std::int64_t count, std::string_view pattern,
                  std::int64_t bytes) {
  const Body head = Body().Text("onnx").Number(0).Number(0).Number(0);
  lie.Header(0, std::ssize(head.bytes()) + 8 + count * (8 + bytes) + 8);
  lie.Raw(head.bytes());
  lie.Number(count);
  for (std::int64_t i = 0; i < count; ++i) lie.FillText(pattern, bytes);
  lie.Number(0);
}

void SendInputs(Lie& lie, std::int64_t count, std::int64_t dims) {
  Body input = Body().InputCalled("x").Byte(0).Byte(dims > 0 ? 1 : 0);
  if (dims > 0) input.Number(dims);
  for (std::int64_t i = 0; i < dims; ++i) {
    input.Text("").Byte(1).Number(1).Byte(1).Number(1).Byte(1).Number(1);
  }
  const Body head = Body().Text("onnx").Number(count);
  const Body tail = Body().NoMore();
  lie.Header(0, std::ssize(head.bytes()) + count * std::ssize(input.bytes()) +
                    std::ssize(tail.bytes()));
  lie.Raw(head.bytes());
  for (std::int64_t i = 0; i < count; ++i) lie.Raw(input.bytes());
  lie.Raw(tail.bytes());
}

constexpr Row kRows[] = {
    {"unknown format", kDescription,
     [](Lie& lie) {
       lie.Frame(0, Body().Text("zoo").Number(0).NoMore().bytes());
     }},
    {"a million inputs, announced", kDescription,
     [](Lie& lie) {
       lie.Frame(0, Body().Text("onnx").Number(1'000'000).bytes());
     }},
    {"2^63 inputs", kDescription,
     [](Lie& lie) {
       lie.Frame(0, Body().Text("onnx").Number(INT64_MIN).bytes());
     }},
    {"a million inputs", kDescription,
     [](Lie& lie) { SendInputs(lie, 1'000'000, 0); }},
    {"200,000 inputs", kDescription,
     [](Lie& lie) { SendInputs(lie, 200'000, 0); }},
    {"a million dimensions", kDescription,
     [](Lie& lie) { SendInputs(lie, 1, 1'000'000); }},
    {"1,000 inputs of 900 dimensions", kDescription,
     [](Lie& lie) { SendInputs(lie, 1'000, 900); }},
    {"1,000 inputs of 10,000 dimensions", kDescription,
     [](Lie& lie) { SendInputs(lie, 1'000, 10'000); }},
    {"a text of 2^63", kDescription,
     [](Lie& lie) { lie.Frame(0, Body().Number(INT64_MIN).bytes()); }},
    {"a text longer than its message", kDescription,
     [](Lie& lie) { lie.Frame(0, Body().Number(kMega).bytes() + "onnx"); }},
    {"a size of -1", kDescription,
     [](Lie& lie) {
       Body body = Body().Text("onnx").Number(1).InputCalled("x");
       body.Byte(0).Byte(1);
       lie.Frame(0, body.Number(1).Text("").Byte(1).Number(-1).bytes());
     }},
    {"an unknown element type", kDescription,
     [](Lie& lie) {
       Body body = Body().Text("onnx").Number(1).InputCalled("x").Byte(1);
       lie.Frame(0, body.Text("f99\x1b[31m").bytes());
     }},
    {"names that steer", kDescription,
     [](Lie& lie) {
       Body body = Body().Text("onnx").Number(1).Input(kSteering);
       lie.Frame(0, body.NoMore().bytes());
     }},
    {"2^63-1 parameters", kDescription,
     [](Lie& lie) {
       Body body = Body().Text("onnx").Number(0).Number(INT64_MAX);
       lie.Frame(0, body.Number(0).Number(0).Number(0).bytes());
     }},
    {"a million warnings", kDescription,
     [](Lie& lie) { SendWarnings(lie, 1'000'000, "w\x1b[31m", 6); }},
    {"1,000 warnings of 1 KB", kDescription,
     [](Lie& lie) { SendWarnings(lie, 1'000, "w\x1b[31m\n", 1'024); }},
    {"a warning of 500 MB", kDescription,
     [](Lie& lie) { SendWarnings(lie, 1, "w", 500 * kMega); }},
    {"a warning of 20 MB", kDescription,
     [](Lie& lie) { SendWarnings(lie, 1, "w", 20 * kMega); }},
};

}  // namespace

std::span<const Row> LiesOfDescriptions() { return kRows; }

}  // namespace foretell::lies
