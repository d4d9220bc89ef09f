#include <gtest/gtest.h>

#include <string>

#include "foretell/device.h"
#include "foretell/error.h"
#include "src/device/embedded_data.h"
#include "src/device/read_device.h"

namespace foretell::device {
namespace {

constexpr char kTwo[] = R"({"environments": [
  {"name": "old", "description": "eager", "context_mib": {"*": 1000},
   "context_uncertainty_mib": 50, "source": "made up"},
  {"name": "new", "description": "lazy", "default": true,
   "context_mib": {"*": 300, "hopper": 350},
   "context_full_sms": {"hopper": 132}, "context_mib_per_sm": 2.5,
   "cudnn_mib": 40, "cublas_handle_mib": 60,
   "context_uncertainty_mib": 100, "source": "made up"}]})";

std::string Refusal(const std::string& from, const std::string& to) {
  std::string text = kTwo;
  text.replace(text.find(from), from.size(), to);
  try {
    ReadContexts(text, "env.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCorrupt);
    return error.what();
  }
  return "accepted";
}

TEST(ReadContexts, ReadsEveryField) {
  const auto read = ReadContexts(kTwo, "env.json");
  ASSERT_EQ(read.size(), 2u);
  EXPECT_FALSE(read[0].is_default);
  EXPECT_TRUE(read[1].is_default);
  const ContextModel& context = read[1].context;
  EXPECT_EQ(context.name, "new");
  EXPECT_EQ(context.description, "lazy");
  EXPECT_EQ(context.context_mib.at("*"), 300);
  EXPECT_EQ(context.context_mib.at("hopper"), 350);
  EXPECT_EQ(context.context_full_sms.size(), 1u);
  EXPECT_EQ(context.context_full_sms.at("hopper"), 132);
  EXPECT_TRUE(read[0].context.context_full_sms.empty());
  EXPECT_EQ(context.context_mib_per_sm, 2.5);
  EXPECT_EQ(context.cudnn_mib, 40);
  EXPECT_EQ(context.cublas_handle_mib, 60);
  EXPECT_EQ(read[0].context.context_mib_per_sm, 0);
  EXPECT_EQ(context.context_uncertainty_mib, 100);
  EXPECT_EQ(context.source, "made up");
}

TEST(ReadContexts, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(Refusal("\"source\": \"made up\"}", "\"source\": \"x\", \"y\": 1}"),
            "env.json: environments[0] unknown field \"y\", expected one of: "
            "context_full_sms, context_mib, context_mib_per_sm, "
            "context_uncertainty_mib, "
            "cublas_handle_mib, cudnn_mib, default, description, "
            "name, source");
}

TEST(ReadContexts, RefusesAContextWithoutDefault) {
  EXPECT_EQ(Refusal("\"*\": 1000", "\"hopper\": 1000"),
            "env.json: environments[0].context_mib.* is missing, expected "
            "the default in MiB");
}

TEST(ReadContexts, RefusesANegativeContext) {
  EXPECT_EQ(Refusal("\"*\": 1000", "\"*\": -1"),
            "env.json: environments[0].context_mib.* is -1, expected a number "
            "from 0 to 1.04858e+06");
}

TEST(ReadContexts, RefusesMultiprocessorsOfAnUnstatedSize) {
  EXPECT_EQ(Refusal("{\"hopper\": 132}", "{\"volta\": 80}"),
            "env.json: environments[1].context_full_sms.volta has no size in "
            "context_mib");
}

TEST(ReadContexts, RefusesANameGivenTwice) {
  EXPECT_EQ(Refusal("\"new\"", "\"old\""),
            "env.json: environments[1].name is \"old\" twice, expected it "
            "once");
}

TEST(ReadContexts, RefusesASecondDefault) {
  EXPECT_EQ(Refusal("\"description\": \"eager\"",
                    "\"description\": \"eager\", \"default\": true"),
            "env.json: environments[1].default is true for \"new\", but "
            "\"old\" is the default already");
}

TEST(ReadContexts, RefusesAnEmptyList) {
  EXPECT_THROW(ReadContexts(R"({"environments": []})", "e"), Error);
}

TEST(ReadContexts, RefusesEveryTruncationOfTheBuiltInFile) {
  const EmbeddedFile& file = EnvironmentFiles().front();
  for (std::size_t size = 0; size + 1 < file.bytes.size(); ++size) {
    ASSERT_THROW(ReadContexts(file.bytes.substr(0, size), file.path), Error)
        << size;
  }
}

TEST(DeviceCatalog, ReplacesEnvironmentsAndMovesTheDefault) {
  DeviceCatalog catalog = DeviceCatalog::BuiltIn();
  const std::size_t count = catalog.contexts().size();
  catalog.AddContexts(kTwo, "env.json");
  EXPECT_EQ(catalog.contexts().size(), count + 2);
  EXPECT_EQ(catalog.DefaultContext().name, "new");
  catalog.AddContexts(R"({"environments": [
    {"name": "NEW", "description": "again", "context_mib": {"*": 1},
     "context_uncertainty_mib": 0, "source": "made up"}]})",
                      "again.json");
  EXPECT_EQ(catalog.contexts().size(), count + 2);
  EXPECT_EQ(catalog.DefaultContext().description, "again");
}

}  // namespace
}  // namespace foretell::device
