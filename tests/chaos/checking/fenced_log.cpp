#include "chaos/checking/fenced_log.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <system_error>
#include <type_traits>
#include <unistd.h>

namespace simba::chaos {

static_assert(std::is_trivially_copyable_v<FencedEntry> && sizeof(FencedEntry) == 32);

bool FencedState::apply(const FencedEntry& entry) noexcept {
  const bool is_write = entry.kind == FencedEntry::Kind::write;
  if (entry.token < highest_) {
    refused_ += is_write ? 1 : 0;
    return false;
  }
  highest_ = entry.token;
  if (is_write) {
    lost_ += entry.value == value_ + 1 ? 0 : 1;
    value_ = entry.value;
    ++taken_;
  }
  return true;
}

FencedLog::FencedLog(const std::filesystem::path& file)
    : who_{static_cast<std::uint64_t>(::getpid())},
      descriptor_{::open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644)} {
  if (descriptor_ == -1) {
    throw std::system_error{errno, std::generic_category(), file.string()};
  }
}

FencedLog::~FencedLog() { ::close(descriptor_); }

void FencedLog::append(const FencedEntry& entry) {
  if (::write(descriptor_, &entry, sizeof entry) != sizeof entry) {
    throw std::system_error{errno, std::generic_category(), "the fenced resource"};
  }
}

std::optional<std::uint64_t> FencedLog::read(std::uint64_t token) {
  const FencedEntry own{FencedEntry::Kind::read, token, 0, who_};
  append(own);
  for (FencedEntry entry; ::pread(descriptor_, &entry, sizeof entry, position_) == sizeof entry;) {
    position_ += static_cast<std::int64_t>(sizeof entry);
    const bool taken = state_.apply(entry);
    if (entry.kind == own.kind && entry.who == own.who && entry.token == own.token) {
      return taken ? std::optional{state_.value()} : std::nullopt;
    }
  }
  throw std::system_error{errno, std::generic_category(), "the fenced resource"};
}

void FencedLog::write(std::uint64_t token, std::uint64_t value) {
  append({FencedEntry::Kind::write, token, value, who_});
}

std::vector<FencedEntry> read_fenced_log(const std::filesystem::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  std::vector<FencedEntry> entries;
  for (FencedEntry entry;
       descriptor != -1 && ::read(descriptor, &entry, sizeof entry) == sizeof entry;) {
    entries.push_back(entry);
  }
  if (descriptor != -1) {
    ::close(descriptor);
  }
  return entries;
}

}  // namespace simba::chaos
