// A child process whose end, whatever it is, is a value.
//
// Its result has a file descriptor of its own, because a model (and LibTorch)
// may write to stdout and stderr; of those only the end is kept, for the
// message. Reading stops when the child is gone, not when the pipes close: a
// grandchild may hold them open.

#include "src/measure/isolated.h"

#include <unistd.h>

#include <array>
#include <optional>
#include <utility>

#include "foretell/measure.h"
#include "src/core/deadline.h"
#include "src/core/descriptor.h"

namespace foretell::measure {
namespace {

constexpr double kPollSeconds = 0.02;
/// What one look at a pipe takes over, so that a child that writes without end
/// still has a deadline.
constexpr std::size_t kMostAtOnce = 2 * kMaxResultBytes;

/// Takes over what the child wrote.
void Collect(const Pipe& result, const Pipe& log, IsolatedOutcome& outcome) {
  ReadAvailable(result.read_end, kMostAtOnce, outcome.result);
  ReadAvailable(log.read_end, kMostAtOnce, outcome.log);
  if (outcome.result.size() > kMaxResultBytes) {
    outcome.result.resize(kMaxResultBytes);
  }
  if (outcome.log.size() > kMaxLogBytes) {
    outcome.log.erase(0, outcome.log.size() - kMaxLogBytes);
  }
}

}  // namespace

IsolatedOutcome RunIsolated(SpawnOptions command) {
  Pipe result = MakePipe();
  Pipe log = MakePipe();
  command.descriptors = {{STDOUT_FILENO, &log.write_end},
                         {STDERR_FILENO, &log.write_end},
                         {kMeasureResultFd, &result.write_end}};
  ChildProcess child = ChildProcess::Spawn(command);
  // This process's own write ends stay open: no pipe ends before the child.
  const std::array<int, 2> ends = {result.read_end.number(),
                                   log.read_end.number()};
  IsolatedOutcome outcome;
  std::optional<ProcessEnd> end;
  while (!end) {
    AwaitReadable(ends, Deadline::In(kPollSeconds));
    end = child.Poll();
    Collect(result, log, outcome);
  }
  outcome.end = *end;
  return outcome;
}

}  // namespace foretell::measure
