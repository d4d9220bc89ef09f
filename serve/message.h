#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace foretell::serve {

/// A model that came with a request.
struct SentFile {
  std::string name;   ///< Name in answers.
  std::string bytes;  ///< Its content.
};

/// Command line for a worker to run; the words "{0}", "{1}", … stand for the
/// paths of the files.
struct Job {
  std::vector<std::string> words;
  std::vector<SentFile> files;
};

/// Exit status and output of a command.
struct Answer {
  int status = 0;      ///< Its exit status.
  std::string output;  ///< stdout.
  std::string errors;  ///< stderr.
};

/// @name As one message of a Channel; anything else throws Error(kCorrupt)
/// @{
std::string Pack(const Job& job);
Job UnpackJob(std::string_view message);
std::string Pack(const Answer& answer);
Answer UnpackAnswer(std::string_view message);
/// @}

/// The placeholder for the path of file `index`.
std::string FileWord(std::size_t index);

}  // namespace foretell::serve
