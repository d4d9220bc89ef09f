// A message is a list of byte strings, each after its length: a job's number
// of words, the words, and name and bytes of each file; an answer's three
// parts.
#include "serve/message.h"

#include <fmt/core.h>

#include <cstring>

#include "src/core/failure.h"
#include "src/core/parse_number.h"

namespace foretell::serve {
namespace {

void Append(std::string_view text, std::string& message) {
  const std::uint64_t length = text.size();
  char header[sizeof(length)];
  std::memcpy(header, &length, sizeof(length));
  message.append(header, sizeof(length)).append(text);
}

/// Takes byte strings off the front of a message.
class Parts {
 public:
  explicit Parts(std::string_view message) : rest_(message) {}

  std::string Next() {
    std::uint64_t length = 0;
    if (rest_.size() < sizeof(length)) Fail();
    std::memcpy(&length, rest_.data(), sizeof(length));
    rest_.remove_prefix(sizeof(length));
    if (rest_.size() < length) Fail();
    std::string part(rest_.substr(0, length));
    rest_.remove_prefix(length);
    return part;
  }
  int NextNumber() {
    const auto number = ParseNumber<int>(Next());
    if (!number) Fail();
    return *number;
  }
  bool IsEmpty() const { return rest_.empty(); }

 private:
  [[noreturn]] static void Fail() {
    throw Corrupt("message between processes: cut short");
  }

  std::string_view rest_;
};

}  // namespace

std::string FileWord(std::size_t index) { return fmt::format("{{{}}}", index); }

std::string Pack(const Job& job) {
  std::string message;
  Append(fmt::format("{}", job.words.size()), message);
  for (const std::string& word : job.words) Append(word, message);
  for (const SentFile& file : job.files) {
    Append(file.name, message);
    Append(file.bytes, message);
  }
  return message;
}

Job UnpackJob(std::string_view message) {
  Parts parts(message);
  Job job;
  const int words = parts.NextNumber();
  for (int i = 0; i < words; ++i) job.words.push_back(parts.Next());
  while (!parts.IsEmpty()) {
    std::string name = parts.Next();
    job.files.push_back({std::move(name), parts.Next()});
  }
  return job;
}

std::string Pack(const Answer& answer) {
  std::string message;
  Append(fmt::format("{}", answer.status), message);
  Append(answer.output, message);
  Append(answer.errors, message);
  return message;
}

Answer UnpackAnswer(std::string_view message) {
  Parts parts(message);
  Answer answer{.status = parts.NextNumber()};
  answer.output = parts.Next();
  answer.errors = parts.Next();
  return answer;
}

}  // namespace foretell::serve
