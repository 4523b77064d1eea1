#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "simba/core/log.hpp"
#include "sql/database.hpp"

namespace simba::sqlite {

/// Hints that the kernel gives through one inotify descriptor: the write-ahead log was written, so
/// anything may have changed; the file of the living was closed by someone, so an owner may be
/// gone.
class FileFeed final : public sql::ChangeFeed {
 public:
  FileFeed(std::filesystem::path log_file, std::filesystem::path alive_file,
           std::shared_ptr<Logger> log);
  ~FileFeed() override;

  sql::Hint wait(const std::vector<std::string>& waited_for, LocalTime until,
                 const sql::Wakeup& wakeup) noexcept override;

 private:
  bool add_watches() noexcept;
  bool read_events() noexcept;
  void begin_to_look() noexcept;

  const std::filesystem::path log_file_;
  const std::filesystem::path alive_file_;
  const std::shared_ptr<Logger> log_;
  int inotify_ = -1;
  int log_watch_ = -1;
  int alive_watch_ = -1;
  LocalTime last_look_ = LocalTime::min();
  LocalTime look_at_ = never;  // when to hint next
  std::size_t look_ = 0;       // the number of that hint since the last event
};

}  // namespace simba::sqlite
