#include "mysql/admin/inspector.hpp"

#include <utility>

#include "mysql/admin/examination.hpp"
#include "mysql/answer.hpp"
#include "mysql/errors.hpp"
#include "mysql/statements.hpp"
#include "simba/core/error.hpp"

namespace simba::mysql {

MySqlInspector::MySqlInspector(Settings checked, std::chrono::milliseconds connect_timeout)
    : settings_{std::move(checked)}, connect_timeout_{connect_timeout} {}

void MySqlInspector::connect() {
  if (connection_ && connection_->alive()) return;
  connection_ = std::make_unique<Connection>(settings_);
  connection_->begin_connect();
  Reply reply = connection_->finish(sql::real_now() + connect_timeout_, never_raised_);
  if (!reply.refusal) {
    connection_->begin_query(
        statements::set_up(connection_->mariadb(), false, settings_.statement_timeout));
    reply = connection_->finish(sql::real_now() + connect_timeout_, never_raised_);
  }
  if (reply.refusal) {
    connection_.reset();
    throw to_error(settings_, *reply.refusal, Phase::connecting);
  }
}

Reply MySqlInspector::ask(std::string_view text) {
  connect();
  connection_->begin_query(text);
  return connection_->finish(sql::real_now() + settings_.statement_timeout, never_raised_);
}

bool MySqlInspector::has_table() {
  const Reply view = ask(statements::look_for_view());
  if (view.refusal) throw to_error(settings_, *view.refusal, Phase::asking);
  if (!answer::last(view).rows.empty()) throw view_in_place_of_table(settings_);
  const Reply reply = ask(statements::look_for_table());
  if (!reply.refusal) return true;
  if (reply.refusal->code == table_missing) return false;
  throw to_error(settings_, *reply.refusal, Phase::asking);
}

void MySqlInspector::read_names(const std::function<void(std::string name)>& add) {
  const Reply reply = ask("SELECT mutex FROM simba_mutex");
  if (reply.refusal) throw to_error(settings_, *reply.refusal, Phase::asking);
  for (const auto& row : answer::last(reply).rows) {
    if (row.empty()) continue;
    const StatementResult::Value& name = row.front();
    if (name) add(*name);
  }
}

engine::StoreReport MySqlInspector::examine() {
  connect();
  return Examination{settings_,
                     {.mariadb = connection_->mariadb(), .connection = connection_->number()},
                     [this](std::string_view statements) { return ask(statements); }}
      .run();
}

}  // namespace simba::mysql
