#include "zookeeper/admin/client_console.hpp"

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "simba/core/error.hpp"

namespace simba::zookeeper {

/// What the session has told.
struct ClientConsole::Shared {
  std::mutex mutex{};
  std::condition_variable changed{};
  // guarded by mutex
  std::optional<Connected> connected{};
  std::optional<Error> failed{};

  void take(const ClientEvent& event) {
    const std::lock_guard lock{mutex};
    if (const auto* now = std::get_if<Connected>(&event)) connected = *now;
    if (const auto* why = std::get_if<Failed>(&event)) failed = why->error;
    if (std::holds_alternative<Disconnected>(event)) connected.reset();
    if (std::holds_alternative<Expired>(event)) {
      failed = Error{ErrorKind::unavailable, "ZooKeeper: the session ended"};
    }
    changed.notify_all();
  }
};

/// The answers to several requests. Shared with their handlers.
class ClientConsole::Answers {
 public:
  explicit Answers(std::size_t count) : answers_(count), left_{count} {}

  void put(std::size_t place, NodeAnswer answer) {
    const std::lock_guard lock{mutex_};
    answers_[place] = std::move(answer);
    if (--left_ == 0) changed_.notify_all();
  }

  /// Empty: not in time.
  std::optional<std::vector<NodeAnswer>> wait(std::chrono::milliseconds span) {
    std::unique_lock lock{mutex_};
    if (!changed_.wait_for(lock, span, [&] { return left_ == 0; })) return std::nullopt;
    return std::move(answers_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  // guarded by mutex_
  std::vector<NodeAnswer> answers_;
  std::size_t left_;
};

ClientConsole::ClientConsole(std::shared_ptr<Connector> connector, std::string place,
                             std::chrono::milliseconds patience)
    : connector_{std::move(connector)}, place_{std::move(place)}, patience_{patience} {}

ClientConsole::~ClientConsole() { close(); }

void ClientConsole::close() {
  if (!client_) return;
  client_->close();
  client_.reset();
  connector_->wait_until_closed();
}

Connected ClientConsole::connect() {
  if (!client_) {
    session_ = std::make_shared<Shared>();
    client_ = connector_->connect(
        [session = session_](const ClientEvent& event) { session->take(event); });
  }
  std::unique_lock lock{session_->mutex};
  session_->changed.wait_for(lock, patience_,
                             [&] { return session_->connected || session_->failed; });
  const std::optional<Connected>& connected = session_->connected;
  if (connected && !session_->failed) return *connected;
  const Error why = session_->failed.value_or(Error{
      ErrorKind::unavailable, fmt::format("cannot connect to ZooKeeper at {}: timed out", place_)});
  lock.unlock();
  close();
  throw Error{why};
}

namespace {

/// Waits for what `send` asks for.
template <class Answers, class Send>
std::vector<NodeAnswer> collect(std::size_t count, std::chrono::milliseconds patience,
                                const std::string& place, const Send& send) {
  const auto answers = std::make_shared<Answers>(count);
  for (std::size_t i = 0; i < count; ++i) {
    send(i, [answers, i](NodeAnswer answer) { answers->put(i, std::move(answer)); });
  }
  if (auto all = answers->wait(patience)) return std::move(*all);
  throw Error{ErrorKind::timeout, fmt::format("ZooKeeper at {} did not answer in time", place)};
}

}  // namespace

NodeAnswer ClientConsole::create(const std::string& path, NodeKind kind) {
  connect();
  return collect<Answers>(1, patience_, place_,
                          [&](std::size_t, auto done) {
                            client_->create(
                                path, {}, kind,
                                [done](Code code, const std::string& made, const NodeStat& stat) {
                                  done({.code = code, .text = made, .stat = stat});
                                });
                          })
      .front();
}

NodeAnswer ClientConsole::remove(const std::string& path) {
  connect();
  return collect<Answers>(1, patience_, place_,
                          [&](std::size_t, auto done) {
                            client_->remove(path, [done](Code code) { done({.code = code}); });
                          })
      .front();
}

NodeAnswer ClientConsole::exists(const std::string& path) {
  connect();
  return collect<Answers>(1, patience_, place_,
                          [&](std::size_t, auto done) {
                            client_->exists(path, Watching::no,
                                            [done](Code code, const NodeStat& stat) {
                                              done({.code = code, .stat = stat});
                                            });
                          })
      .front();
}

std::vector<NodeAnswer> ClientConsole::children(const std::vector<std::string>& paths) {
  connect();
  return collect<Answers>(paths.size(), patience_, place_, [&](std::size_t i, auto done) {
    client_->children(paths[i], Watching::no,
                      [done](Code code, const std::vector<std::string>& names) {
                        done({.code = code, .names = names});
                      });
  });
}

std::vector<NodeAnswer> ClientConsole::get(const std::vector<std::string>& paths) {
  connect();
  return collect<Answers>(paths.size(), patience_, place_, [&](std::size_t i, auto done) {
    client_->get(paths[i], Watching::no,
                 [done](Code code, const std::string& data, const NodeStat& stat) {
                   done({.code = code, .text = data, .stat = stat});
                 });
  });
}

std::vector<NodeAnswer> ClientConsole::access(const std::vector<std::string>& paths) {
  connect();
  return collect<Answers>(paths.size(), patience_, place_, [&](std::size_t i, auto done) {
    client_->access(paths[i], [done](Code code, bool open_to_all) {
      done({.code = code, .open_to_all = open_to_all});
    });
  });
}

void ClientConsole::sync() {
  connect();
  collect<Answers>(1, patience_, place_, [&](std::size_t, auto done) {
    client_->sync([done](Code code) { done({.code = code}); });
  });
}

}  // namespace simba::zookeeper
