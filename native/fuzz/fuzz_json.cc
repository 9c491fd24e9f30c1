// Any bytes are a tape that holds together, or not plain; all its text lies within them.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fuzz/demand.h"
#include "kernels/json.h"

using penstock::JsonKind;
using penstock::JsonToken;
using penstock::fuzz::demand;

namespace {

// The token after the value at `at`.
std::size_t walk(const char* text, std::size_t size, const std::vector<JsonToken>& tape, std::size_t at) {
  demand(at < tape.size(), "a value beyond the tape");
  const JsonToken& token = tape[at++];
  if (token.kind == JsonKind::kText || token.kind == JsonKind::kEscaped) {
    demand(token.begin > 0 && token.begin <= token.end && static_cast<std::size_t>(token.end) < size, "text outside");
    demand(text[token.begin - 1] == '"' && text[token.end] == '"', "text without quotes");
    std::string content;
    penstock::unescape_json(text, token, content);
    demand(content.size() <= static_cast<std::size_t>(token.end - token.begin), "text that grows");
  }
  if (token.kind != JsonKind::kObject && token.kind != JsonKind::kArray) return at;
  for (std::int64_t i = 0; i < token.length; ++i) {
    if (token.kind == JsonKind::kObject) {
      demand(at < tape.size() && (tape[at].kind == JsonKind::kText || tape[at].kind == JsonKind::kEscaped), "no key");
      at = walk(text, size, tape, at);
    }
    at = walk(text, size, tape, at);
  }
  demand(at == static_cast<std::size_t>(token.end), "a container that ends elsewhere");
  return at;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const char* const text = reinterpret_cast<const char*>(data);
  std::vector<JsonToken> tape;
  for (size_t begin = 0; begin <= size;) {  // each line of the input
    size_t end = begin;
    while (end < size && text[end] != '\n') ++end;
    tape.clear();
    if (penstock::parse_json_object(text + begin, end - begin, tape))
      demand(walk(text + begin, end - begin, tape, 0) == tape.size(), "tokens after the value");
    begin = end + 1;
  }
  return 0;
}
