#include "redis/protocol/command.hpp"

#include <array>
#include <charconv>
#include <cstddef>

namespace simba::redis {
namespace {

void append_line(std::string& out, char kind, std::size_t number) {
  std::array<char, 24> line{};  // holds the kind, 20 digits and the end of the line
  line[0] = kind;
  char* end = std::to_chars(line.data() + 1, line.data() + 21, number).ptr;
  *end++ = '\r';
  *end++ = '\n';
  out.append(line.data(), end);
}

}  // namespace

// A loop of our own: the formatter of hiredis wants two arrays of pointers and lengths and answers
// with a text that it has allocated, to be copied to `out` and freed. This writes to `out` at once.
void append_command(std::string& out, std::span<const std::string_view> words) {
  append_line(out, '*', words.size());
  for (const std::string_view word : words) {
    append_line(out, '$', word.size());
    out.append(word).append("\r\n");
  }
}

std::string command(std::initializer_list<std::string_view> words) {
  std::string result;
  append_command(result, {words.begin(), words.size()});
  return result;
}

}  // namespace simba::redis
