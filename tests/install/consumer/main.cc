// Predicts one file through the public headers only.

#include <foretell/error.h>
#include <foretell/session.h>

#include <cmath>
#include <iostream>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    foretell::Session session(
        argv[1],
        {.inputs = {.batch = 256},
         .options = {.run = {.autocast = true, .host = foretell::Host::kCpp}}});
    const foretell::Prediction prediction = session.Predict(
        foretell::DeviceCatalog::BuiltIn().FindDevice("rtx-4090"));
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
