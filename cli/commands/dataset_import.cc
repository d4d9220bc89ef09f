#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/dataset.h"
#include "datasets/collect/import.h"
#include "foretell/dataset.h"
#include "foretell/device.h"
#include "foretell/error.h"
#include "src/core/printable.h"

namespace foretell::cli {
namespace {

constexpr char kDatasetImportExamples[] =
    "Examples:\n"
    "  foretell dataset import table.csv.gz --into d.sqlite --source survey "
    "\\\n"
    "      --map memory_max_used_mb=memory_mib --set optimizer=sgd \\\n"
    "      --where status=ok\n"
    "  foretell dataset import table.csv --into d.sqlite --source timm \\\n"
    "      --map img_size=image_size --map framework=environment.framework \\\n"
    "      --word 'precision:amp (fp16)=fp16'";

struct ImportCommand {
  std::string table;
  std::string into;
  std::string source;
  std::vector<std::string> maps;
  std::vector<std::string> sets;
  std::vector<std::string> wheres;
  std::vector<std::string> words;
  std::string problems;
  bool replace = false;
};

/// "a=b" as {a, b}.
std::pair<std::string, std::string> Halves(const std::string& flag,
                                           const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals != std::string::npos && equals > 0) {
    return {text.substr(0, equals), text.substr(equals + 1)};
  }
  throw Error(ErrorCode::kInvalidArgument,
              flag + " '" + text + "': expected NAME=VALUE");
}

/// "precision:amp (fp16)=fp16", split at the first colon and last sign.
std::pair<std::pair<std::string, std::string>, std::string> Word(
    const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::size_t equals = text.rfind('=');
  if (colon != std::string::npos && equals != std::string::npos && 0 < colon &&
      colon < equals) {
    return {{text.substr(0, colon), text.substr(colon + 1, equals - colon - 1)},
            text.substr(equals + 1)};
  }
  throw Error(ErrorCode::kInvalidArgument,
              "--word '" + text + "': expected FIELD:THEIRS=OURS");
}

/// The catalogue's name of a device that it has; any other as it is.
std::string CanonicalDevice(const std::string& name) {
  try {
    return DeviceCatalog::BuiltIn().FindDevice(name).name;
  } catch (const Error&) {
    return name;
  }
}

dataset::ImportOptions OptionsOf(const ImportCommand& command) {
  dataset::ImportOptions options{.source = command.source,
                                 .columns = {},
                                 .constants = {},
                                 .where = {},
                                 .words = {},
                                 .canonical_device = &CanonicalDevice,
                                 .replace = command.replace};
  for (const std::string& text : command.maps) {
    options.columns.insert(Halves("--map", text));
  }
  for (const std::string& text : command.sets) {
    options.constants.insert(Halves("--set", text));
  }
  for (const std::string& text : command.wheres) {
    options.where.insert(Halves("--where", text));
  }
  for (const std::string& text : command.words) {
    options.words.insert(Word(text));
  }
  return options;
}

ExitCode RunImport(const ImportCommand& command) {
  Dataset dataset = Dataset::OpenForWriting(command.into);
  const dataset::ImportSummary summary =
      ImportLabels(dataset, command.table, OptionsOf(command));
  std::cout << Counted(summary.rows, "row") << ": " << summary.joined
            << " joined, " << summary.present << " present, "
            << summary.filtered << " filtered out, " << summary.valueless
            << " without a value, " << summary.unmatched << " unmatched, "
            << summary.ambiguous << " ambiguous, " << summary.conflicting
            << " conflicting\n";
  if (command.problems == "all") {
    for (const std::string& problem : summary.problems) {
      std::cout << Printable(problem) << "\n";
    }
  } else {
    PrintSome(summary.problems);
  }
  return kExitOk;
}

void AddPairs(CLI::App& command, const char* name,
              std::vector<std::string>& pairs, const char* help) {
  command.add_option(name, pairs, help)->allow_extra_args(false);
}

}  // namespace

void AddDatasetImport(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<ImportCommand>();
  CLI::App* command = app.add_subcommand(
      "import", "Join labels that were measured elsewhere, from a CSV table");
  command->footer(kDatasetImportExamples);
  command->add_option("TABLE", options->table, "CSV, plain or gzipped")
      ->required();
  command->add_option("--into", options->into, "Dataset")->required();
  command->add_option("--source", options->source, "Who measured")->required();
  AddPairs(*command, "--map", options->maps, "COLUMN=FIELD of this table");
  AddPairs(*command, "--set", options->sets, "FIELD=VALUE for all rows");
  AddPairs(*command, "--where", options->wheres,
           "COLUMN=VALUE: only such rows; several values of one column are "
           "alternatives");
  AddPairs(*command, "--word", options->words,
           "FIELD:THEIRS=OURS: what the table calls it, and what we do");
  command
      ->add_option("--problems", options->problems,
                   "some: the first twenty rows that did not join, on stderr; "
                   "all: on stdout")
      ->check(CLI::IsMember({"some", "all"}));
  command->add_flag("--replace", options->replace,
                    "Replace labels of this source that differ");
  command->callback([options, &exit_code] { exit_code = RunImport(*options); });
}

}  // namespace foretell::cli
