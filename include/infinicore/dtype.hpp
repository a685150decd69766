// Element types under the first generation's path.
#pragma once

#include "types.hpp"
