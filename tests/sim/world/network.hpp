#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/checker.hpp"
#include "sim/world/host.hpp"
#include "sim/world/server.hpp"

namespace simba::sim {

/// How messages fare. Numbers are per thousand.
struct Weather {
  int lost = 0;
  int lost_replies = 0;
  int lost_notices = 0;
  int doubled = 0;
  int late = 0;            ///< takes up to `late_most`
  int stray_releases = 0;  ///< a second one comes late
  int naps = 0;            ///< a process is paused when it has heard that a text is written
  nanoseconds longest_nap{};
  nanoseconds usual_least{std::chrono::microseconds{100}};
  nanoseconds usual_most{std::chrono::milliseconds{2}};
  nanoseconds late_most{};
};

/// What went wrong on purpose, by kind.
enum class Fault {
  lost_request,
  lost_reply,
  lost_notice,
  doubled,
  late,
  partition,
  server_restart,
  memory_loss,
  crash,
  pause,
  pause_before_act,
  restart_same_id,
  wall_clock_jump,
  slow_callback,
  stop_in_callback,
  stop_by_two,
  stop_and_start,
  wait_cancelled,
  wait_abandoned,
  client_ended,
  steering,
};
inline constexpr std::size_t fault_kinds = 21;
std::string_view name_of(Fault fault) noexcept;
using FaultCounts = std::array<std::uint64_t, fault_kinds>;

/// What the server says, and when it said it.
struct Answer {
  Record record{};
  ServerTime at{};    ///< by the clock of the server
  LocalTime given{};  ///< in true time
  nanoseconds wall_offset{};
};

/// The client of one process.
class Client {
 public:
  virtual ~Client() = default;
  virtual void noticed(std::uint64_t watch, Push::Kind kind, const Answer& answer) = 0;
  /// The connection broke; nothing that was subscribed is, any more.
  virtual void broken() = 0;
};

/// Whose wall clock counts for the texts beside the mutexes.
enum class WallClock { of_server, of_hosts };

/// The server, and the messages between it and the processes.
class Network {
 public:
  Network(const Scene& scene, Checker& checker, Server server, int drift_ppm, WallClock wall_clock);

  /// Clients are numbered as their hosts.
  void connect(Host& host, Client& client);
  /// The client is gone for good.
  void disconnect(std::size_t client);

  void request(Call call, std::function<void(const Answer&)> deliver);
  void request(TextCall call, std::function<void(RecordAnswer)> deliver);
  void subscribe(std::size_t client, std::uint64_t watch, std::size_t mutex,
                 const std::string& contender, std::function<void()> done);
  void unsubscribe(std::size_t client, std::uint64_t watch, std::size_t mutex,
                   const std::string& contender, std::function<void()> done);

  bool down() const noexcept { return scene_.world.now() < down_until_; }
  bool unreachable(std::size_t client) const;

  // ---- troubles ----------------------------------------------------------------------------
  Weather weather{};
  void restart_server(nanoseconds span, bool lose_memory);
  void cut(std::size_t client, nanoseconds span);
  /// The process is gone; the server finds out after that time. Where messages are doubled, what it
  /// has asked last may come once more meanwhile, or later.
  void lose(std::size_t client, nanoseconds span);
  void jump_wall_clock(nanoseconds by);
  /// That of a host.
  void jump_wall_clock(Host& host, nanoseconds by);
  void calm();
  void count(Fault fault) { ++counts[static_cast<std::size_t>(fault)]; }
  FaultCounts counts{};

  const Server& server() const noexcept { return server_; }
  int drift_ppm() const noexcept { return drift_ppm_; }
  ServerTime server_now() const { return server_time(scene_.world.now()); }
  LocalTime true_time(ServerTime at) const;
  WallClock wall_clock() const noexcept { return wall_clock_; }
  /// The one that counts for what that client does with texts.
  SystemTime wall_now(std::size_t client) const;
  /// What has been done to a text, by whom, and when it was forgotten.
  std::function<void(const TextCall& call, const RecordAnswer& answer)> after_text{};
  std::function<void(LocalTime since, LocalTime until)> after_loss{};
  /// A wall clock is going to be set.
  std::function<void()> before_jump{};
  /// Until when a message of that client, or the server, was in trouble.
  LocalTime calm_since(std::size_t client) const;
  /// Until when late messages may come, also of those who are gone.
  LocalTime late_until() const noexcept { return late_until_; }

 private:
  struct Link {
    Host* host = nullptr;
    Client* client = nullptr;
    LocalTime cut_until = LocalTime::min();
    std::uint64_t connection = 0;  ///< as the server sees it
    std::uint64_t known = 0;       ///< the one that the client speaks on
    std::set<std::uint64_t> ended;
    LocalTime troubled_until = LocalTime::min();  ///< a message of it was lost or late
    std::map<std::string, Call> asked;            ///< the last acquisition of each contender
  };

  /// A message, for the trace.
  struct Label {
    std::size_t client;
    const char* way;  ///< "reply to "
    const char* what;
    std::string_view contender;  ///< empty: an observer
    std::size_t mutex;
  };

  ServerTime server_time(LocalTime at) const;
  template <class... Args>
  void trace(const Label& label, fmt::format_string<Args...> what, Args&&... args) const;
  void troubled(std::size_t client, LocalTime until);
  nanoseconds delay(const Label& label, bool surely_late = false);
  template <class Arrive>
  void post(const Label& label, int lost, Fault kind, const Arrive& arrive);
  void to_server(const Label& label, const std::function<void()>& task);
  void to_client(const Label& label, int lost, Fault kind, const std::function<void()>& task);
  void ask_again(const Call& call, bool late);
  void execute(const Call& call, const std::function<void(const Answer&)>& deliver);
  void maybe_nap(std::size_t client);
  void push_all();
  void break_all();

  const Scene scene_;
  Checker& checker_;
  const LocalTime began_;
  const int drift_ppm_;
  const WallClock wall_clock_;
  Server server_;
  std::vector<Link> links_;
  LocalTime late_until_ = LocalTime::min();
  LocalTime down_until_ = LocalTime::min();
  LocalTime all_know_at_ = LocalTime::min();  // that their connections broke
  nanoseconds wall_offset_{0};
};

}  // namespace simba::sim
