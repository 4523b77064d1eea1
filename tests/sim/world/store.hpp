#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "sim/checker.hpp"
#include "sim/world/network.hpp"
#include "simba/engine/lease_store.hpp"

namespace simba::sim {

/// "m2" is the mutex number 2.
std::string mutex_name(std::size_t number);

/// The client of one process: the port of the library onto the simulated network. It answers each
/// request once, with an error where the answer does not come in its own time.
class SimStore final : public engine::LeaseStore,
                       public Client,
                       public std::enable_shared_from_this<SimStore> {
 public:
  SimStore(Host& host, Network& network, Checker& checker, nanoseconds patience);
  ~SimStore() override;
  SimStore(const SimStore&) = delete;
  SimStore& operator=(const SimStore&) = delete;

  NameLimits name_limits() const noexcept override { return {}; }
  void acquire(const engine::LeaseRequest& request, engine::AnswerHandler handler) override;
  void guard(const engine::LeaseRequest& request, engine::AnswerHandler handler) override;
  void release(const engine::LeaseRequest& request, FencingToken token,
               engine::AnswerHandler handler) override;
  void retrieve(const engine::LeaseRequest& request, engine::AnswerHandler handler) override;
  std::unique_ptr<engine::Watch> watch(const engine::LeaseRequest& request,
                                       engine::NoticeHandler handler) override;

  MutexRecords* records() noexcept override { return &records_; }

  void noticed(std::uint64_t watch, Push::Kind kind, const Answer& answer) override;
  void broken() override;

  void unwatch(std::uint64_t watch);

  /// Requests without an answer.
  std::size_t pending() const noexcept { return pending_.size() + texts_.size(); }
  std::size_t watches() const noexcept { return watches_.size(); }

 private:
  /// The texts beside the mutexes.
  class Records final : public MutexRecords {
   public:
    explicit Records(SimStore& store) : store_{store} {}
    void read(const std::string& mutex, RecordHandler handler) override;
    void write(const RecordWrite& write, RecordHandler handler) override;

   private:
    SimStore& store_;
  };
  struct Pending {
    Call::Kind kind;
    std::string contender;
    std::uint64_t instance;
    FencingToken token;
    engine::AnswerHandler handler;
    LocalTime sent;        // by the local clock
    LocalTime sent_truly;  // for the checker
  };
  struct Subscription {
    std::size_t mutex;
    std::string contender;
    engine::NoticeHandler handler;
    bool wanted = true;
    bool settled = false;      // the server knows
    FencingToken granted = 0;  // the newest grant it was told of
  };
  /// The server's clock showed `server` at a moment that came after `local`.
  struct Sync {
    LocalTime local;
    ServerTime server;
  };

  void request(Call::Kind kind, const engine::LeaseRequest& request, FencingToken token,
               engine::AnswerHandler handler);
  void request(TextCall call, RecordHandler handler);
  bool refuses() const;
  void expect_answer(std::uint64_t id);
  void sweep();
  void answered(std::uint64_t id, const Answer& answer);
  void answered(std::uint64_t id, RecordAnswer answer);
  void failed(std::uint64_t id, ErrorKind kind, const char* what);
  void tell(std::uint64_t watch);
  void settled(std::uint64_t watch, bool wanted);
  LocalTime surely_before(ServerTime at) const;
  engine::LeaseRecord to_record(const Answer& answer) const;

  Host& host_;
  Network& network_;
  Checker& checker_;
  const nanoseconds patience_;
  std::uint64_t last_id_ = 0;
  Records records_{*this};
  std::map<std::uint64_t, Pending> pending_;
  std::map<std::uint64_t, RecordHandler> texts_;
  std::deque<std::pair<LocalTime, std::uint64_t>> deadlines_;  // of all requests, in order
  bool sweeping_ = false;
  std::map<std::uint64_t, Subscription> watches_;
  std::optional<Sync> sync_;
};

}  // namespace simba::sim
