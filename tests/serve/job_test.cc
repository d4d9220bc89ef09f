#include "serve/job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "foretell/error.h"

namespace foretell::serve {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const ServedCommand& Command() {
  static const ServedCommand command{
      .route = "/v1/fits",
      .words = {"fits"},
      .json = {"--json"},
      .flags = {
          {.name = "batch",
           .flag = "--batch",
           .kind = ValueKind::kWhole,
           .is_list = true},
          {.name = "max_memory",
           .flag = "--max-memory",
           .kind = ValueKind::kNumber},
          {.name = "strict", .flag = "--strict", .kind = ValueKind::kFlag},
          {.name = "device", .flag = "--device"}}};
  return command;
}

std::vector<std::string> WordsOf(std::string_view body) {
  return MakeJob(Command(), ReadJsonRequest(body)).words;
}

std::string Refusal(std::string_view body) {
  try {
    WordsOf(body);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(MakeJob, MakesACommandLine) {
  EXPECT_THAT(
      WordsOf(R"({"model": "zoo:vgg16", "options":
                  {"batch": [1, 8], "max_memory": 2.5, "device": "a30",
                   "strict": true}})"),
      ElementsAre("fits", "zoo:vgg16", "--batch=1", "--batch=8", "--device=a30",
                  "--max-memory=2.5", "--strict", "--json"));
}

TEST(MakeJob, LeavesAFlagOutThatIsFalse) {
  EXPECT_THAT(WordsOf(R"({"model": "zoo:a", "options": {"strict": false}})"),
              ElementsAre("fits", "zoo:a", "--json"));
}

TEST(MakeJob, PutsWordsInThePlaceOfFiles) {
  const Job job = MakeJob(Command(), {.files = {{"net.onnx", "bytes"}},
                                      .settings = {{"batch", "4"}}});
  EXPECT_THAT(job.words, ElementsAre("fits", "{0}", "--batch=4", "--json"));
  EXPECT_EQ(job.files[0].bytes, "bytes");
}

// No value can become a flag of its own, and no path is opened.
TEST(MakeJob, KeepsValuesInTheWordsOfTheirFlags) {
  EXPECT_THAT(WordsOf(R"({"model": "zoo:a", "options":
                          {"device": "--checkpoint=/etc/passwd"}})"),
              ElementsAre("fits", "zoo:a", "--device=--checkpoint=/etc/passwd",
                          "--json"));
}

TEST(MakeJob, RefusesWhatIsNotServed) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"model": "/etc/passwd"})", "model '/etc/passwd': not a zoo network"},
      {R"({"model": "--help"})", "model '--help'"},
      {R"({"model": 1})", "request.model"},
      {R"({"options": {}})", "has no model"},
      {R"({"models": ["zoo:a", "zoo:b"]})", "accepts one model, got 2"},
      {R"({"model": "zoo:a", "more": 1})", "request.more"},
      {R"({"model": "zoo:a", "options": 1})", "options: expected an object"},
      {R"({"model": "zoo:a", "options": {"sandbox": "off"}})",
       "option 'sandbox': unknown to /v1/fits; there are batch, max_memory"},
      {R"({"model": "zoo:a", "options": {"device": ["a", "b"]}})",
       "option 'device': given more than once"},
      {R"({"model": "zoo:a", "options": {"device": {}}})", "options.device"},
      {R"({"model": "zoo:a", "options": {"batch": 1.5}})",
       "option 'batch': '1.5' is not a whole number"},
      {R"({"model": "zoo:a", "options": {"strict": "yes"}})",
       "option 'strict': 'yes' is not true or false"},
      {R"({"model": "zoo:a", "options": {"max_memory": "much"}})",
       "option 'max_memory': 'much' is not a number"},
      {"[]", "request: expected an object"},
      {"{", "request"}};
  for (const auto& [body, message] : cases) {
    EXPECT_THAT(Refusal(body), HasSubstr(message)) << body;
  }
}

// So many that comparing each with all others would take hours.
TEST(MakeJob, RefusesTheFirstOfAMillionOptions) {
  Request request{.zoo = {"zoo:a"}};
  for (int i = 0; i < 1'000'000; ++i) {
    request.settings.emplace_back(std::to_string(i), "1");
  }
  try {
    MakeJob(Command(), request);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("option '0': unknown to"));
  }
}

TEST(ReadSettings, ReadsOptionsAlone) {
  EXPECT_EQ(ReadSettings(R"({"batch": 3})"), (Settings{{"batch", "3"}}));
}

}  // namespace
}  // namespace foretell::serve
