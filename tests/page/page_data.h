#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace foretell {

/// The document inside a page that HtmlPage made.
inline nlohmann::ordered_json PageData(const std::string& page) {
  const std::string before = "<script type=\"application/json\" id=\"data\">";
  const std::size_t begin = page.find(before) + before.size();
  return nlohmann::ordered_json::parse(
      page.substr(begin, page.find("</script>", begin) - begin));
}

}  // namespace foretell
