// Element types at their first-generation path.
#pragma once

#include "types.hpp"
