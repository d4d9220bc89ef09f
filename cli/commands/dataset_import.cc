#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands/dataset.h"
#include "cli/flags/pairs.h"
#include "cli/print/print_summaries.h"
#include "datasets/collect/device_name.h"
#include "datasets/collect/import.h"
#include "foretell/dataset.h"
#include "src/core/failure.h"
#include "src/core/numbers.h"
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

dataset::ImportOptions OptionsOf(const ImportCommand& command) {
  dataset::ImportOptions options{.source = command.source,
                                 .columns = {},
                                 .constants = {},
                                 .where = {},
                                 .words = {},
                                 .canonical_device = &dataset::LabelDeviceName,
                                 .replace = command.replace};
  for (const std::string& text : command.maps) {
    options.columns.insert(ParsePair("--map", text));
  }
  for (const std::string& text : command.sets) {
    options.constants.insert(ParsePair("--set", text));
  }
  for (const std::string& text : command.wheres) {
    options.where.insert(ParsePair("--where", text));
  }
  for (const std::string& text : command.words) {
    options.words.insert(ParseWord(text));
  }
  return options;
}

ExitCode RunImport(const ImportCommand& command) {
  Dataset dataset = Dataset::OpenForWriting(command.into);
  const dataset::ImportSummary summary =
      ImportLabels(dataset, command.table, OptionsOf(command));
  std::cout << FormatSummary(summary);
  if (command.problems == "all") {
    for (const std::string& problem : summary.problems) {
      std::cout << Printable(problem) << "\n";
    }
  } else {
    std::cerr << FormatSome(summary.problems);
  }
  if (summary.rows > 0 && summary.joined + summary.present == 0) {
    throw NotFound("{}: none of its {} is of a point of {}", command.table,
                   Counted(summary.rows, "row"), command.into);
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
      "import", "Import labels measured elsewhere from a CSV table");
  command->footer(kDatasetImportExamples);
  command->add_option("TABLE", options->table, "CSV, plain or gzipped")
      ->required();
  command->add_option("--into", options->into, "Dataset")->required();
  command->add_option("--source", options->source, "Who measured")->required();
  AddPairs(*command, "--map", options->maps,
           "COLUMN=FIELD: column of the table that holds a field");
  AddPairs(*command, "--set", options->sets,
           "FIELD=VALUE: sets a field in all rows");
  AddPairs(*command, "--where", options->wheres,
           "COLUMN=VALUE: keeps only matching rows; repeat a column to accept "
           "several values");
  AddPairs(*command, "--word", options->words,
           "FIELD:THEIRS=OURS: replaces the table's word THEIRS by foretell's "
           "word OURS");
  command
      ->add_option("--problems", options->problems,
                   "some: prints the first twenty rows without a point on "
                   "stderr; all: every one on stdout")
      ->check(CLI::IsMember({"some", "all"}));
  command->add_flag("--replace", options->replace,
                    "Replace labels of this source that differ");
  command->callback([options, &exit_code] { exit_code = RunImport(*options); });
}

}  // namespace foretell::cli
