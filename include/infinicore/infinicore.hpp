// All of infinicore's C++ interface, at the path inside its folder.
#pragma once

#include "../infinicore.hpp"
