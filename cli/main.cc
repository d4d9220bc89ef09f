#include <CLI/CLI.hpp>

#include <array>
#include <exception>
#include <iostream>
#include <sstream>
#include <string>

#include "cli/commands/command.h"
#include "cli/flags/model_options.h"
#include "foretell/error.h"
#include "foretell/version.h"
#include "src/core/printable.h"
#include "src/core/text.h"

namespace foretell::cli {
namespace {

constexpr std::array<AddCommand, 16> kCommands = {
    &AddPredict,       &AddInspect, &AddFits,       &AddMaxBatch,
    &AddMeasure,       &AddMig,     &AddDevices,    &AddZoo,
    &AddDataset,       &AddTrain,   &AddEvaluate,   &AddCompare,
    &AddCrossValidate, &AddVersion, &AddCompletion, &AddMeasureOne,
};

constexpr char kExitCodes[] =
    "Exit status: 0 done; 1 it does not fit (fits, max-batch, mig pack);\n"
    "2 wrong usage; 3 at least one model failed; 4 a bug in foretell;\n"
    "5 training was interrupted and can be resumed.";

ExitCode ExitCodeOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kNotFound:
      return kExitUsage;
    case ErrorCode::kInternal:
      return kExitInternal;
    default:
      return kExitModelFailed;
  }
}

/// Prints the help or what is wrong with the command line, which may hold the
/// names of files.
ExitCode PrintEnd(const CLI::App& app, const CLI::ParseError& error) {
  std::ostringstream output;
  std::ostringstream errors;
  const int status = app.exit(error, output, errors);
  std::cout << output.str();
  std::cerr << PrintableLines(errors.str());
  return status == 0 ? kExitOk : kExitUsage;
}

int Main(int argc, char** argv) {
  CLI::App app(
      "Predicts memory, latency and energy of a deep network on an NVIDIA GPU, "
      "and the MIG slice that it fits, without a GPU.",
      "foretell");
  app.set_version_flag("--version", kVersion);
  app.require_subcommand(1);
  app.footer(kExitCodes);
  ExitCode exit_code = kExitOk;
  for (const AddCommand add : kCommands) add(app, exit_code);
  try {
    app.parse(argc, argv);
    return exit_code;
  } catch (const CLI::ParseError& error) {
    return PrintEnd(app, error);
  } catch (const Error& error) {
    PrintError(error.what());
    return ExitCodeOf(error.code());
  } catch (const std::exception& error) {
    PrintError(FirstLine(error.what()));
    return kExitInternal;
  }
}

}  // namespace
}  // namespace foretell::cli

int main(int argc, char** argv) { return foretell::cli::Main(argc, argv); }
