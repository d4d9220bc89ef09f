#pragma once

#include <httplib.h>

#include <cstddef>
#include <string>
#include <vector>

namespace foretell::serve {

/// What a request sends: bytes, or the parts of a form.
struct Body {
  std::string bytes;
  std::vector<httplib::MultipartFormData> parts;
  bool is_whole = true;       ///< Otherwise the answer has a status already.
  bool is_too_large = false;  ///< Then some of it is missing.
};

/// Reads all that a request sends and keeps at most `most` bytes, whatever it
/// says of its length: chunks and compressed bodies say nothing of it. What is
/// beyond is read and forgotten, so that the next request on the connection
/// begins where it does.
Body ReadBody(const httplib::Request& http, const httplib::ContentReader& read,
              std::size_t most);

}  // namespace foretell::serve
