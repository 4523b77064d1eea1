#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>

#include "engine/contention_machine.hpp"
#include "simba/engine/contention_options.hpp"
#include "simba/engine/lease_store.hpp"

namespace simba::engine {

struct Look {
  std::uint64_t id = 0;
  LocalTime sent_at{};  ///< from before it was sent
};
struct Looked {
  Look look;
  LeaseAnswer answer;
};

using RetrievalEvent = std::variant<Start, Stop, Tick, Looked, Noticed>;

/// What is to be done after a step.
struct RetrievalActions {
  std::optional<OwnerView> observed;  ///< publish if it is somebody else than before
  std::optional<Error> failed;        ///< log it
  std::optional<Look> look;           ///< ask the store
};

/// An observer of one mutex, without threads, clock or I/O. It looks when told of a change, when
/// the owner's lease would end, but at least once per lease of the plan, and now and then while
/// nobody owns the mutex.
///
/// Threads: steps must not overlap.
class RetrievalMachine {
 public:
  RetrievalMachine(std::shared_ptr<const ContentionPlan> plan, std::shared_ptr<Random> random);

  RetrievalActions step(const RetrievalEvent& event, LocalTime now);

  /// When to step with `Tick` unless something else happens first.
  LocalTime wake_at() const noexcept;

 private:
  void on(const Start& event, LocalTime now, RetrievalActions& actions);
  void on(const Stop& event, LocalTime now, RetrievalActions& actions);
  void on(const Tick& event, LocalTime now, RetrievalActions& actions);
  void on(const Looked& event, LocalTime now, RetrievalActions& actions);
  void on(const Noticed& event, LocalTime now, RetrievalActions& actions);
  void observe(const LeaseRecord& record, LocalTime counted_from, LocalTime now,
               RetrievalActions& actions);
  void failed(const Error& error, LocalTime now, RetrievalActions& actions);

  // constant after construction
  const std::shared_ptr<const ContentionPlan> plan_;
  const std::shared_ptr<Random> random_;

  bool wanted_ = false;
  std::uint64_t looks_ = 0;
  std::optional<Look> in_flight_;
  LocalTime next_look_ = never;
  bool hinted_ = false;  // something changed while a look was in flight
  int failures_ = 0;     // in a row
};

}  // namespace simba::engine
