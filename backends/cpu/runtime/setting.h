// Numeric settings of the CPU back end from the environment.
#pragma once

#include "environment.h"

namespace infini::cpu {

constexpr NumberSetting kDeviceSetting{"INFINI_CPU_DEVICES", 1, 64};
constexpr NumberSetting kThreadSetting{"INFINI_NUM_THREADS", 1, 1024};

}  // namespace infini::cpu
