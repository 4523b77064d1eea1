#include "engine/joint_block.hpp"

#include <array>
#include <memory>
#include <optional>
#include <string>

#include <gtest/gtest.h>

namespace simba::engine {
namespace {

// What the memory of a block is still good for, AddressSanitizer and Valgrind see.
TEST(JointBlock, LastsAsLongAsAnythingInIt) {
  std::optional<JointBlock> block{std::in_place,
                                  JointBlock::room_of<std::string> + JointBlock::room_of<int>};
  auto text = block->make<std::string>(100, 'a');
  auto number = block->make<int>(7);
  const std::weak_ptr<int> weak = number;
  block.reset();
  number.reset();
  EXPECT_TRUE(weak.expired());
  EXPECT_EQ(*text, std::string(100, 'a'));
}

TEST(JointBlock, MakesWhatDoesNotFitElsewhere) {
  JointBlock block{64};
  const auto first = block.make<std::array<int, 100>>();
  const auto second = block.make<std::array<int, 100>>();
  first->fill(1);
  second->fill(2);
  EXPECT_EQ(first->back(), 1);
}

TEST(JointBlock, GivesBackTheRoomOfWhatCouldNotBeMade) {
  struct Failing {
    Failing() { throw std::string{"no"}; }
  };
  JointBlock block{JointBlock::room_of<Failing>};
  EXPECT_THROW(block.make<Failing>(), std::string);
}

}  // namespace
}  // namespace simba::engine
