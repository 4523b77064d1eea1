#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <semaphore>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <zookeeper/zookeeper.h>

#include "sql_bench.hpp"
#include "support/zookeeper/zookeeper_servers.hpp"

/// What the benchmarks of the ZooKeeper store compare it with: the bare C client.
namespace simba::bench {

/// Someone who takes a mutex and gives it back, one after the other.
class Contestant {
 public:
  virtual ~Contestant() = default;

  /// Returns when it has the mutex: the moment at which it heard so, see `nanoseconds_now`.
  virtual std::int64_t acquire() = 0;

  /// Returns when the mutex is free.
  virtual void release() = 0;
};

/// A leader latch with nothing around it: the asynchronous calls of the C client, made where the
/// answer to the one before has come, on the client's own thread. The same calls as those of Simba:
/// - to acquire: create2 and getChildren, both sent at once; then, for the first in the queue, get
///   with a watch on its own node, which nobody waits for;
/// - for the others: get with a watch on the node before, and getChildren when it is gone;
/// - to release: delete.
///
/// Any error ends the program. Threads: used by one thread at a time.
class RawLatch final : public Contestant {
 public:
  /// `mutex` is the path of a node that is there.
  RawLatch(const support::Location& at, std::string mutex) : mutex_{std::move(mutex)} {
    constexpr int session = 16'000;
    handle_ = ::zookeeper_init2(support::connect_string(at).c_str(), &on_event, session, nullptr,
                                this, ZOO_NO_LOG_CLIENTENV, [](const char* /*line*/) {});
    if (handle_ == nullptr) throw std::runtime_error{"no handle of the ZooKeeper client"};
    ::zoo_set_servers_resolution_delay(handle_, -1);  // else it looks up names at each request
    done_.acquire();
  }
  ~RawLatch() override { ::zookeeper_close(handle_); }
  RawLatch(const RawLatch&) = delete;
  RawLatch& operator=(const RawLatch&) = delete;

  std::int64_t acquire() override {
    check("create2",
          ::zoo_acreate2(handle_, prefix_.c_str(), id.data(), static_cast<int>(id.size()),
                         &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL_SEQUENTIAL, &on_created, this));
    list();
    done_.acquire();
    return led_at_;
  }

  void release() override {
    const auto on_deleted = [](int code, const void* latch) {
      check("delete", code);
      self(latch).done_.release();
    };
    check("delete", ::zoo_adelete(handle_, own_.c_str(), -1, on_deleted, this));
    done_.acquire();
  }

 private:
  static constexpr std::string_view id = "0:12345@127.0.0.1";

  static RawLatch& self(const void* latch) {
    // NOLINTNEXTLINE(*-const-cast): the interface of the library
    return *static_cast<RawLatch*>(const_cast<void*>(latch));
  }

  static void check(const char* what, int code) {
    if (code == ZOK) return;
    std::fprintf(stderr, "bare ZooKeeper client: %s: %s\n", what, zerror(code));
    std::abort();
  }

  static std::string_view sequence(std::string_view name) { return name.substr(name.size() - 10); }

  // ---- on the client's thread ----

  static void on_event(zhandle_t* /*handle*/, int type, int state, const char* path, void* latch) {
    RawLatch& me = self(latch);
    if (type == ZOO_SESSION_EVENT) {
      if (state != ZOO_CONNECTED_STATE) check("session", ZCONNECTIONLOSS);
      me.done_.release();
    } else if (type == ZOO_DELETED_EVENT && me.predecessor_ == path) {
      me.list();
    }
  }

  static void on_created(int code, const char* path, const Stat* /*stat*/, const void* latch) {
    check("create2", code);
    self(latch).own_ = path;
  }

  static void on_read(int code, const char* /*data*/, int /*length*/, const Stat* /*stat*/,
                      const void* latch) {
    if (code == ZNONODE) return self(latch).list();
    check("get", code);
  }

  void list() {
    const auto on_listed = [](int code, const String_vector* names, const void* latch) {
      check("getChildren", code);
      self(latch).listed(*names);
    };
    check("getChildren", ::zoo_aget_children(handle_, mutex_.c_str(), 0, on_listed, this));
  }

  void listed(const String_vector& names) {
    const std::string_view own = sequence(own_);
    const char* before = nullptr;
    for (std::int32_t i = 0; i < names.count; ++i) {
      const char* name = names.data[i];
      if (sequence(name) >= own) continue;
      if (before == nullptr || sequence(before) < sequence(name)) before = name;
    }
    if (before != nullptr) {
      predecessor_ = mutex_ + '/' + before;
      check("get", ::zoo_aget(handle_, predecessor_.c_str(), 1, &on_read, this));
      return;
    }
    led_at_ = nanoseconds_now();
    predecessor_.clear();
    const auto ignore = [](int, const char*, int, const Stat*, const void*) {};
    check("get", ::zoo_aget(handle_, own_.c_str(), 1, ignore, this));
    done_.release();
  }

  const std::string mutex_;
  const std::string prefix_ = mutex_ + "/_c_01234567-89ab-4cde-8f01-23456789abcd-latch-";
  zhandle_t* handle_ = nullptr;
  std::binary_semaphore done_{0};

  // of the client's thread until `done_` says so
  std::string own_;
  std::string predecessor_;
  std::int64_t led_at_ = 0;
};

}  // namespace simba::bench
