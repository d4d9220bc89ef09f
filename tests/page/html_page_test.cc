#include "src/page/html_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <string>

#include "tests/page/page_data.h"

namespace foretell {
namespace {

using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::ordered_json;

TEST(HtmlPage, KeepsNamesText) {
  const std::string hostile = "</script><img src=x onerror=\"alert(1)\"><!--";
  const Json document = {{"model", hostile}, {hostile, 1}};
  const std::string page = HtmlPage(PageView::kStep, hostile, document);
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, HasSubstr("<title>&lt;/script&gt;&lt;img src=x onerror="
                              "&quot;alert(1)&quot;&gt;&lt;!--</title>"));
  EXPECT_EQ(PageData(page), document);
}

TEST(HtmlPage, DoesNotFillInWhatNamesAskFor) {
  const Json document = {{"model", "{{scripts}}"}};
  const std::string page = HtmlPage(PageView::kStep, "{{data}}", document);
  EXPECT_THAT(page, HasSubstr("<title>{{data}}</title>"));
  EXPECT_EQ(PageData(page), document);
}

TEST(HtmlPage, IsUtf8WithoutMarksThatTurnTheDirection) {
  const Json document = {{"model", "a\xe2\x80\xae\xff"}};
  const std::string page = HtmlPage(PageView::kStep, "\xe2\x80\xae", document);
  EXPECT_THAT(page, HasSubstr("<title>\\xe2\\x80\\xae</title>"));
  EXPECT_EQ(PageData(page)["model"], "a\\xe2\\x80\\xae\\xff");
}

TEST(HtmlPage, LoadsNothing) {
  const std::string page = HtmlPage(PageView::kStep, "toy", Json::object());
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  const std::regex loads("<(link|img|iframe|script[^>]*src)");
  EXPECT_FALSE(std::regex_search(page, loads));
}

TEST(HtmlPage, LeavesRoomForDataInAMegabyte) {
  EXPECT_LT(HtmlPage(PageView::kStep, "toy", Json::object()).size(), 580'000);
}

TEST(HtmlPage, CarriesTheLicencesOfItsLibraries) {
  const std::string page = HtmlPage(PageView::kStep, "toy", Json::object());
  EXPECT_THAT(page,
              HasSubstr("Copyright 2010-2026 Mike Bostock\n\nPermission"));
  EXPECT_THAT(page, HasSubstr("Observable, Inc.\n\nPermission to use"));
}

TEST(HtmlPage, NamesItsView) {
  EXPECT_THAT(HtmlPage(PageView::kLearningRate, "toy", Json::object()),
              HasSubstr("<body data-view=\"learning_rate\">"));
  EXPECT_THAT(HtmlPage(PageView::kDifference, "toy", Json::object()),
              HasSubstr("<body data-view=\"difference\">"));
  EXPECT_THAT(HtmlPage(PageView::kDevices, "toy", Json::object()),
              HasSubstr("<body data-view=\"devices\">"));
}

}  // namespace
}  // namespace foretell
