// A coroutine of a program with its own task type, and one on Asio.
#include <chrono>
#include <coroutine>
#include <exception>
#include <stop_token>
#include <string>
#include <utility>

#include <asio/awaitable.hpp>
#include <asio/use_awaitable.hpp>

#include "simba/asio.hpp"
#include "simba/simba.hpp"

using namespace std::chrono_literals;

struct Task {
  struct promise_type {
    Task get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

void write(simba::FencingToken token, std::stop_token lost);

// SNIPPET
