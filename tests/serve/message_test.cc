#include "serve/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "foretell/error.h"

namespace foretell::serve {
namespace {

using testing::ElementsAre;

const Job& SomeJob() {
  static const Job job{
      .words = {"predict", "{0}", ""},
      .files = {{"a name", std::string("\0\n{1}", 5)}, {"", ""}}};
  return job;
}

TEST(Message, BringsAJobBack) {
  const Job job = UnpackJob(Pack(SomeJob()));
  EXPECT_THAT(job.words, ElementsAre("predict", "{0}", ""));
  ASSERT_EQ(job.files.size(), 2);
  EXPECT_EQ(job.files[0].name, "a name");
  EXPECT_EQ(job.files[0].bytes, std::string("\0\n{1}", 5));
  EXPECT_EQ(job.files[1].bytes, "");
}

TEST(Message, BringsAnAnswerBack) {
  const Answer answer =
      UnpackAnswer(Pack(Answer{.status = 3, .output = "{}", .errors = "no\n"}));
  EXPECT_EQ(answer.status, 3);
  EXPECT_EQ(answer.output, "{}");
  EXPECT_EQ(answer.errors, "no\n");
}

TEST(Message, RefusesEveryShorterOne) {
  const std::string whole = Pack(Answer{.status = 0, .output = "out"});
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_THROW(UnpackAnswer(whole.substr(0, length)), Error) << length;
  }
}

}  // namespace
}  // namespace foretell::serve
