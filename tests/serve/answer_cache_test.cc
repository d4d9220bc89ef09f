#include "serve/answer_cache.h"

#include <gtest/gtest.h>

namespace foretell::serve {
namespace {

Job JobOf(std::string word, std::string bytes) {
  return {.words = {std::move(word)}, .files = {{"name", std::move(bytes)}}};
}

TEST(KeyOf, IsOfWordsNamesAndBytes) {
  const std::string key = KeyOf(JobOf("predict", "bytes"));
  EXPECT_EQ(key.size(), 32);
  EXPECT_EQ(key, KeyOf(JobOf("predict", "bytes")));
  EXPECT_NE(key, KeyOf(JobOf("fits", "bytes")));
  EXPECT_NE(key, KeyOf(JobOf("predict", "byteS")));
  Job renamed = JobOf("predict", "bytes");
  renamed.files[0].name = "other";
  EXPECT_NE(key, KeyOf(renamed));
  // Parts that touch are not one part.
  EXPECT_NE(KeyOf({.words = {"ab", "c"}}), KeyOf({.words = {"a", "bc"}}));
}

TEST(AnswerCache, GivesBackWhatWasPut) {
  AnswerCache cache(10'000);
  EXPECT_FALSE(cache.Find("key"));
  cache.Put("key", {.status = 1, .output = "out"});
  ASSERT_TRUE(cache.Find("key"));
  EXPECT_EQ(cache.Find("key")->status, 1);
  EXPECT_EQ(cache.Find("key")->output, "out");
}

TEST(AnswerCache, ForgetsWhatWasUsedLongestAgo) {
  // Each takes 256 bytes and its text.
  AnswerCache cache(1000);
  const Answer answer{.output = std::string(200, '.')};
  cache.Put("first", answer);
  cache.Put("second", answer);
  EXPECT_EQ(cache.bytes(), 912);
  EXPECT_TRUE(cache.Find("first"));
  cache.Put("third", answer);
  EXPECT_TRUE(cache.Find("first"));
  EXPECT_FALSE(cache.Find("second"));
  EXPECT_TRUE(cache.Find("third"));
  EXPECT_EQ(cache.bytes(), 912);
}

TEST(AnswerCache, OfNoBytesKeepsNothing) {
  AnswerCache cache(0);
  cache.Put("key", {});
  EXPECT_FALSE(cache.Find("key"));
  EXPECT_EQ(cache.bytes(), 0);
}

}  // namespace
}  // namespace foretell::serve
