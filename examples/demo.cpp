// Leader election on the in-memory store: three candidates, one graceful hand-over, one take-over
// after the leader has lost its connection. `make run` runs it.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "simba/core/abstract_mutex_contender.hpp"
#include "simba/engine/lease_service_factory.hpp"
#include "simba/memory/memory_store.hpp"

namespace {

using namespace std::chrono_literals;
using simba::LocalTime;

/// A connection to the store that can be cut: requests then fail and notices are lost.
class Cable : public simba::engine::LeaseStore {
 public:
  using Request = simba::engine::LeaseRequest;
  using Handler = simba::engine::AnswerHandler;

  explicit Cable(std::shared_ptr<LeaseStore> store) : store_{std::move(store)} {}

  void cut() { *cut_ = true; }

  simba::NameLimits name_limits() const noexcept override { return store_->name_limits(); }
  void acquire(const Request& request, Handler handler) override {
    if (connected(handler)) store_->acquire(request, std::move(handler));
  }
  void guard(const Request& request, Handler handler) override {
    if (connected(handler)) store_->guard(request, std::move(handler));
  }
  void release(const Request& request, simba::FencingToken token, Handler handler) override {
    if (connected(handler)) store_->release(request, token, std::move(handler));
  }
  void retrieve(const Request& request, Handler handler) override {
    if (connected(handler)) store_->retrieve(request, std::move(handler));
  }
  std::unique_ptr<simba::engine::Watch> watch(const Request& request,
                                              simba::engine::NoticeHandler handler) override {
    return store_->watch(request, [cut = cut_, handler = std::move(handler)](const auto& notice) {
      if (!*cut) handler(notice);
    });
  }

 private:
  bool connected(const Handler& handler) const {
    if (*cut_) handler(simba::Error{simba::ErrorKind::unavailable, "connection refused"});
    return !*cut_;
  }

  const std::shared_ptr<LeaseStore> store_;
  const std::shared_ptr<std::atomic<bool>> cut_ = std::make_shared<std::atomic<bool>>(false);
};

/// Prints what happens, with the time, and remembers who leads.
class Stage {
 public:
  explicit Stage(std::shared_ptr<const simba::Clock> clock)
      : clock_{std::move(clock)}, begin_{clock_->now()} {}

  void say(const std::string& line) {
    const std::lock_guard lock{mutex_};
    print(line);
  }

  void leads(const std::string& name, simba::FencingToken token) {
    const std::lock_guard lock{mutex_};
    print("  " + name + " leads, fencing token " + std::to_string(token));
    leaders_.push_back(name);
    if (leading_++ > 0) two_at_once_ = true;
    changed_.notify_all();
  }

  void steps_down(const std::string& name) {
    const std::lock_guard lock{mutex_};
    print("  " + name + " leads no longer");
    --leading_;
    changed_.notify_all();
  }

  /// The name of the `number`-th leader, counted from 1; empty when none came within 10 s.
  std::string leader(std::size_t number) {
    std::unique_lock lock{mutex_};
    changed_.wait_for(lock, 10s, [&] { return leaders_.size() >= number; });
    return leaders_.size() >= number ? leaders_[number - 1] : "";
  }

  LocalTime now() const { return clock_->now(); }

  bool two_at_once() {
    const std::lock_guard lock{mutex_};
    return two_at_once_;
  }

 private:
  void print(const std::string& line) {
    const std::chrono::duration<double> at = clock_->now() - begin_;
    std::printf("%7.3f s  %s\n", at.count(), line.c_str());
    std::fflush(stdout);
  }

  const std::shared_ptr<const simba::Clock> clock_;
  const LocalTime begin_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> leaders_;
  int leading_ = 0;
  bool two_at_once_ = false;
};

/// One candidate with a connection of its own, as if it were a process of its own.
class Candidate : public simba::AbstractMutexContender {
 public:
  Candidate(const std::string& name, Stage& stage,
            const std::shared_ptr<simba::memory::MemoryStore>& store,
            const std::shared_ptr<const simba::Runtime>& runtime,
            const simba::engine::ContentionOptions& options)
      : AbstractMutexContender{"demo-leader", name},
        stage_{stage},
        cable_{std::make_shared<Cable>(store)},
        factory_{cable_, runtime, options},
        service_{factory_.create_mutex_contend_service(*this)} {}

  ~Candidate() override { service_->close(); }
  Candidate(const Candidate&) = delete;
  Candidate& operator=(const Candidate&) = delete;

  simba::MutexContendService& service() { return *service_; }
  Cable& cable() { return *cable_; }

  void on_acquired(const simba::MutexState& state) override {
    stage_.leads(contender_id(), state.after().fencing_token());
  }
  void on_released(const simba::MutexState& /*state*/) override {
    stage_.steps_down(contender_id());
  }
  void on_event(const simba::ContentionEvent& event) override {
    if (std::holds_alternative<simba::RenewalFailed>(event) && !warned_.exchange(true)) {
      stage_.say("  " + contender_id() + " can not renew; tries on while the lease lasts");
    }
  }

 private:
  Stage& stage_;
  std::atomic<bool> warned_{false};
  const std::shared_ptr<Cable> cable_;
  simba::engine::LeaseServiceFactory factory_;
  const std::unique_ptr<simba::MutexContendService> service_;
};

std::string milliseconds_since(const Stage& stage, LocalTime begin) {
  const std::chrono::duration<double, std::milli> span = stage.now() - begin;
  char text[32];
  std::snprintf(text, sizeof text, "%.1f ms", span.count());
  return text;
}

}  // namespace

int main() {
  simba::RuntimeOptions runtime_options;
  runtime_options.log = simba::make_null_logger();  // the stage speaks
  const auto runtime = simba::make_runtime(runtime_options);
  const auto store = std::make_shared<simba::memory::MemoryStore>(runtime->clock);

  simba::engine::ContentionOptions options;
  options.ttl = 1s;
  options.transition = 500ms;
  std::printf("%s\n", simba::engine::describe(simba::engine::ContentionPlan{options}).c_str());

  Stage stage{runtime->clock};
  std::vector<std::unique_ptr<Candidate>> candidates;
  for (const char* name : {"ann", "ben", "cleo"}) {
    candidates.push_back(std::make_unique<Candidate>(name, stage, store, runtime, options));
  }
  const auto find = [&](const std::string& name) -> Candidate* {
    const auto found = std::find_if(candidates.begin(), candidates.end(),
                                    [&](const auto& c) { return c->contender_id() == name; });
    return found == candidates.end() ? nullptr : found->get();
  };

  stage.say("three candidates start");
  for (const auto& candidate : candidates) candidate->service().start();

  Candidate* first = find(stage.leader(1));
  if (first == nullptr) return 1;
  stage.say(first->contender_id() + " stops gracefully");
  const LocalTime stopped = stage.now();
  first->service().stop();
  Candidate* second = find(stage.leader(2));
  if (second == nullptr) return 1;
  stage.say("hand-over took " + milliseconds_since(stage, stopped));

  stage.say("the connection of " + second->contender_id() + " is cut");
  const LocalTime cut = stage.now();
  second->cable().cut();
  Candidate* third = find(stage.leader(3));
  if (third == nullptr) return 1;
  stage.say("take-over took " + milliseconds_since(stage, cut));

  for (const auto& candidate : candidates) candidate->service().close();
  stage.say(stage.two_at_once() ? "TWO LEADERS AT ONCE" : "never two leaders at once");
  return stage.two_at_once() ? 1 : 0;
}
