#include "cli/commands/serve_worker.h"

#include <algorithm>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/commands/memory_file.h"
#include "cli/commands/program.h"
#include "foretell/error.h"
#include "serve/message.h"
#include "serve/worker_pool.h"
#include "src/core/channel.h"
#include "src/core/failure.h"

namespace foretell::cli {
namespace {

/// Captures what is written to a stream while this exists.
class Captured {
 public:
  explicit Captured(std::ostream& stream)
      : stream_(stream), before_(stream.rdbuf(text_.rdbuf())) {}
  ~Captured() { stream_.rdbuf(before_); }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;
  std::string text() const { return text_.str(); }

 private:
  std::ostream& stream_;
  std::ostringstream text_;
  std::streambuf* before_;
};

void ReplaceAll(const std::string& from, const std::string& to,
                std::string& text) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

/// `name` between the quotes of a JSON string.
std::string InJson(const std::string& name) {
  const std::string quoted = nlohmann::json(name).dump(
      -1, ' ', true, nlohmann::json::error_handler_t::replace);
  return quoted.substr(1, quoted.size() - 2);
}

/// Runs a command line as if it had been typed.
serve::Answer RunWords(std::span<const CommandRow> commands,
                       std::vector<std::string> words) {
  const auto row =
      std::ranges::find(commands, words.front(), &CommandRow::name);
  if (row == commands.end()) {
    throw InvalidArgument("{}: no such command", words.front());
  }
  words.insert(words.begin(), "foretell");
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  const Captured output(std::cout);
  const Captured errors(std::cerr);
  serve::Answer answer{.status = RunProgram({&*row, 1}, pointers)};
  answer.output = output.text();
  answer.errors = errors.text();
  return answer;
}

serve::Answer AnswerJob(std::span<const CommandRow> commands,
                        const serve::Job& job) {
  std::vector<MemoryFile> files;
  std::vector<std::string> words = job.words;
  for (std::size_t i = 0; i < job.files.size(); ++i) {
    files.emplace_back(job.files[i].bytes);
    std::ranges::replace(words, serve::FileWord(i), files.back().path());
  }
  serve::Answer answer = RunWords(commands, std::move(words));
  for (std::size_t i = 0; i < files.size(); ++i) {
    ReplaceAll(files[i].path(), InJson(job.files[i].name), answer.output);
    ReplaceAll(files[i].path(), job.files[i].name, answer.errors);
  }
  return answer;
}

}  // namespace

void AnswerJobs(std::span<const CommandRow> commands) {
  Channel channel{Descriptor(serve::kWorkerDescriptor)};
  while (const std::optional<std::string> message = channel.Receive()) {
    serve::Answer answer;
    try {
      answer = AnswerJob(commands, serve::UnpackJob(*message));
    } catch (const Error& error) {
      answer = {.status = ExitCodeOf(error.code()), .errors = error.what()};
    }
    if (!channel.Send(serve::Pack(answer))) return;
  }
}

}  // namespace foretell::cli
