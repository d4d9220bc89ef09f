#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "foretell/dataset.h"
#include "foretell/error.h"
#include "scratch.h"
#include "toy.h"

namespace foretell {
namespace {

using dataset_test::Scratch;
using dataset_test::ToyGraph;
using dataset_test::ToyLabel;
using dataset_test::ToyPoint;

/// Adds the points [first, last) one by one, each with a label of `source`.
pid_t StartWriter(const std::string& path, const std::string& source,
                  std::int64_t first, std::int64_t last) {
  const pid_t writer = fork();
  if (writer != 0) return writer;
  try {
    Dataset dataset = Dataset::OpenOrCreate(path);
    for (std::int64_t i = first; i < last; ++i) {
      const Point point = ToyPoint("toy", i + 1);
      dataset.AddTraced(point, ToyGraph(i + 1));
      Label label = ToyLabel(dataset.Find(point)->id, static_cast<double>(i));
      label.source = source;
      dataset.PutLabel(label);
    }
    _exit(0);
  } catch (const Error& error) {
    fprintf(stderr, "writer: %s\n", error.what());
    _exit(1);
  }
}

TEST(Writers, WaitForEachOther) {
  const Scratch scratch;
  const std::string path = scratch / "d.sqlite";
  const std::vector<pid_t> writers = {StartWriter(path, "a", 0, 30),
                                      StartWriter(path, "b", 20, 50)};
  for (const pid_t writer : writers) {
    int status = -1;
    waitpid(writer, &status, 0);
    EXPECT_EQ(status, 0);
  }
  const Dataset dataset = Dataset::Open(path);
  EXPECT_EQ(dataset.NumPoints(), 50);
  EXPECT_EQ(dataset.Graphs().size(), 50U);
  EXPECT_EQ(dataset.Labels().size(), 60U);
  EXPECT_THAT(CheckDataset(path), testing::IsEmpty());
}

}  // namespace
}  // namespace foretell
