// What a lock costs a request, as the spans of a trace: simba::Tracer. This one prints its spans;
// with OpenTelemetry, begins() would call StartSpan and ends() End, with the same names and
// attributes.
//
//   simba-example-tracing [URL of a store]

#include <atomic>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>

#include "simba/simba.hpp"
#include "store_url.hpp"

using namespace std::chrono_literals;

namespace {

using Milliseconds = std::chrono::duration<double, std::milli>;

struct SpanContext {
  std::uint64_t trace_id = 0;
  std::uint64_t span_id = 0;  // 0: none is active
};

/// The span that is active in this thread, as the tracing systems keep it.
thread_local SpanContext active;

/// Real ids are random.
std::uint64_t next_id() {
  static std::atomic<std::uint64_t> ids{0};
  return ++ids;
}

void print(const std::string& name, const SpanContext& span, std::uint64_t parent,
           Milliseconds took, const std::string& attributes) {
  static std::mutex mutex;
  const std::lock_guard lock{mutex};
  std::cout << "trace " << span.trace_id << ", span " << span.span_id << ", parent " << parent
            << ": " << name << ", " << took.count() << " ms" << attributes << std::endl;
}

/// Each stage of one lock is a span, whose parent is the span in which the lock was asked for.
class PrintedTrace final : public simba::Trace {
 public:
  PrintedTrace(std::string mutex, const SpanContext& parent)
      : mutex_{std::move(mutex)}, parent_{parent} {}

  void begins(const simba::TraceEvent& event) override {
    span_ = {.trace_id = parent_.trace_id, .span_id = next_id()};
    begun_at_ = event.at;
  }

  void ends(const simba::TraceEvent& event) override {
    std::ostringstream attributes;
    attributes << ", mutex " << mutex_;
    if (event.fencing_token != 0) attributes << ", token " << event.fencing_token;
    attributes << ", " << to_string(event.result);
    if (event.loss) attributes << " (" << to_string(*event.loss) << ")";
    print(std::string{to_string(event.stage)}, span_, parent_.span_id, event.at - begun_at_,
          attributes.str());
  }

 private:
  const std::string mutex_;
  const SpanContext parent_;
  SpanContext span_;
  std::chrono::system_clock::time_point begun_at_;
};

class PrintingTracer final : public simba::Tracer {
 public:
  // In the thread that asks for the lock. A contender id would be an attribute, too.
  std::unique_ptr<simba::Trace> trace(const std::string& mutex,
                                      const std::string& /*contender_id*/) override {
    if (active.span_id == 0) return nullptr;  // what no request asks for is not traced
    return std::make_unique<PrintedTrace>(mutex, active);
  }
};

void handle_request(const simba::Client& client) {
  const auto begun_at = std::chrono::system_clock::now();
  active = {.trace_id = next_id(), .span_id = next_id()};
  {
    const simba::Lock lock = client.lock("example-tracing", {.wait = 20s});
    // Here it would write, with lock.fencing_token().
  }
  print("request", active, 0, std::chrono::system_clock::now() - begun_at, "");
  active = {};
}

}  // namespace

int main(int argc, char** argv) try {
  const auto runtime = simba::make_runtime({.tracer = std::make_shared<PrintingTracer>()});
  const simba::Client client{store_url(argc, argv), {.runtime = runtime}};
  handle_request(client);
  return 0;  // the last spans are printed when the runtime ends
} catch (const simba::Error& error) {
  std::cerr << "simba-example-tracing: " << error.what() << std::endl;
  return 1;
}
