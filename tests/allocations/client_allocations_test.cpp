// What the locks of a client take of memory and threads. Replaces operator new, and so is a program
// of its own.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <malloc.h>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <asio/bind_executor.hpp>
#include <asio/error_code.hpp>
#include <asio/io_context.hpp>
#include <gtest/gtest.h>

#include "simba/asio.hpp"
#include "simba/core/runtime.hpp"
#include "simba/engine/lease_service_factory.hpp"
#include "simba/memory/memory_factory.hpp"
#include "simba/memory/memory_store.hpp"
#include "simba/simba.hpp"
#include "unit/core/own_threads.hpp"

namespace {

std::atomic<std::size_t> allocations{0};
std::atomic<std::ptrdiff_t> bytes{0};

void* counted(void* memory) {
  if (memory == nullptr) throw std::bad_alloc{};
  ++allocations;
  bytes += static_cast<std::ptrdiff_t>(::malloc_usable_size(memory));
  return memory;
}

void freed(void* memory) noexcept {
  if (memory != nullptr) bytes -= static_cast<std::ptrdiff_t>(::malloc_usable_size(memory));
  std::free(memory);
}

}  // namespace

// The other forms call these.
void* operator new(std::size_t size) { return counted(std::malloc(size)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto unit = static_cast<std::size_t>(alignment);
  return counted(std::aligned_alloc(unit, (size + unit - 1) / unit * unit));
}
void operator delete(void* memory) noexcept { freed(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { freed(memory); }
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept { freed(memory); }
void operator delete(void* memory, std::size_t /*size*/, std::align_val_t /*alignment*/) noexcept {
  freed(memory);
}

namespace simba {
namespace {

using namespace std::chrono_literals;

class ClientAllocations : public ::testing::Test {
 protected:
  Client make_client() {
    return Client{std::make_shared<engine::LeaseServiceFactory>(store_, runtime_)};
  }

  const std::shared_ptr<const Runtime> runtime_ = make_runtime();
  const std::shared_ptr<memory::MemoryStore> store_ =
      std::make_shared<memory::MemoryStore>(runtime_->clock);
  asio::io_context context_;
};

TEST_F(ClientAllocations, TenThousandWaitsOfOneThreadNeedTenThreadsAndFourKibibytesEachAtMost) {
  constexpr int waits = 10'000;
  const Client holder = make_client();
  const Client waiter = make_client();
  std::vector<std::string> names;
  std::vector<Lock> held;
  for (int i = 0; i < waits; ++i) {
    names.push_back("order-" + std::to_string(i));
    held.push_back(holder.lock(names.back()));
  }
  int granted = 0;
  const std::ptrdiff_t before = bytes;
  for (const std::string& name : names) {
    async_lock(waiter, name, {.wait = 1h},
               asio::bind_executor(context_, [&](asio::error_code code, const Lock& lock) {
                 if (!code && lock) ++granted;
               }));
  }
  const std::ptrdiff_t each = (bytes - before) / waits;
  RecordProperty("bytes_of_a_wait", std::to_string(each));
  EXPECT_LE(each, 4096);
  EXPECT_LE(test::threads_named("simba-") - test::threads_named("simba-alloc"), 9)
      << "and that of the test";
  held.clear();
  context_.run();
  EXPECT_EQ(granted, waits);
}

TEST_F(ClientAllocations, AnUncontendedLockAndUnlockAllocateTenTimesAtMost) {
  constexpr std::size_t pairs = 1'000;
  const Client client = make_client();
  const auto lock_and_unlock = [&] {
    bool done = false;
    async_lock(client, "order", {}, asio::bind_executor(context_, [&](asio::error_code, Lock lock) {
                 async_unlock(
                     std::move(lock),
                     asio::bind_executor(context_, [&](asio::error_code code) { done = !code; }));
               }));
    context_.restart();
    context_.run();
    return done;
  };
  for (std::size_t i = 0; i < pairs; ++i) ASSERT_TRUE(lock_and_unlock());
  const std::size_t before = allocations;
  for (std::size_t i = 0; i < pairs; ++i) ASSERT_TRUE(lock_and_unlock());
  const std::size_t each = (allocations - before) / pairs;
  RecordProperty("allocations_of_a_pair", std::to_string(each));
  EXPECT_LE(each, 10U);
}

}  // namespace
}  // namespace simba
