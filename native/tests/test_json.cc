// JSON: tokens in the order of the text, containers that know their end, and no byte beyond it.
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "kernels/json.h"
#include "tests/check.h"

using penstock::JsonKind;
using penstock::JsonToken;

namespace {

struct Parsed {
  explicit Parsed(const std::string& from) : text(new char[from.size()]) {
    std::memcpy(text.get(), from.data(), from.size());
    is_plain = penstock::parse_json_object(text.get(), from.size(), tape);
  }
  std::string content(std::size_t at) const {
    std::string found;
    penstock::unescape_json(text.get(), tape[at], found);
    return found;
  }
  std::unique_ptr<char[]> text;
  std::vector<JsonToken> tape;
  bool is_plain;
};

void check_tape() {
  const Parsed parsed(R"({"a": [1, -2.5, {}], "b\n": "\ud834\udd1e", "c": true})");
  CHECK(parsed.is_plain && parsed.tape.size() == 10);
  const auto& tape = parsed.tape;
  CHECK(tape[0].kind == JsonKind::kObject && tape[0].length == 3 && tape[0].end == 10);
  CHECK(tape[1].kind == JsonKind::kText && parsed.content(1) == "a");
  CHECK(tape[2].kind == JsonKind::kArray && tape[2].length == 3 && tape[2].end == 6);
  CHECK(tape[3].kind == JsonKind::kInt && tape[3].whole == 1);
  CHECK(tape[4].kind == JsonKind::kFloat && tape[4].real == -2.5);
  CHECK(tape[5].kind == JsonKind::kObject && tape[5].length == 0 && tape[5].end == 6);
  CHECK(tape[6].kind == JsonKind::kEscaped && parsed.content(6) == "b\n");
  CHECK(parsed.content(7) == "\xf0\x9d\x84\x9e");
  CHECK(tape[9].kind == JsonKind::kTrue);
}

void check_every_cut() {
  const std::string text = R"( {"key": "a long text with \u00e9 in it", "x": [null, false, 1e10, {"y": -0}]} )";
  CHECK(Parsed(text).is_plain);
  for (std::size_t size = 0; size < text.size() - 1; ++size) CHECK(!Parsed(text.substr(0, size)).is_plain);
  CHECK(Parsed(text.substr(0, text.size() - 1)).is_plain);
}

void check_limits() {
  const auto nested = [](int depth) {
    return "{\"a\":" + std::string(static_cast<std::size_t>(depth), '[') +
           std::string(static_cast<std::size_t>(depth), ']') + "}";
  };
  CHECK(Parsed(nested(63)).is_plain);
  CHECK(!Parsed(nested(64)).is_plain);
  std::string many = "{\"a\":[0";
  for (int i = 0; i < (1 << 20); ++i) many += ",0";
  CHECK(!Parsed(many + "]}").is_plain);
}

}  // namespace

int main() {
  check_tape();
  check_every_cut();
  check_limits();
}
