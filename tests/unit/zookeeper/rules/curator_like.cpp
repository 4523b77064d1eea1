#include "unit/zookeeper/rules/curator_like.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "unit/zookeeper/rules/process.hpp"

namespace simba::zookeeper::rules {

std::int64_t sequence_of(const std::string& name) {
  const std::string mark = "latch-";
  const auto at = name.rfind(mark);
  return at == std::string::npos ? -1 : std::stoll(name.substr(at + mark.size()));
}

CuratorLike::CuratorLike(Network& network, std::string name, std::string mutex)
    : network_{network},
      host_{std::make_shared<Host>()},
      connector_{std::make_shared<SimConnector>(network, host_)},
      mutex_{std::move(mutex)},
      folder_{folder_of(mutex_)} {
  host_->name = std::move(name);
  host_->actor = std::make_shared<Actor>(network.world());
}

template <typename Function>
auto CuratorLike::mine(Function what) {
  return [weak = weak_from_this(), turn = turn_, what = std::move(what)](const auto&... values) {
    const auto self = weak.lock();
    if (self && self->turn_ == turn && self->running_) what(*self, values...);
  };
}

void CuratorLike::start() {
  id_ = host_->name + "-" + std::to_string(++lives_);
  network_.world().note(id_ + " starts");
  running_ = true;
  open();
}

void CuratorLike::stop() {
  network_.world().note(id_ + " stops");
  running_ = false;
  leads_ = false;
  path_.clear();
  ++turn_;
  std::exchange(client_, nullptr)->close();
}

void CuratorLike::open() {
  path_.clear();
  mark_ = fmt::format("{:016x}-", network_.world().next());
  client_ = connector_->connect([weak = weak_from_this(), life = lives_](const ClientEvent& event) {
    const auto self = weak.lock();
    if (self && self->running_ && self->lives_ == life) self->happened(event);
  });
}

void CuratorLike::happened(const ClientEvent& event) {
  if (std::holds_alternative<Connected>(event)) {
    begin_anew();
  } else if (std::holds_alternative<Disconnected>(event)) {
    leads_ = false;
    ++turn_;
  } else if (std::holds_alternative<Expired>(event)) {
    leads_ = false;
    ++turn_;
    client_->close();
    open();
  } else if (const auto* node = std::get_if<NodeEvent>(&event)) {
    if (node->path == before_) look();
  }
}

// Whatever it has created in this session is removed first.
void CuratorLike::begin_anew() {
  ++turn_;
  leads_ = false;
  path_.clear();
  client_->sync([](Code) {});
  client_->children(folder_, Watching::no,
                    mine([](CuratorLike& self, Code code, const std::vector<std::string>& names) {
                      if (code != Code::ok && code != Code::no_node) return;
                      for (const std::string& name : names) {
                        if (name.find(self.mark_) == std::string::npos) continue;
                        self.client_->remove(self.folder_ + "/" + name, [](Code) {});
                      }
                      self.create_parents();
                    }));
}

void CuratorLike::create_parents() {
  const auto ignore = [](Code, const std::string&, const NodeStat&) {};
  const auto kind =
      network_.ensemble().config().knows_containers ? NodeKind::container : NodeKind::persistent;
  client_->create(Tree::parent_of(folder_), "", kind, ignore);
  client_->create(folder_, "", kind, ignore);
  create();
}

void CuratorLike::create() {
  client_->create(fmt::format("{}/_c_{}{:016x}-latch-", folder_, mark_, network_.world().next()),
                  id_, NodeKind::ephemeral_sequential,
                  mine([](CuratorLike& self, Code code, const std::string& path, const NodeStat&) {
                    if (code == Code::no_node) self.create_parents();  // removed, being empty
                    if (code != Code::ok) return;
                    self.path_ = path;
                    self.waiting_since_ = self.network_.world().now();
                    self.look();
                  }));
}

void CuratorLike::look() {
  if (path_.empty()) return;
  client_->children(folder_, Watching::no,
                    mine([](CuratorLike& self, Code code, const std::vector<std::string>& names) {
                      if (code == Code::ok) self.looked(names);
                      if (code == Code::no_node) self.begin_anew();
                    }));
}

void CuratorLike::looked(const std::vector<std::string>& names) {
  const std::string own = path_.substr(folder_.size() + 1);
  if (std::find(names.begin(), names.end(), own) == names.end()) {
    begin_anew();
    return;
  }
  std::string before;
  for (const std::string& name : names) {
    if (sequence_of(name) >= sequence_of(own)) continue;
    if (before.empty() || sequence_of(name) > sequence_of(before)) before = name;
  }
  leads_ = before.empty();
  if (leads_) {
    network_.world().note(id_ + " leads");
    return;
  }
  before_ = folder_ + "/" + before;
  client_->get(before_, Watching::yes,
               mine([](CuratorLike& self, Code code, const std::string&, const NodeStat&) {
                 if (code == Code::no_node) self.look();
               }));
}

}  // namespace simba::zookeeper::rules
