#pragma once

#include <array>
#include <cerrno>
#include <future>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>

namespace simba::support {

/// Runs the action on a thread of its own to which the permissions of files apply, as they do not
/// to root.
template <class Action>
auto with_ordinary_rights(const Action& action) {
  return std::async(std::launch::async,
                    [&] {
                      __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3,
                                                      .pid = 0};
                      std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> rights{};
                      constexpr auto files = (1U << CAP_DAC_OVERRIDE) | (1U << CAP_DAC_READ_SEARCH);
                      bool done = ::syscall(SYS_capget, &header, rights.data()) == 0;
                      rights[0].effective &= ~files;
                      rights[0].permitted &= ~files;
                      done = done && ::syscall(SYS_capset, &header, rights.data()) == 0;
                      if (!done) throw std::system_error{errno, std::generic_category(), "capset"};
                      return action();
                    })
      .get();
}

}  // namespace simba::support
