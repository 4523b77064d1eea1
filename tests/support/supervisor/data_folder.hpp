#pragma once

#include "support/supervisor/product.hpp"

namespace simba::support {

/// Makes `home.data()` as a copy of a template in the build folder, which the first caller makes;
/// making the data of a server anew takes seconds. Several processes may do so at once.
void provide_data(const Product& product, const Home& home, Caller& caller);

}  // namespace simba::support
