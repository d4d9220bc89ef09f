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
  bool is_whole = true;  ///< Otherwise the answer already has a status.
  /// HTTP status of a body that is refused, and why, except for 413: a body
  /// that is larger than allowed, of which some is missing.
  int refusal = 0;
  const char* reason = "";
};

/// Reads all that a request sends and keeps at most `most` bytes, whatever
/// length it states: chunked and compressed bodies state none. What is beyond
/// is read, but not unpacked, and dropped, so that the next request on the
/// connection begins in the right place. Bodies in gzip, deflate or br are
/// unpacked, except forms.
Body ReadBody(const httplib::Request& http, const httplib::ContentReader& read,
              std::size_t most);

}  // namespace foretell::serve
