#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/examination.hpp"
#include "cli/serve/board.hpp"
#include "cli/serve/gate.hpp"
#include "http/message.hpp"
#include "http/server.hpp"
#include "simba/core/error.hpp"

namespace simba::cli::serve {

/// What is known of the store itself.
struct Health {
  std::string store{};                     ///< where it is, without secrets
  std::optional<Error> error{};            ///< why it could not be looked at last
  std::optional<WallTime> since{};         ///< since when that is so
  std::optional<WallTime> looked{};        ///< when it was last seen
  std::chrono::milliseconds look_time{0};  ///< how long that took
  std::optional<WallTime> examined{};
  std::string server{};  ///< product and version
  std::optional<ClockOffset> clock{};
  std::vector<engine::Finding> findings{};
};

/// The page and the API of `simba serve`, over a board that is fed by whoever looks at the store.
/// docs/observability.md has the API.
///
/// Threads: every function may be called from any thread. `handle` and `each_second` do not block.
class Service {
 public:
  /// A mutex to be released by force, if this is still its owner.
  struct Release {
    std::string mutex{};
    std::string owner{};
  };

  /// What came of it.
  struct Released {
    int status = 200;
    std::string text{};
  };

  struct Options {
    Board::Options board{};
    Gate::Options gate{};
    std::string store{};  ///< where it is, without secrets

    /// Releases a mutex, elsewhere, and then answers. Empty: nobody may.
    std::function<void(const Release&, std::function<void(Released)>)> release{};
  };

  explicit Service(Options options);

  void handle(const http::Request& request, const http::Responder& respond);
  void each_second();

  /// What a request comes to: a response, or if there is none a release to be carried out.
  struct Verdict {
    std::optional<http::Response> response{};
    Release release{};
  };
  Verdict judge(const http::Request& request);

  // ---- from whoever looks at the store --------------------------------------------------------

  void looked(const Look& look);
  void failed(const Error& error);
  void forced(const std::string& mutex, const std::string& owner);
  void reported(const std::vector<std::pair<std::string, ScheduleReport>>& reports);
  void examined(const Health& found);

  /// Mutexes whose schedules are to be looked at: those that are known to have one, and others.
  struct Names {
    std::vector<std::string> schedules{};
    std::vector<std::string> others{};
  };
  Names names_after(std::string_view name, std::size_t most) const;

 private:
  using Text = std::shared_ptr<const std::string>;

  /// An open event stream, and which revision it has seen.
  struct Reader {
    http::Stream stream;
    std::uint64_t revision = 0;
  };

  http::Response page(const http::Request& request) const;
  http::Response api(const http::Request& request, std::string_view path);
  http::Response events(const http::Request& request);
  http::Response mutexes();
  http::Response one_mutex(std::string_view name);
  http::Response changes(const http::Request& request);
  http::Response session(const http::Request& request) const;
  http::Response log_in(const http::Request& request);
  Verdict judge_release(const http::Request& request, std::string_view name) const;
  std::optional<http::Response> refusal(const http::Request& request, std::string_view path) const;

  void open(const http::Stream& stream, std::optional<std::uint64_t> since);
  Json head() const;
  Json health_json() const;
  std::string document(std::string_view body) const;
  std::string event(std::string_view name, std::string_view data) const;
  std::string news(std::uint64_t since) const;
  void publish();
  void publish_health();
  void send_to_all(const Text& text);

  // constant after construction
  const Options options_;
  const std::string instance_;

  mutable std::mutex mutex_;
  // guarded by mutex_
  Gate gate_;
  Board board_;
  Health health_;
  std::vector<Reader> readers_{};
  Text all_{};  // the document of all mutexes
  std::uint64_t all_revision_ = 0;
  std::string last_health_{};
  int seconds_ = 0;
};

}  // namespace simba::cli::serve
