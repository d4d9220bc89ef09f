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
  bool is_whole = true;  ///< Otherwise the answer has a status already.
  /// Status of HTTP of a body that is refused, and why, but of 413, which is
  /// one that is larger than allowed; some of it is missing.
  int refusal = 0;
  const char* reason = "";
};

/// Reads all that a request sends and keeps at most `most` bytes, whatever it
/// says of its length: chunks and compressed bodies say nothing of it. What is
/// beyond is read, but not unpacked, and forgotten, so that the next request on
/// the connection begins where it does. Bodies in gzip, deflate or br are
/// unpacked, but no forms.
Body ReadBody(const httplib::Request& http, const httplib::ContentReader& read,
              std::size_t most);

}  // namespace foretell::serve
