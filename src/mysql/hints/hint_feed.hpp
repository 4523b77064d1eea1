#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mysql/hints/hint_slot.hpp"
#include "sql/database.hpp"

namespace simba::mysql {

/// Hints of releases for the first few mutexes that are waited for, each by a connection that waits
/// inside the server. Whoever releases ends that wait. Those that a release does not reach, such as
/// one by the JVM library, are noticed by the look each poll interval.
class HintFeed final : public sql::ChangeFeed {
 public:
  explicit HintFeed(std::shared_ptr<Server> server);

  sql::Hint wait(const std::vector<std::string>& waited_for, LocalTime until,
                 const sql::Wakeup& wakeup) noexcept override;

 private:
  sql::Hint wait_in_server(LocalTime until, const sql::Wakeup& wakeup);
  void aim(const std::vector<std::string>& waited_for);

  const std::shared_ptr<Server> server_;
  std::vector<std::unique_ptr<HintSlot>> slots_;
};

}  // namespace simba::mysql
