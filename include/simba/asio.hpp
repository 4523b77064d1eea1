#pragma once

/// Locks for programs that use standalone Asio, 1.22 or later: `simba::async_lock` and what else is
/// declared in client/asio_functions.ipp. There is nothing more to link: this header uses the Asio
/// that your program has. For Boost.Asio there is simba/boost_asio.hpp; a program can use both.

#include <asio/version.hpp>
#if ASIO_VERSION < 102200
#error "simba/asio.hpp needs Asio 1.22 or later"
#endif

#include <atomic>
#include <concepts>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include <asio/associated_allocator.hpp>
#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/error.hpp>
#include <asio/error_code.hpp>
#include <asio/execution/context.hpp>
#include <asio/execution/context_as.hpp>
#include <asio/execution/executor.hpp>
#include <asio/execution/outstanding_work.hpp>
#include <asio/execution_context.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/post.hpp>
#include <asio/prefer.hpp>
#include <asio/query.hpp>
#include <asio/system_executor.hpp>
#if __has_include(<asio/associated_immediate_executor.hpp>)
#include <asio/associated_immediate_executor.hpp>
#include <asio/dispatch.hpp>
#endif

#include "simba/client/client.hpp"
#include "simba/client/completion.hpp"
#include "simba/core/error.hpp"
#include "simba/core/executor.hpp"

namespace simba {

namespace detail {

using AsioErrorCode = asio::error_code;

/// For what has completed inside its initiating function.
template <class Handler, class Executor, class Call>
void call_immediately([[maybe_unused]] const Handler& handler, const Executor& executor,
                      Call call) {
#if __has_include(<asio/associated_immediate_executor.hpp>)
  const auto immediate = asio::get_associated_immediate_executor(handler, executor);
  asio::dispatch(immediate, std::move(call));
#else
  asio::post(executor, std::move(call));
#endif
}

}  // namespace detail

#include "simba/client/asio_functions.ipp"

}  // namespace simba
