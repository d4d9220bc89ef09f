// Predicts one file through the public headers only.

#include <foretell/device.h>
#include <foretell/error.h>
#include <foretell/frontends.h>
#include <foretell/predictor.h>
#include <foretell/trace.h>

#include <cmath>
#include <iostream>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    const foretell::Predictor predictor = foretell::Predictor::Make(
        foretell::DeviceCatalog::BuiltIn().FindDevice("rtx-4090"),
        foretell::Run{.autocast = true, .host = foretell::Host::kCpp});
    const foretell::Program program = foretell::LoadModel(argv[1]);
    const auto inputs = foretell::BindInputs(
        program.inputs(), foretell::InputRequest{.batch = 256}, program.name());
    const foretell::Trace trace = foretell::TraceProgram(
        program, inputs, {.autocast = foretell::DType::kF16});
    const foretell::Prediction prediction = predictor.Predict(trace.graph);
    for (const foretell::Target target : foretell::kAllTargets) {
      const foretell::Figure& figure = prediction[target];
      std::cout << foretell::TargetName(target) << " "
                << std::llround(1000 * figure.value) << ": "
                << figure.source.method << "\n";
    }
  } catch (const foretell::Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}
