// All of infinicore's C++ interface.
#pragma once

#include "infinicore/collectives.hpp"
#include "infinicore/context.hpp"
#include "infinicore/device_event.hpp"
#include "infinicore/graph.hpp"
#include "infinicore/io.hpp"
#include "infinicore/memory.hpp"
#include "infinicore/nn.hpp"
#include "infinicore/ops.hpp"
#include "infinicore/tensor.hpp"
#include "infinicore/types.hpp"
