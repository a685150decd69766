// Runs a row: each aclnn function in two steps. The first is also called when the plan is made,
// with tensors without data, to get the workspace size.
#include <algorithm>

#include "backends/ascend/objects.h"
#include "backends/ascend/operators.h"

namespace infini::vendor_runtime::ascend {

extern const OperatorRow kRows[];
extern const int kRowCount;

namespace {

class LibraryRow final : public RowPlan {
public:
    LibraryRow(int device, const Operation &operation, const OperatorRow &row)
        : RowPlan(device, operation, row) {
        for (const Step &step : row.steps) {
            if (has_nothing(step, tensors_)) continue;
            const std::string size = std::string(step.function) + "GetWorkspaceSize";
            functions_.push_back({&step, need_symbol(size.c_str()), need<Run>(step.function)});
        }
        for (const Function &function : functions_) {
            Objects objects;
            uint64_t bytes = 0;
            aclOpExecutor *executor = nullptr;
            if (int code = prepare(function, nullptr, &objects, &bytes, &executor))
                throw Refusal{INFINI_STATUS_INTERNAL_ERROR,
                              std::string(operation.name()) + ": " + function.step->function +
                                  "GetWorkspaceSize returned " + std::to_string(code)};
            most_ = std::max(most_, size_t(bytes));
        }
        set_workspace(most_);
    }

    int run_steps(void *stream, const Arguments &arguments, const char **call) const override {
        constexpr int kWorkspaceGrew = 561103;  // an inner error of aclnn
        for (const Function &function : functions_) {
            *call = function.step->function;
            Objects objects;
            uint64_t bytes = 0;
            aclOpExecutor *executor = nullptr;
            if (int code = prepare(function, &arguments, &objects, &bytes, &executor)) return code;
            if (bytes > most_) return kWorkspaceGrew;
            void *own = bytes ? workspace_of(arguments) : nullptr;
            if (int code = function.run(own, bytes, executor, stream)) return code;
        }
        return 0;
    }

private:
    struct Function {
        const Step *step;
        void *size;
        Run run;
    };
    // Alive for the duration of one function.
    struct Objects {
        std::vector<TensorObject> tensors;
        std::vector<ScalarObject> scalars;
        std::vector<ListObject> lists;
    };

    int prepare(const Function &function, const Arguments *arguments, Objects *objects,
                uint64_t *bytes, aclOpExecutor **executor) const {
        Call call;
        for (const Piece &piece : function.step->arguments) {
            if (add_plain(call, piece, numbers_, tensors_)) continue;
            if (piece.kind == Piece::kScalar)
                call.pointer(objects->scalars.emplace_back(float(piece.constant)));
            else if (piece.kind == Piece::kWhole)
                call.pointer(objects->scalars.emplace_back(int64_t(piece.constant)));
            else if (piece.kind == Piece::kLastIndex)
                call.pointer(objects->scalars.emplace_back(
                    numbers_.last_index(piece, tensors_.shape(piece.index))));
            else if (piece.kind == Piece::kType)
                call.word(uintptr_t(type_of(tensors_.shape(piece.index).dtype)));
            else if (piece.kind == Piece::kLastSizes)
                call.pointer(
                    objects->lists.emplace_back(std::vector<int64_t>{last_size(piece.index)}));
            else if (const Shape &shape = tensors_.shape(piece.index))
                call.pointer(objects->tensors.emplace_back(
                    shape, arguments ? tensors_.data(piece.index, *arguments) : nullptr));
            else
                call.word(0);
        }
        call.pointer(bytes);
        call.pointer(executor);
        return call(function.size);
    }

    int64_t last_size(int index) const {
        const Shape &shape = tensors_.shape(index);
        return shape.size[shape.ndim - 1];
    }

    std::vector<Function> functions_;
    size_t most_ = 0;
};

}  // namespace

bool has_row(const Operation &operation) { return find_row(kRows, kRowCount, operation); }

std::unique_ptr<LibraryPlan> plan_row(int device, const Operation &operation) {
    return std::make_unique<LibraryRow>(device, operation, *find_row(kRows, kRowCount, operation));
}

const char *operator_doubts() {
    static const std::string &text = *new std::string(doubts_of(kRows, kRowCount));
    return text.c_str();
}

}  // namespace infini::vendor_runtime::ascend
