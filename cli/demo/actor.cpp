#include "cli/demo/actor.hpp"

#include <ctime>
#include <poll.h>
#include <sstream>
#include <stdexcept>
#include <unistd.h>

#include "cli/child/signals.hpp"
#include "cli/exit_codes.hpp"
#include "cli/terminal/log.hpp"
#include "simba/core/abstract_mutex_contender.hpp"

namespace simba::cli::demo {
namespace {

void tell(const News& news) {
  const std::string line = to_line(news) + "\n";
  // Short enough for a pipe to take it whole. Where the stage is gone we are killed soon.
  [[maybe_unused]] const auto ignored = ::write(STDOUT_FILENO, line.data(), line.size());
}

class DemoContender final : public AbstractMutexContender {
 public:
  using AbstractMutexContender::AbstractMutexContender;

  void on_acquired(const MutexState& state) override {
    tell({.kind = News::Kind::leads, .token = state.after().fencing_token(), .at = local_now()});
  }
  void on_released(const MutexState& /*state*/) override {
    tell({.kind = News::Kind::follows, .token = 0, .at = local_now()});
  }
};

}  // namespace

std::string to_line(const News& news) {
  std::ostringstream line;
  line << (news.kind == News::Kind::leads ? "leads " : "follows ") << news.token << ' '
       << news.at.time_since_epoch().count();
  return line.str();
}

News parse_news(const std::string& line) {
  std::istringstream words{line};
  std::string kind;
  News news;
  LocalTime::rep at = 0;
  if (!(words >> kind >> news.token >> at) || (kind != "leads" && kind != "follows")) {
    throw std::invalid_argument{"invalid line from a candidate: " + line};
  }
  news.kind = kind == "leads" ? News::Kind::leads : News::Kind::follows;
  news.at = LocalTime{LocalTime::duration{at}};
  return news;
}

LocalTime local_now() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return LocalTime{std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec}};
}

config::Configuration to_configuration(const StoreSetting& setting) {
  auto configuration = config::Configuration::from_url("sqlite:simba.db");
  configuration.set("path", setting.path, "the folder of the demonstration");
  configuration.set("ttl", setting.ttl, "--ttl");
  configuration.set("transition", setting.transition, "--transition");
  return configuration;
}

int be_candidate(const std::string& name, const StoreSetting& setting, int verbosity) {
  Signals signals;
  const auto runtime = make_command_runtime(verbosity);
  const auto factory = to_configuration(setting).make_factory(runtime);
  DemoContender contender{mutex_name, name, runtime->log};
  const auto service = factory->create_mutex_contend_service(contender);
  service->start();
  pollfd file{signals.file(), POLLIN, 0};
  for (;;) {
    ::poll(&file, 1, -1);
    while (const int signal = signals.next()) {
      if (signal != SIGTERM) continue;
      service->stop();
      return to_int(ExitCode::success);
    }
  }
}

}  // namespace simba::cli::demo
