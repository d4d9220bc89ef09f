#include "src/sandbox/run_program.h"

#include <gtest/gtest.h>

#include "src/core/work_folder.h"

namespace foretell::sandbox {
namespace {

constexpr char kThreeThreads[] =
    "import threading, time\n"
    "for i in range(2): threading.Thread(target=time.sleep, "
    "args=(600,)).start()";

TEST(RunProgram, EndsAProgramWithTooManyThreads) {
  const WorkFolder work;
  Command command{.argv = {"python3", "-I", "-c", kThreeThreads},
                  .folder = work.path(),
                  .log = work / "log.txt",
                  .deadline_s = 60,
                  .most_threads = 2};
  const ProcessEnd end = sandbox::Run(command);
  EXPECT_EQ(ToString(end), "killed for starting too many threads");
  command.argv = {"/bin/sh", "-c", "exit 7"};
  EXPECT_EQ(ToString(sandbox::Run(command)), "ended with status 7");
}

}  // namespace
}  // namespace foretell::sandbox
