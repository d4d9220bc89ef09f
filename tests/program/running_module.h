#pragma once

#include <string>

namespace foretell::program_test {

/// Operators of a FakeProgram on this thread belong to the module `path` while
/// it lives; scopes nest.
class RunningModule {
 public:
  explicit RunningModule(std::string path);
  ~RunningModule();
  RunningModule(const RunningModule&) = delete;
  RunningModule& operator=(const RunningModule&) = delete;

 private:
  std::string outer_;
};

}  // namespace foretell::program_test
