#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "simba/engine/lease_store.hpp"
#include "simba/testkit/fault.hpp"

namespace simba::testkit {

/// What a request to a store may be.
enum class Operation { acquire, guard, release, retrieve, watch };

class FaultNotices;

/// A store in front of another one that loses, delays and refuses as told. Without faults it passes
/// everything on.
///
/// A request meets the first fault of: the faults of its kind given by `next`, oldest first; the
/// fault given by `every`. For `watch` any fault means the same: the subscription is made at
/// `mend`.
///
/// Threads: every function may be called from any thread at the same time. Handlers are called with
/// no lock held: inside the request, or inside the function that lets an answer or notice through.
/// Errors: none of its own; InvalidArgumentError where the store to wrap is missing.
/// Lifetime: each request is answered exactly once, at the latest when this store is destroyed or
/// closed. A held handler that holds this store keeps it alive: then it takes a `close`.
class FaultStore final : public engine::LeaseStore {
 public:
  explicit FaultStore(std::shared_ptr<engine::LeaseStore> store);
  FaultStore(const FaultStore&) = delete;
  FaultStore& operator=(const FaultStore&) = delete;
  ~FaultStore() override;

  // ---- single requests ----

  /// The next `times` requests of this kind meet `fault`. Calls add up: after those of this call
  /// come those of the next one.
  void next(Operation operation, const Fault& fault, std::size_t times = 1);

  // ---- the whole connection ----

  /// Every request meets `fault` from now on; an answer that is under way meets it too.
  void every(const Fault& fault);

  /// The store is out of reach: requests fail as unavailable, notices are lost.
  void cut();

  /// The store is out of reach and nobody notices: requests are swallowed, notices are lost.
  void black_hole();

  /// Nothing moves: requests and notices are held.
  void freeze();

  /// Ends all faults, then settles what is open: delivers held answers, answers "in doubt" what was
  /// swallowed, delivers held notices, makes the subscriptions that are missing, and carries out
  /// held requests. Lost notices stay lost.
  void mend();

  /// Answers "in doubt" all that is open, and refuses every later request as unavailable.
  void close();

  // ---- what is held ----

  enum class Order { oldest_first, newest_first };

  /// Delivers answers held so far, at most `at_most`. Returns how many.
  std::size_t release_answers(Order order = Order::oldest_first,
                              std::size_t at_most = static_cast<std::size_t>(-1));

  /// Carries out requests held so far, at most `at_most`, and answers them. Returns how many.
  std::size_t release_requests(Order order = Order::oldest_first,
                               std::size_t at_most = static_cast<std::size_t>(-1));

  std::size_t held_answers() const;
  std::size_t held_requests() const;

  // ---- notices ----

  void drop_notices();
  void hold_notices();
  /// Lets notices through again, those held first.
  void pass_notices();

  /// Sends a notice of the test's own to everyone who watches `mutex`. No fault applies to it.
  void notify(const std::string& mutex, const engine::Notice& notice);

  // ---- what happened ----

  /// How many requests of this kind were made, whatever became of them.
  std::size_t count(Operation operation) const;

  /// How many notices the store behind has sent, whatever became of them.
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

 private:
  struct Call;
  class Line;

  void receive(Call call);
  void carry_out(Call call);

  const std::shared_ptr<engine::LeaseStore> store_;
  const std::shared_ptr<Line> line_;  // shared with answers under way
  const std::shared_ptr<FaultNotices> notices_;
};

}  // namespace simba::testkit
