// Codes of int8: x / scale to the nearest integer, ties away from zero, from `low` to 127; NaN
// gives 0.
#pragma once

#include "int8_params.h"
#include "words.cuh"

namespace infini {

INFINI_DEVICE int8_t code_of(float x, float scale, float zero, float low) {
    float q = x / scale + zero;
    q = q < low ? low : q;
    q = q > 127.0f ? 127.0f : q;
    if (!(q == q)) return 0;
    const float whole = truncf(q), rest = q - whole;
    return int8_t(whole + (rest >= 0.5f ? 1.0f : rest <= -0.5f ? -1.0f : 0.0f));
}

INFINI_DEVICE float size_of(float x) { return x < 0 ? -x : x; }

}  // namespace infini
