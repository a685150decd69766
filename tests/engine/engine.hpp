// Greedy generation for several sequences at a time, on one rank or on several.
#pragma once

#include <infiniccl.h>

#include <infinicore/graph/graph.hpp>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model.hpp"
#include "worker.hpp"

namespace engine {

enum class Mode { Static, Paged, Graph };

constexpr size_t kBlockSize = 8;  // tokens in a block of the paged cache

using Tokens = std::vector<int64_t>;

// What is computed in one step: new tokens, and where those of each sequence stand.
struct Work {
    struct Entry {
        size_t sequence, past;
        Tokens tokens;
    };
    std::vector<Entry> entries;
    bool is_decode;
};

// Tensors of a decode step at addresses that a graph keeps, with the host arrays that it reads.
struct Recorded {
    Batch batch;
    std::vector<int32_t> lengths, tables;
    std::shared_ptr<infinicore::graph::Graph> graph;
    Tensor logits;
};

class RankState {
public:
    RankState(const Config &config, const Rank &rank, Mode mode, size_t sequences, size_t length)
        : device_(rank.device),
          mode_(mode),
          blocks_((length + kBlockSize - 1) / kBlockSize),
          sequences_(sequences),
          model_(std::make_shared<Model>(config, rank)) {
        const size_t heads = config.kv_heads / rank.count;
        if (mode == Mode::Static)
            cache_ = std::make_unique<StaticCache>(config.layers, sequences, heads, length,
                                                   config.head_dim, device_);
        else
            cache_ = std::make_unique<PagedCache>(config.layers, sequences * blocks_, heads,
                                                  kBlockSize, config.head_dim, device_);
    }

    Model &model() { return *model_; }
    size_t graph_count() const { return recorded_.size(); }

    // Logits of the last token of each entry.
    Tensor forward(const Work &work) {
        if (mode_ == Mode::Graph && work.is_decode) return replay(work);
        return model_->forward(batch_of(work), *cache_);
    }

    void record(size_t count) {
        auto recorded = std::make_unique<Recorded>();
        Work work{{}, true};
        for (size_t i = 0; i < count; ++i) work.entries.push_back({i, 0, {0}});
        recorded->batch = batch_of(work);
        recorded->lengths.assign(count, 1);
        recorded->tables.assign(count * blocks_, 0);
        model_->forward(recorded->batch, *cache_);  // nothing is made for the first time below
        infinicore::context::syncStream();

        infinicore::context::startGraphRecording();
        infinicore::graph::GraphTensor logits(model_->forward(recorded->batch, *cache_));
        recorded->graph = infinicore::context::stopGraphRecording();
        recorded->logits = logits->resume_from_blob_();
        recorded->graph->bind_host_int_array(recorded->batch.lengths, recorded->lengths.data(),
                                             recorded->lengths.size());
        recorded->graph->bind_host_int_array(recorded->batch.tables, recorded->tables.data(),
                                             recorded->tables.size());
        recorded_[count] = std::move(recorded);
    }

private:
    // Blocks of a sequence are spread over the pool.
    int32_t block(size_t sequence, size_t index) const {
        return int32_t(index * sequences_ + (sequence + index) % sequences_);
    }

    template <class T>
    Tensor put(const std::vector<T> &values, DataType dtype, infinicore::Shape shape = {}) const {
        if (shape.empty()) shape = {values.size()};
        auto *data = const_cast<T *>(values.data());
        Tensor made = Tensor::empty(shape, dtype, device_);
        made->copy_from(Tensor::from_blob(data, shape, dtype, infinicore::Device::cpu()));
        infinicore::context::syncStream();
        return made;
    }

    struct Arrays {
        Tokens tokens, positions, slots, last;
        std::vector<int32_t> past, lengths, starts{0}, tables;
    };

    Arrays arrays_of(const Work &work) const {
        Arrays made;
        for (const Work::Entry &entry : work.entries) {
            for (size_t i = 0; i < entry.tokens.size(); ++i) {
                const size_t at = entry.past + i;
                made.tokens.push_back(entry.tokens[i]);
                made.positions.push_back(int64_t(at));
                made.slots.push_back(int64_t(block(entry.sequence, at / kBlockSize)) *
                                         int64_t(kBlockSize) +
                                     int64_t(at % kBlockSize));
            }
            made.past.push_back(int32_t(entry.past));
            made.lengths.push_back(int32_t(entry.past + entry.tokens.size()));
            made.starts.push_back(int32_t(made.tokens.size()));
            made.last.push_back(int64_t(made.tokens.size()) - 1);
            for (size_t i = 0; i < blocks_; ++i) made.tables.push_back(block(entry.sequence, i));
        }
        return made;
    }

    Batch batch_of(const Work &work) const {
        Arrays arrays = arrays_of(work);
        Batch batch;
        batch.is_decode = work.is_decode;
        batch.sequence = work.entries.front().sequence;
        batch.tokens = put(arrays.tokens, DataType::I64);
        batch.positions = put(arrays.positions, DataType::I64);
        batch.slots = put(arrays.slots, DataType::I64);
        batch.past = put(arrays.past, DataType::I32);
        batch.lengths = put(arrays.lengths, DataType::I32);
        batch.starts = put(arrays.starts, DataType::I32);
        batch.tables = put(arrays.tables, DataType::I32, {work.entries.size(), blocks_});
        if (!work.is_decode) batch.last = put(arrays.last, DataType::I64);
        return batch;
    }

    Tensor replay(const Work &work) {
        auto found = recorded_.find(work.entries.size());
        if (found == recorded_.end())
            throw std::runtime_error("no graph was recorded for this batch size");
        Recorded &recorded = *found->second;
        Arrays arrays = arrays_of(work);
        recorded.batch.tokens->copy_from(put(arrays.tokens, DataType::I64));
        recorded.batch.positions->copy_from(put(arrays.positions, DataType::I64));
        recorded.batch.slots->copy_from(put(arrays.slots, DataType::I64));
        std::copy(arrays.lengths.begin(), arrays.lengths.end(), recorded.lengths.begin());
        std::copy(arrays.tables.begin(), arrays.tables.end(), recorded.tables.begin());
        recorded.graph->run();
        return recorded.logits;
    }

    infinicore::Device device_;
    Mode mode_;
    size_t blocks_, sequences_;  // blocks of each sequence
    std::shared_ptr<Model> model_;
    std::unique_ptr<Cache> cache_;
    std::map<size_t, std::unique_ptr<Recorded>> recorded_;  // by batch size
};

class Engine {
public:
    Engine(const Config &config, infinicore::Device::Type type, size_t ranks, Mode mode,
           size_t sequences, size_t length)
        : mode_(mode), communicators_(ranks, nullptr) {
        if (ranks > 1) {
            std::vector<int> devices;
            for (size_t i = 0; i < ranks; ++i) devices.push_back(int(i));
            if (infinicclCommInitAll(infiniDevice_t(type), communicators_.data(), int(ranks),
                                     devices.data()) != INFINI_STATUS_SUCCESS)
                throw std::runtime_error("infinicclCommInitAll failed");
        }
        for (size_t i = 0; i < ranks; ++i)
            workers_.push_back(std::make_unique<Worker>(infinicore::Device(type, i)));
        states_.resize(ranks);
        on_all([&](size_t i) {
            Rank rank{i, ranks, infinicore::Device(type, i), communicators_[i]};
            states_[i] = std::make_unique<RankState>(config, rank, mode, sequences, length);
        });
    }

    ~Engine() {
        on_all([&](size_t i) { states_[i].reset(); });
        workers_.clear();
        for (infinicclComm_t each : communicators_)
            if (each) infinicclCommDestroy(each);
    }

    std::vector<std::string> parameter_names() const {
        return states_[0]->model().state_dict_keys();
    }

    void load(const std::unordered_map<std::string, Tensor> &parameters) {
        on_all([&](size_t i) {
            states_[i]->model().load_parameters_no_sync(parameters);
            infinicore::context::syncStream();
        });
    }

    void record(size_t largest) {
        on_all([&](size_t i) {
            for (size_t count = largest; count > 0; --count) states_[i]->record(count);
        });
    }
    size_t graph_count() const { return states_[0]->graph_count(); }

    // counts[i] tokens after each prompt, and the logits that each step's tokens were chosen from.
    std::pair<std::vector<Tokens>, std::vector<Tensor>> generate(
        const std::vector<Tokens> &prompts, const std::vector<size_t> &counts) {
        std::vector<Tokens> made(prompts.size());
        std::vector<Tensor> logits;
        auto step = [&](const Work &work) {
            logits.push_back(forward(work));
            const Tokens chosen = choose(logits.back());
            for (size_t i = 0; i < chosen.size(); ++i)
                made[work.entries[i].sequence].push_back(chosen[i]);
        };
        Work prefill{{}, false};
        for (size_t i = 0; i < prompts.size(); ++i) {
            prefill.entries.push_back({i, 0, prompts[i]});
            if (mode_ != Mode::Static) continue;
            step(prefill);  // the rows of a static cache are filled one by one
            prefill.entries.clear();
        }
        if (mode_ != Mode::Static) step(prefill);
        for (;;) {
            Work decode{{}, true};
            bool unfinished = false;
            for (size_t i = 0; i < prompts.size(); ++i) {
                const bool wanted = made[i].size() < counts[i];
                unfinished |= wanted;
                // A static cache has its sequences side by side: all go on until the last is done.
                if (wanted || mode_ == Mode::Static)
                    decode.entries.push_back(
                        {i, prompts[i].size() + made[i].size() - 1, {made[i].back()}});
            }
            if (!unfinished) break;
            step(decode);
        }
        for (size_t i = 0; i < prompts.size(); ++i) made[i].resize(counts[i]);
        return {made, logits};
    }

private:
    Tensor forward(const Work &work) {
        Tensor logits;
        on_all([&](size_t i) {
            Tensor mine = states_[i]->forward(work);
            if (i == 0) {
                logits = Tensor::empty(mine->shape(), mine->dtype(), infinicore::Device::cpu());
                logits->copy_from(mine);
            }
            infinicore::context::syncStream();
        });
        return logits;
    }

    Tokens choose(const Tensor &logits) {
        Tokens chosen;
        workers_[0]
            ->run([&] {
                for (size_t i = 0; i < logits->size(0); ++i) {
                    Tensor index = Tensor::empty({}, DataType::I64, infinicore::Device::cpu());
                    infinicore::op::random_sample_(index, logits->narrow({{0, i, 1}})->squeeze(0),
                                                   0.0F, 0.0F, 1, 1.0F);
                    chosen.push_back(*reinterpret_cast<const int64_t *>(index->data()));
                }
            })
            .get();
        return chosen;
    }

    template <class Function>
    void on_all(Function function) {
        std::vector<std::future<void>> done;
        for (size_t i = 0; i < workers_.size(); ++i)
            done.push_back(workers_[i]->run([&function, i] { function(i); }));
        for (auto &each : done) each.wait();
        for (auto &each : done) each.get();
    }

    Mode mode_;
    std::vector<infinicclComm_t> communicators_;
    std::vector<std::unique_ptr<RankState>> states_;
    std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace engine
