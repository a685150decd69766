// Elementwise maps.
#include <infini/expression.h>

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

// Blocks with few vectors use memory bandwidth best, because the scheduler can start the next one
// while another waits. But starting a block takes time, too: each thread should load at least 32
// bytes, as it does for an operator with two inputs. Slow functions need two vectors per thread to
// hide latency.
struct BlockShape {
    int threads = 128, unroll = 1;
};
BlockShape choose_block(const Phase &phase, int loaded_bytes) {
    constexpr int kLong = 10, kLoaded = 32, kMostUnroll = 4;
    int cost = 0;
    for (const Stage &stage : phase.nest.stages)
        cost += expression_of(phase.program, stage.number).cost;
    BlockShape shape{128, cost >= kLong ? 2 : 1};
    while (shape.unroll * loaded_bytes < kLoaded && shape.unroll < kMostUnroll) shape.unroll *= 2;
    return shape;
}

}  // namespace

Launches plan_map(Phase &phase) {
    Composer composer(phase.nest, phase.program, Direction::kMap);
    if (const int turned = composer.turned_dimension(); turned >= 0)
        return plan_tiles(phase, turned);
    Launches launches;
    const int width = composer.choose_width(16);
    const BlockShape block = choose_block(phase, composer.dense_bytes() * width);
    Launch launch;
    ParameterText members;
    members.add("int64_t", "count", phase.nest.rows);
    launch.wide = int32_t(members.add("int32_t", "wide", int32_t(1)));
    composer.add_members(members, launch, width);
    Source source = begin_source("program/map.cuh", phase, composer);
    source.line(members.text()).line(composer.prologue(width)).line(composer.map_text());
    source.constant("kThreads", block.threads).constant("kUnroll", block.unroll);
    launch.parameters = members.bytes();
    launch.threads = unsigned(block.threads);
    const int64_t per_block = int64_t(block.threads) * block.unroll * width;
    launch.grid = Grid((phase.nest.rows + per_block - 1) / per_block);
    launch.code = std::make_shared<Code>(std::move(source));
    launches.usual.push_back(std::move(launch));
    return launches;
}

}  // namespace infini::cuda::program
