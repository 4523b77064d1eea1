#pragma once

/// Locks for programs that use Boost.Asio, of Boost 1.81 or later: `simba::boost_asio::async_lock`
/// and what else is declared in client/asio_functions.ipp. There is nothing more to link: this
/// header uses the Boost that your program has. For standalone Asio there is simba/asio.hpp; a
/// program can use both.
///
/// Codes of Simba compare equal to those of `make_error_code(ErrorKind)`, which are of `std`:
/// convert one to `std::error_code` to see its value and category.

#include <boost/version.hpp>
#if BOOST_VERSION < 108100
#error "simba/boost_asio.hpp needs Boost 1.81 or later"
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

#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution/context_as.hpp>
#include <boost/asio/execution/executor.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/system/error_code.hpp>
#if __has_include(<boost/asio/associated_immediate_executor.hpp>)
#include <boost/asio/associated_immediate_executor.hpp>
#include <boost/asio/dispatch.hpp>
#endif

#include "simba/client/client.hpp"
#include "simba/client/completion.hpp"
#include "simba/core/error.hpp"
#include "simba/core/executor.hpp"

namespace simba::boost_asio {

namespace asio = ::boost::asio;

namespace detail {

using AsioErrorCode = boost::system::error_code;

/// For what has completed inside its initiating function.
template <class Handler, class Executor, class Call>
void call_immediately([[maybe_unused]] const Handler& handler, const Executor& executor,
                      Call call) {
#if __has_include(<boost/asio/associated_immediate_executor.hpp>)
  const auto immediate = asio::get_associated_immediate_executor(handler, executor);
  asio::dispatch(immediate, std::move(call));
#else
  asio::post(executor, std::move(call));
#endif
}

}  // namespace detail

#include "simba/client/asio_functions.ipp"

}  // namespace simba::boost_asio
