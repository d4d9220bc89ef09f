// Predicts one file through the public headers only.

#include <foretell/device.h>
#include <foretell/error.h>
#include <foretell/frontends.h>
#include <foretell/predictor.h>
#include <foretell/trace.h>

#include <iostream>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    const foretell::DeviceCatalog& catalog = foretell::DeviceCatalog::BuiltIn();
    const foretell::Predictor predictor = foretell::Predictor::Analytic(
        catalog.FindDevice("a100-sxm4-40gb"), catalog.DefaultEnvironment());
    const foretell::Program program = foretell::LoadModel(argv[1]);
    const auto inputs = foretell::BindInputs(
        program.inputs(), foretell::InputRequest{.batch = 2}, program.name());
    const foretell::Trace trace = foretell::TraceProgram(program, inputs);
    std::cout << predictor.Predict(trace.graph).memory.total << "\n";
  } catch (const foretell::Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}
