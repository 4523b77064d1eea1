#include "core/threads/prompt_executor.hpp"

namespace simba {
namespace {

class InlineExecutor final : public detail::PromptExecutor {
 public:
  void execute(std::function<void()> task) override { task(); }

  bool is_inline() const noexcept override { return true; }

  // Every thread is one on which tasks run.
  bool running_in_this_thread() const noexcept override { return true; }
};

}  // namespace

std::shared_ptr<Executor> make_inline_executor() { return std::make_shared<InlineExecutor>(); }

}  // namespace simba
