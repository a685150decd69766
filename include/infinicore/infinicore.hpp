// All of infinicore's C++ interface, under its folder's path.
#pragma once

#include "../infinicore.hpp"
