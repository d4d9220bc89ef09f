#pragma once

#include <httplib.h>

#include <cstddef>
#include <string>
#include <vector>

namespace foretell::serve {

/// Body of a request: bytes, or the parts of a form.
struct Body {
  std::string bytes;
  std::vector<httplib::MultipartFormData> parts;
  bool is_whole = true;  ///< False: the answer already has a status. HTTP
                         ///< status and reason of a refused body; 413: the body
                         ///< is larger than allowed and incomplete.
  int refusal = 0;
  const char* reason = "";
};

/// Reads the whole body of a request and keeps at most `most` bytes, regardless
/// of its stated length, which chunked and compressed bodies lack. Reads and
/// drops the rest without unpacking it, so that the next request on the
/// connection starts at the right byte. Unpacks gzip, deflate and br, except
/// for forms.
Body ReadBody(const httplib::Request& http, const httplib::ContentReader& read,
              std::size_t most);

}  // namespace foretell::serve
