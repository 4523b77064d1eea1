#include "chaos/checking/slot_log.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "chaos/checking/record.hpp"

namespace simba::chaos {

namespace {

/// In the order of SlotEntry::Kind.
constexpr std::array slot_words{"begins", "lasts", "ends", "fails"};

SlotEntry read_line(const std::string& line) {
  std::istringstream stream{line};
  std::string word;
  SlotEntry entry;
  stream >> word >> entry.slot >> entry.number >> entry.attempt >> entry.token >> entry.who >>
      entry.at >> entry.wall;
  const auto* const kind = std::find(slot_words.begin(), slot_words.end(), word);
  if (!stream || kind == slot_words.end()) {
    throw std::runtime_error{fmt::format("a log of slots has a line '{}'", line)};
  }
  entry.kind = static_cast<SlotEntry::Kind>(kind - slot_words.begin());
  return entry;
}

}  // namespace

SlotLog::SlotLog(const std::filesystem::path& file)
    : descriptor_{::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)} {
  if (descriptor_ == -1) {
    throw std::system_error{errno, std::generic_category(), file.string()};
  }
}

SlotLog::~SlotLog() { ::close(descriptor_); }

void SlotLog::write(const SlotEntry& entry) const noexcept {
  const auto line = fmt::format(
      "{} {} {} {} {} {} {} {}\n", slot_words.at(static_cast<std::size_t>(entry.kind)), entry.slot,
      entry.number, entry.attempt, entry.token, entry.who, entry.at, entry.wall);
  if (::write(descriptor_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    ::_exit(exit_unrecorded);
  }
}

std::vector<SlotEntry> parse_slot_log(const std::string& text) {
  std::vector<SlotEntry> entries;
  std::size_t begin = 0;
  for (auto end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    entries.push_back(read_line(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return entries;
}

std::vector<SlotEntry> read_slot_log(const std::filesystem::path& file) {
  std::ifstream stream{file};
  return parse_slot_log({std::istreambuf_iterator<char>{stream}, {}});
}

}  // namespace simba::chaos
