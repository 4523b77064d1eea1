#include "chaos/checking/record.hpp"

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
#include <utility>

#include <fmt/format.h>

namespace simba::chaos {

namespace {

/// In the order of Callback::Kind.
constexpr std::array words{"acquired", "released", "starting", "stopped", "releasing"};

}  // namespace

RecordWriter::RecordWriter(const std::filesystem::path& file)
    : descriptor_{::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)} {
  if (descriptor_ == -1) {
    throw std::system_error{errno, std::generic_category(), file.string()};
  }
}

RecordWriter::~RecordWriter() { ::close(descriptor_); }

void RecordWriter::write(const std::string& line) const noexcept {
  if (::write(descriptor_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    ::_exit(exit_unrecorded);
  }
}

void RecordWriter::callback(Callback::Kind kind, std::uint64_t token, std::int64_t at) {
  write(fmt::format("{} {} {}\n", words.at(static_cast<std::size_t>(kind)), token, at));
}

void RecordWriter::begins(std::uint64_t token, std::int64_t at) {
  write(fmt::format("begins {} {}\n", token, at));
}

void RecordWriter::lasts(std::uint64_t token, std::int64_t at) {
  write(fmt::format("lasts {} {}\n", token, at));
}

void RecordWriter::complain(const std::string& what) { write(fmt::format("wrong {}\n", what)); }

namespace {

/// The same of a contender of the JVM library, from its third word on.
bool read_jvm_line(const std::string& word, std::uint64_t number, std::int64_t at,
                   std::istream& rest, Record& record) {
  auto& all = record.ownerships;
  // Lines of two threads may come in another order than it happened.
  auto known = std::find_if(all.rbegin(), all.rend(),
                            [&](const Ownership& one) { return one.token == number; });
  if (word == "granted") {
    std::int64_t until = 0;
    if (!(rest >> until)) {
      return false;
    }
    // After the end of its lease others may have owned it, whether it has noticed or not.
    if (known == all.rend() || at > known->end) {
      all.push_back({record.who, record.lane, number, at, at, true, at});
      known = all.rbegin();
    }
    known->end = std::max(known->end, until);
    return true;
  }
  if (known == all.rend()) {
    return false;
  }
  auto& one = *known;
  if (word == "yields") {
    one.end = std::clamp(at, one.begin, one.end);
  } else {
    one.believed = std::max(one.believed, at);
  }
  return true;
}

/// False: the line is none.
bool read_line(const std::string& line, Record& record) {
  std::istringstream stream{line};
  std::string word;
  stream >> word;
  if (word == "wrong") {
    record.complaints.push_back(line.size() > 6 ? line.substr(6) : line);
    return true;
  }
  if (word == "locks") {
    auto& period = record.locks.emplace_back();
    return static_cast<bool>(stream >> period.begin >> period.end);
  }
  std::uint64_t token = 0;
  std::int64_t at = 0;
  if (!(stream >> token >> at)) {
    return false;
  }
  if (word == "granted" || word == "yields" || word == "believes") {
    return read_jvm_line(word, token, at, stream, record);
  }
  const auto* const kind = std::find(words.begin(), words.end(), word);
  if (kind != words.end()) {
    record.callbacks.push_back({static_cast<Callback::Kind>(kind - words.begin()), token, at});
  } else if (word == "begins") {
    record.ownerships.push_back({record.who, record.lane, token, at, at, false, 0});
  } else if (word == "lasts" && !record.ownerships.empty() &&
             record.ownerships.back().token == token) {
    record.ownerships.back().end = std::max(record.ownerships.back().end, at);
  } else {
    return false;
  }
  return true;
}

}  // namespace

Record parse_record(const std::string& text, std::string who, int lane) {
  Record record{.who = std::move(who), .lane = lane};
  std::size_t begin = 0;
  for (auto end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    const auto line = text.substr(begin, end - begin);
    if (!read_line(line, record)) {
      throw std::runtime_error{fmt::format("the record of {} has a line '{}'", record.who, line)};
    }
    begin = end + 1;
  }
  return record;
}

Record read_record(const std::filesystem::path& file, std::string who, int lane) {
  std::ifstream stream{file};
  if (!stream) {
    throw std::runtime_error{fmt::format("there is no record {}", file.string())};
  }
  const std::string text{std::istreambuf_iterator<char>{stream}, {}};
  return parse_record(text, std::move(who), lane);
}

}  // namespace simba::chaos
