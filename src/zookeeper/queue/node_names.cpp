#include "zookeeper/queue/node_names.hpp"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "core/text.hpp"
#include "simba/core/error.hpp"

namespace simba::zookeeper {
namespace {

constexpr std::string_view mark = "latch-";

[[noreturn]] void refuse(std::string_view what, std::string_view why) {
  throw InvalidArgumentError{fmt::format(
      "on ZooKeeper a {} must be a valid node name: {}; choose another name", what, why)};
}

// What a server refuses in a path, with the edges of each range.
bool refused(char32_t c) {
  return c <= 0x1F || (c >= 0x7F && c <= 0x9F) || (c >= 0xD800 && c <= 0xF8FF) || c >= 0xFFF0;
}

}  // namespace

void check_node_name(std::string_view what, std::string_view name) {
  if (name == "." || name == "..") refuse(what, fmt::format("'{}' is a relative path", name));
  while (!name.empty()) {
    const auto c = detail::first_code_point(name);
    if (!c) refuse(what, "it is not valid UTF-8");
    if (c->value == '/') refuse(what, "it must not contain '/'");
    if (c->value > 0xFFFF) refuse(what, "it must not contain characters above U+FFFF, e.g. emoji");
    if (refused(c->value)) {
      refuse(what, fmt::format("it must not contain the character U+{:04X}",
                               static_cast<std::uint32_t>(c->value)));
    }
    name.remove_prefix(c->size);
  }
}

std::string protective_prefix(Random& random) {
  const std::uint64_t high = (random.next() & ~0xF000ULL) | 0x4000ULL;  // version 4
  const std::uint64_t low = (random.next() & ~(3ULL << 62U)) | (2ULL << 62U);
  return fmt::format("_c_{:08x}-{:04x}-{:04x}-{:04x}-{:012x}-{}", high >> 32U,
                     (high >> 16U) & 0xFFFFU, high & 0xFFFFU, low >> 48U, low & 0xFFFFFFFFFFFFULL,
                     mark);
}

std::optional<std::string_view> sequence_of(std::string_view name) noexcept {
  const std::size_t at = name.rfind(mark);
  if (at == std::string_view::npos) return std::nullopt;
  return name.substr(at + mark.size());
}

std::vector<std::string> contenders_among(const std::vector<std::string>& names) {
  std::vector<std::string> contenders;
  std::copy_if(names.begin(), names.end(), std::back_inserter(contenders),
               [](const std::string& name) { return sequence_of(name).has_value(); });
  std::sort(contenders.begin(), contenders.end(), [](const auto& a, const auto& b) {
    return std::pair{sequence_of(a), std::string_view{a}} <
           std::pair{sequence_of(b), std::string_view{b}};
  });
  return contenders;
}

std::vector<std::string> steps_to(std::string_view path) {
  std::vector<std::string> steps;
  for (std::size_t at = path.find('/', 1); at != std::string_view::npos;
       at = path.find('/', at + 1)) {
    steps.emplace_back(path.substr(0, at));
  }
  if (path.size() > 1) steps.emplace_back(path);
  return steps;
}

}  // namespace simba::zookeeper
