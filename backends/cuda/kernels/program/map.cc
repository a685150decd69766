// Maps: every element on its own.
#include <algorithm>

#include "kernels/program/engines.h"

namespace infini::cuda::program {

Source begin_source(const char *file, const Phase &phase, const Composer &composer) {
    Source source(file);
    if (phase.rough) source.line("#define INFINI_ROUGH " + std::to_string(phase.rough));
    source.type("Index", composer.is_wide_index() ? "int64_t" : "int32_t");
    source.include("functions.cuh");
    source.include("program/values.cuh");
    return source;
}

namespace {

constexpr int kThreads = 256;

// With few elements every thread has one vector; with many so many that 64 bytes are on their way.
int choose_unroll(const Phase &phase, const Composer &composer, int width) {
    const int64_t threads = int64_t(phase.device.multiprocessors) * 2048;
    if (phase.layout.rows / width < 2 * threads) return 1;
    const int bytes = std::max(1, composer.dense_bytes() * width);
    return bytes >= 64 ? 1 : bytes >= 32 ? 2 : 4;
}

}  // namespace

Launches plan_map(Phase &phase) {
    Composer composer(phase.layout, phase.program, Direction::kMap);
    if (const int turned = composer.turned_dimension(); turned >= 0)
        return plan_tiles(phase, turned);
    Launches launches;
    const int width = composer.choose_width(16), unroll = choose_unroll(phase, composer, width);
    Launch launch;
    ParameterText members;
    members.add("int64_t", "count", phase.layout.rows);
    launch.wide = int32_t(members.add("int32_t", "wide", int32_t(1)));
    composer.add_members(members, launch, width);
    Source source = begin_source("program/map.cuh", phase, composer);
    source.line(members.text()).line(composer.prologue(width)).line(composer.map_text());
    source.constant("kThreads", kThreads).constant("kUnroll", unroll);
    launch.parameters = members.bytes();
    launch.threads = kThreads;
    const int64_t per_block = int64_t(kThreads) * unroll * width;
    launch.grid = Grid((phase.layout.rows + per_block - 1) / per_block);
    launch.code = std::make_shared<Code>(std::move(source));
    launches.usual.push_back(std::move(launch));
    return launches;
}

}  // namespace infini::cuda::program
