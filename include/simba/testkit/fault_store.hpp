#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "simba/engine/lease_store.hpp"
#include "simba/testkit/fault.hpp"

namespace simba::testkit {

/// The kinds of requests to a store.
enum class Operation { acquire, guard, release, retrieve, watch, read_record, write_record };

class FaultNotices;

/// A store that wraps another one and loses, delays or rejects requests as told. Without faults it
/// passes everything on.
///
/// A request meets the oldest fault that `next` has set for its kind, otherwise the fault set by
/// `every`. For `watch` every fault means the same: the subscription is made at `mend`.
///
/// Threads: every function may be called concurrently from any thread. Handlers are called with
/// no lock held: inside the request, or inside the function that lets an answer or notice through.
/// Errors: none of its own, except InvalidArgumentError if the store to wrap is null.
/// Lifetime: each request is answered exactly once, at the latest when this store is destroyed or
/// closed. A held handler that owns a reference to this store keeps it alive: call `close` then.
class FaultStore final : public engine::LeaseStore {
 public:
  explicit FaultStore(std::shared_ptr<engine::LeaseStore> store);
  FaultStore(const FaultStore&) = delete;
  FaultStore& operator=(const FaultStore&) = delete;
  ~FaultStore() override;

  // ---- single requests ----

  /// The next `times` requests of this kind meet `fault`. Calls accumulate, in order.
  void next(Operation operation, const Fault& fault, std::size_t times = 1);

  // ---- the whole connection ----

  /// Every request meets `fault` from now on; so does an answer on its way.
  void every(const Fault& fault);

  /// The store is unreachable: requests fail as unavailable, notices are lost.
  void cut();

  /// The store is unreachable and nobody notices: requests are swallowed, notices are lost.
  void black_hole();

  /// Nothing moves: requests and notices are held.
  void freeze();

  /// Ends all faults, then settles what is open: delivers held answers, answers swallowed requests
  /// with "in doubt", delivers held notices, makes missing subscriptions, and executes held
  /// requests. Lost notices stay lost.
  void mend();

  /// Answers all open requests with "in doubt", and every later request with unavailable.
  void close();

  // ---- what is held ----

  enum class Order { oldest_first, newest_first };

  /// Delivers answers held so far, at most `at_most`. Returns how many.
  std::size_t release_answers(Order order = Order::oldest_first,
                              std::size_t at_most = static_cast<std::size_t>(-1));

  /// Executes requests held so far, at most `at_most`, and answers them. Returns how many.
  std::size_t release_requests(Order order = Order::oldest_first,
                               std::size_t at_most = static_cast<std::size_t>(-1));

  std::size_t held_answers() const;
  std::size_t held_requests() const;

  // ---- notices ----

  void drop_notices();
  void hold_notices();
  /// Lets notices through again, those held first.
  void pass_notices();

  /// Sends a notice to everyone who watches `mutex`. No fault applies to it.
  void notify(const std::string& mutex, const engine::Notice& notice);

  // ---- what happened ----

  /// How many requests of this kind were made, whatever happened to them.
  std::size_t count(Operation operation) const;

  /// How many notices the wrapped store has sent, whatever happened to them.
  std::size_t notices() const;

  // ---- LeaseStore ----

  NameLimits name_limits() const noexcept override;
  engine::OwnerWatch owner_watch() const noexcept override;
  void check_names(std::string_view mutex, std::string_view contender_id) const override;
  std::shared_ptr<void> attach() override;
  void acquire(const engine::LeaseRequest& request, engine::AnswerHandler handler) override;
  void guard(const engine::LeaseRequest& request, engine::AnswerHandler handler) override;
  void release(const engine::LeaseRequest& request, FencingToken token,
               engine::AnswerHandler handler) override;
  void retrieve(const engine::LeaseRequest& request, engine::AnswerHandler handler) override;
  std::unique_ptr<engine::Watch> watch(const engine::LeaseRequest& request,
                                       engine::NoticeHandler handler) override;
  /// Those of the wrapped store; null if it has none.
  MutexRecords* records() noexcept override;

 private:
  class Line;
  class Records;

  const std::shared_ptr<engine::LeaseStore> store_;
  const std::shared_ptr<Line> line_;  // shared with answers under way
  const std::shared_ptr<FaultNotices> notices_;
  const std::unique_ptr<MutexRecords> records_;
};

}  // namespace simba::testkit
