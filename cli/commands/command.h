#pragma once

#include "cli/commands/exit_code.h"

namespace CLI {
class App;
}

namespace foretell::cli {

/// Adds one subcommand to `app`; its callback does the work and leaves the exit
/// status in `exit_code`. Both outlive the callback.
using AddCommand = void (*)(CLI::App& app, ExitCode& exit_code);

void AddPredict(CLI::App& app, ExitCode& exit_code);
void AddReport(CLI::App& app, ExitCode& exit_code);
void AddDiff(CLI::App& app, ExitCode& exit_code);
void AddInspect(CLI::App& app, ExitCode& exit_code);
void AddFinetune(CLI::App& app, ExitCode& exit_code);
void AddKvCache(CLI::App& app, ExitCode& exit_code);
void AddFits(CLI::App& app, ExitCode& exit_code);
void AddMaxBatch(CLI::App& app, ExitCode& exit_code);
void AddAdapt(CLI::App& app, ExitCode& exit_code);
void AddCalibrate(CLI::App& app, ExitCode& exit_code);
void AddCalibrateDevice(CLI::App& app, ExitCode& exit_code);
void AddFit(CLI::App& app, ExitCode& exit_code);
void AddFitFactors(CLI::App& app, ExitCode& exit_code);
void AddTimeOperators(CLI::App& app, ExitCode& exit_code);
void AddMeasure(CLI::App& app, ExitCode& exit_code);
void AddPlan(CLI::App& app, ExitCode& exit_code);
void AddMig(CLI::App& app, ExitCode& exit_code);
void AddHost(CLI::App& app, ExitCode& exit_code);
void AddDevices(CLI::App& app, ExitCode& exit_code);
void AddZoo(CLI::App& app, ExitCode& exit_code);
void AddDataset(CLI::App& app, ExitCode& exit_code);
void AddTrain(CLI::App& app, ExitCode& exit_code);
void AddEvaluate(CLI::App& app, ExitCode& exit_code);
void AddAdvise(CLI::App& app, ExitCode& exit_code);
void AddCompare(CLI::App& app, ExitCode& exit_code);
void AddClassify(CLI::App& app, ExitCode& exit_code);
void AddMemoryClasses(CLI::App& app, ExitCode& exit_code);
void AddCompareNetworks(CLI::App& app, ExitCode& exit_code);
void AddCrossValidate(CLI::App& app, ExitCode& exit_code);
void AddServe(CLI::App& app, ExitCode& exit_code);
void AddServeWorker(CLI::App& app, ExitCode& exit_code);
void AddDoctor(CLI::App& app, ExitCode& exit_code);
void AddVersion(CLI::App& app, ExitCode& exit_code);
void AddManual(CLI::App& app, ExitCode& exit_code);
void AddCompletion(CLI::App& app, ExitCode& exit_code);

}  // namespace foretell::cli
