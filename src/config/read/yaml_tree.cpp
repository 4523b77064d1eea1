#include "config/read/yaml_tree.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <sstream>
#include <yaml-cpp/anchor.h>
#include <yaml-cpp/emitterstyle.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <fmt/format.h>

#include "simba/core/error.hpp"

namespace simba::config {
namespace {

// Aliases of aliases can make a short text a huge tree.
constexpr std::size_t most_nodes = 100'000;

struct Refused {
  int line = 0;
  std::string why{};
};

int line_of(const YAML::Mark& mark) { return mark.line + 1; }

std::size_t count(const YamlNode& node) {
  std::size_t nodes = 1;
  for (const YamlNode& item : node.items) nodes += count(item);
  for (const YamlEntry& entry : node.entries) nodes += count(entry.value);
  return nodes;
}

bool has(const YamlNode& map, const std::string& key) {
  return std::any_of(map.entries.begin(), map.entries.end(),
                     [&](const YamlEntry& entry) { return entry.key == key; });
}

/// Takes the keys and values of a map one by one.
class Builder final : public YAML::EventHandler {
 public:
  YamlNode take() { return std::move(root_); }

  /// The line in which the last text begins.
  int last_text() const noexcept { return last_text_; }

  void OnDocumentStart(const YAML::Mark& /*mark*/) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    put({.kind = YamlNode::Kind::nothing, .line = line_of(mark)}, anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) {
      throw Refused{line_of(mark), "an alias (*) refers to a value that contains it"};
    }
    spend(count(found->second), line_of(mark));
    put(found->second, 0);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    last_text_ = line_of(mark);
    check_tag(mark, tag);
    put({.kind = YamlNode::Kind::text, .line = line_of(mark), .text = value}, anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    check_tag(mark, tag);
    open({.kind = YamlNode::Kind::list, .line = line_of(mark)}, anchor);
  }

  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    check_tag(mark, tag);
    open({.kind = YamlNode::Kind::map, .line = line_of(mark)}, anchor);
  }

  void OnMapEnd() override { close(); }

 private:
  /// A list or map whose end has not come yet.
  struct Open {
    YamlNode node{};
    YAML::anchor_t anchor = 0;
    std::optional<YamlEntry> entry{};  // whose value has not come yet
    std::vector<YamlNode> to_merge{};
  };

  /// A tag would change what a value means, which we do not do. "?" and "!" stand for none.
  static void check_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    throw Refused{line_of(mark), "tags (!) are not allowed"};
  }

  void spend(std::size_t nodes, int line) {
    nodes_ += nodes;
    if (nodes_ > most_nodes) throw Refused{line, "the document has too many values"};
  }

  void open(YamlNode node, YAML::anchor_t anchor) {
    spend(1, node.line);
    open_.push_back({.node = std::move(node), .anchor = anchor});
  }

  void close() {
    Open ended = std::move(open_.back());
    open_.pop_back();
    for (const YamlNode& map : ended.to_merge) merge(ended.node, map);
    put(std::move(ended.node), ended.anchor);
  }

  void put(YamlNode node, YAML::anchor_t anchor) {
    spend(1, node.line);
    if (anchor != 0) {
      spend(count(node), node.line);
      anchors_[anchor] = node;
    }
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = open_.back();
    if (parent.node.kind == YamlNode::Kind::list) {
      parent.node.items.push_back(std::move(node));
    } else if (!parent.entry) {
      if (node.kind != YamlNode::Kind::text) throw Refused{node.line, "a key must be a string"};
      parent.entry = YamlEntry{.key = node.text, .line = node.line};
    } else if (parent.entry->key == "<<") {
      note_merge(parent, parent.entry->line, std::move(node));
      parent.entry.reset();
    } else {
      parent.entry->value = std::move(node);
      parent.node.entries.push_back(std::move(*parent.entry));
      parent.entry.reset();
    }
  }

  static void note_merge(Open& parent, int line, YamlNode node) {
    std::vector<YamlNode> maps;
    if (node.kind == YamlNode::Kind::list) {
      maps = std::move(node.items);
    } else {
      maps.push_back(std::move(node));
    }
    for (YamlNode& map : maps) {
      if (map.kind != YamlNode::Kind::map) {
        throw Refused{line, "<< must be followed by a map or a list of maps"};
      }
      parent.to_merge.push_back(std::move(map));
    }
  }

  /// What the map has itself counts.
  static void merge(YamlNode& map, const YamlNode& other) {
    for (const YamlEntry& entry : other.entries) {
      if (!has(map, entry.key)) map.entries.push_back(entry);
    }
  }

  YamlNode root_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, YamlNode> anchors_;
  std::size_t nodes_ = 0;
  int last_text_ = 0;
};

/// yaml-cpp takes a quotation that is not closed for closed where the text ends with a line. It
/// does not where a comment follows, which else changes nothing.
bool ends_in_quotation(std::string_view text) {
  try {
    std::istringstream stream{std::string{text} + "\n#"};
    YAML::Parser parser{stream};
    Builder builder;
    parser.HandleNextDocument(builder);
  } catch (const YAML::Exception& error) {
    return error.msg == YAML::ErrorMsg::EOF_IN_SCALAR;
  } catch (const Refused&) {
    return false;
  }
  return false;
}

/// Without what the parser quotes of the text, which may be a password.
std::string_view without_quotation(std::string_view message) {
  return message.substr(0, message.find(':'));
}

void check_is_text(std::string_view text, std::string_view name) {
  int line = 1;
  for (const char c : text) {
    if (c == '\n') ++line;
    const bool control = (c >= 0 && c < ' ' && c != '\n' && c != '\r' && c != '\t') || c == '\x7f';
    if (control) {
      throw Error{
          ErrorKind::configuration,
          fmt::format("{}:{}: not a text file: it contains control characters", name, line)};
    }
  }
}

}  // namespace

std::string_view to_string(YamlNode::Kind kind) noexcept {
  switch (kind) {
    case YamlNode::Kind::nothing:
      return "nothing";
    case YamlNode::Kind::text:
      return "a string";
    case YamlNode::Kind::list:
      return "a list";
    case YamlNode::Kind::map:
      return "a map";
  }
  return "nothing";
}

YamlNode parse_yaml(std::string_view text, std::string_view name) {
  check_is_text(text, name);
  const auto refuse = [&](int line, std::string_view why) -> Error {
    return Error{ErrorKind::configuration, fmt::format("{}:{}: {}", name, line, why)};
  };
  try {
    std::istringstream stream{std::string{text}};
    YAML::Parser parser{stream};
    Builder builder;
    if (!parser.HandleNextDocument(builder)) return {};
    if (ends_in_quotation(text)) {
      throw Refused{builder.last_text(), "a quotation mark is not closed"};
    }
    YamlNode root = builder.take();
    Builder next;
    if (parser.HandleNextDocument(next)) {
      throw refuse(next.take().line, "only one document is allowed");
    }
    return root;
  } catch (const Refused& refused) {
    throw refuse(refused.line, refused.why);
  } catch (const YAML::Exception& error) {
    throw refuse(
        line_of(error.mark),
        fmt::format("invalid YAML: {}; put a value with special characters in quotation marks",
                    without_quotation(error.msg)));
  }
}

}  // namespace simba::config
