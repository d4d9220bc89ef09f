// What the child writes to its standard streams has a pipe of its own, and is
// never mistaken for an answer. A grandchild may hold either end open, so that
// the end of the process itself is looked for as well.

#include "src/sandbox/worker.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace foretell::sandbox {
namespace {

using Kind = Outcome::Kind;

constexpr double kPollSeconds = 0.1;
/// Most that one look reads from a pipe, so that a child that writes without
/// end still has a deadline.
constexpr std::size_t kMostAtOnce = std::size_t{1} << 20;
/// Tasks that are sent before their predecessors have an outcome: as much as a
/// socket holds, so that neither process waits for the other one to listen.
constexpr std::size_t kMostSentAhead = 8;
constexpr std::size_t kMostBytesAhead = std::size_t{16} << 10;

/// Sends the standard streams of this process to `words`, and gives it no
/// input.
void PointStreams(const Descriptor& words) {
  const Descriptor nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  dup2(nothing.number(), STDIN_FILENO);
  dup2(words.number(), STDOUT_FILENO);
  dup2(words.number(), STDERR_FILENO);
}

/// All that the child does.
void Serve(Channel& channel, const WorkerOptions& options,
           const Worker::Prepare& prepare) {
  if (options.lock) {
    LockOptions lock = *options.lock;
    lock.keep.push_back(channel.end().number());
    if (options.hears_words) {
      lock.keep.insert(lock.keep.end(), {STDOUT_FILENO, STDERR_FILENO});
    }
    LockProcess(lock);
  }
  const Worker::Work work = prepare();
  while (const std::optional<std::string> task = channel.Receive()) {
    try {
      channel.Send(work(*task));
    } catch (const std::exception& error) {
      channel.SendError(error);
    }
  }
}

ChildProcess Start(const WorkerOptions& options, const Worker::Prepare& prepare,
                   const Pipe& words) {
  return ChildProcess::Fork(options.limits, [&](Channel& channel) {
    if (options.hears_words) PointStreams(words.write_end);
    Serve(channel, options, prepare);
  });
}

Outcome OutcomeOf(const ProcessEnd& end) {
  const bool is_late = end.kind == ProcessEnd::Kind::kDeadline;
  return {.kind = is_late ? Kind::kTimedOut : Kind::kDied,
          .text = ToString(end),
          .signal = end.signal};
}

}  // namespace

Worker::Worker(const WorkerOptions& options, const Prepare& prepare)
    : Worker(options, prepare, options.hears_words ? MakePipe() : Pipe()) {}

Worker::Worker(const WorkerOptions& options, const Prepare& prepare, Pipe words)
    : deadline_s_(options.deadline_s),
      process_(Start(options, prepare, words)),
      words_end_(std::move(words.read_end)) {
  process_.channel().LimitMessages(options.most_answer_bytes);
}

void Worker::Give(std::string_view task) {
  if (under_way_++ == 0) process_.SetDeadline(deadline_s_);
  unsent_.emplace_back(task);
  Send();
}

/// Sends what can be sent now.
void Worker::Send() {
  while (!unsent_.empty()) {
    const std::size_t ahead = under_way_ - unsent_.size();
    const bool is_small = unsent_.front().size() <= kMostBytesAhead;
    if (ahead > 0 && (!is_small || ahead >= kMostSentAhead)) return;
    process_.channel().Send(unsent_.front(), process_.deadline());
    unsent_.pop_front();
  }
}

std::optional<Outcome> Worker::Poll() {
  std::optional<Outcome> outcome = Look();
  if (!outcome || under_way_ == 0) return outcome;
  if (--under_way_ > 0) process_.SetDeadline(deadline_s_);
  Send();
  return outcome;
}

std::optional<Outcome> Worker::Look() {
  if (std::optional<Outcome> answer = TakeAnswer()) return answer;
  // One that has hung up is of no use, whether it has ended or not.
  const std::optional<ProcessEnd> end =
      process_.channel().is_closed() ? process_.Kill() : process_.Poll();
  if (!end) return std::nullopt;
  // Its last answer may have come between the two looks.
  if (std::optional<Outcome> answer = TakeAnswer()) return answer;
  const std::string& offence = process_.channel().offence();
  if (!offence.empty()) return Outcome{Kind::kDied, "cut off: it " + offence};
  return OutcomeOf(*end);
}

std::optional<Outcome> Worker::TakeAnswer() {
  std::optional<Outcome> outcome;
  try {
    if (auto text = process_.channel().Receive(Deadline::In(0))) {
      outcome = {Kind::kDone, std::move(*text)};
    }
  } catch (const Error& error) {
    outcome = {Kind::kFailed, error.what(), error.code()};
  }
  Hear();
  return outcome;
}

Outcome Worker::Await() {
  while (true) {
    if (std::optional<Outcome> outcome = Poll()) return std::move(*outcome);
    AwaitReadable(descriptors(), Deadline::In(kPollSeconds));
  }
}

std::array<int, 2> Worker::descriptors() {
  return {process_.channel().end().number(), words_end_.number()};
}

void Worker::Abandon(Worker worker) {
  ChildProcess::Abandon(std::move(worker.process_));
}

void Worker::Hear() {
  if (!words_end_.is_open()) return;
  if (!ReadAvailable(words_end_, kMostAtOnce, words_)) words_end_.Close();
  if (words_.size() > kMostWords) words_.erase(0, words_.size() - kMostWords);
}

}  // namespace foretell::sandbox
