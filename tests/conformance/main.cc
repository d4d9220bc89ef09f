// onnx_conformance DIR: runs the cases below DIR and says how each ended.

#include <ATen/Parallel.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "foretell/error.h"
#include "frontends/onnx/operator_table.h"
#include "src/sandbox/pool.h"
#include "tests/conformance/case.h"
#include "tests/conformance/errata.h"
#include "tests/conformance/report.h"
#include "tests/conformance/run_case.h"

namespace foretell::conformance {
namespace {

const std::map<std::string, Fusion> kFusionNames = {
    {"none", Fusion::kOff},
    {"exported", Fusion::kExported},
    {"equivalent", Fusion::kEquivalent},
};

/// A case that takes longer is ended.
constexpr double kPatienceSeconds = 60;

struct Options {
  std::string directory;
  std::string filter;
  std::string json_path;
  Fusion fusion = Fusion::kOff;
  int min_pass = 1;
  int processes = 2;
  bool list_operators = false;
};

/// One JSON object per line: domain, name, first and last opset ("last" is null
/// when open).
void ListOperators() {
  for (const onnx::OnnxOperator& row : onnx::AllOperators()) {
    nlohmann::json line{{"domain", row.domain},
                        {"name", row.name},
                        {"first", row.versions.first},
                        {"last", nullptr}};
    if (row.versions.last != onnx::kAny) line["last"] = row.versions.last;
    std::cout << line.dump() << "\n";
  }
}

/// What a case that did not return a result of its own becomes.
CaseResult Unfinished(const Case& stopped, const std::string& reason) {
  return {.group = stopped.group, .name = stopped.name, .message = reason};
}

/// Every case in a worker process, so that a crash costs that case only.
std::vector<CaseResult> RunCases(const std::vector<Case>& cases,
                                 const Options& options) {
  std::vector<std::int64_t> tasks(cases.size());
  std::iota(tasks.begin(), tasks.end(), 0);
  std::vector<CaseResult> results(cases.size());
  sandbox::RunInWorkers(
      tasks, {.workers = options.processes, .deadline_s = kPatienceSeconds},
      [&](std::int64_t task) {
        at::set_num_threads(1);
        return ToJson(RunCase(cases[static_cast<size_t>(task)], options.fusion))
            .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
      },
      [&](std::int64_t task, const sandbox::Outcome& outcome) {
        const auto i = static_cast<size_t>(task);
        const bool done = outcome.kind == sandbox::Outcome::Kind::kDone;
        results[i] = done ? FromJson(nlohmann::json::parse(outcome.text))
                          : Unfinished(cases[i], outcome.text);
      });
  return results;
}

int Run(const Options& options) {
  if (options.list_operators) {
    ListOperators();
    return EXIT_SUCCESS;
  }
  const std::vector<Case> cases = FindCases(options.directory, options.filter);
  std::vector<CaseResult> results = RunCases(cases, options);
  const std::optional<Release> release = ReleaseOf(options.directory);
  for (CaseResult& result : results) ForgiveErratum(release, result);
  PrintReport(results, std::cout);
  if (!options.json_path.empty()) {
    std::ofstream(options.json_path) << ReportJson(results).dump(1) << "\n";
  }
  const std::string failure = FailureOf(results, options.min_pass);
  if (failure.empty()) return EXIT_SUCCESS;
  std::cout << "FAILED: " << failure << "\n";
  return EXIT_FAILURE;
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app{"Runs ONNX backend cases through foretell's ONNX frontend."};
  app.add_option("directory", options.directory,
                 "Folder that holds <group>/<case>/model.onnx");
  app.add_option("--filter", options.filter,
                 "Regular expression that \"group/name\" must match");
  app.add_option("--json", options.json_path, "Write all results here");
  app.add_option("--fuse", options.fusion,
                 "Replace patterns first: none (default), exported, equivalent")
      ->transform(CLI::CheckedTransformer(kFusionNames));
  app.add_option("--min-pass", options.min_pass,
                 "Fail when fewer cases pass (default 1)");
  app.add_option("--processes", options.processes,
                 "Cases run at the same time (default 2)");
  app.add_flag("--list-operators", options.list_operators,
               "Print the operator tables as JSON lines and stop");
  CLI11_PARSE(app, argc, argv);
  try {
    return Run(options);
  } catch (const Error& error) {
    std::cerr << "onnx_conformance: " << error.what() << "\n";
    return EXIT_FAILURE;
  }
}

}  // namespace
}  // namespace foretell::conformance

int main(int argc, char** argv) {
  return foretell::conformance::Main(argc, argv);
}
