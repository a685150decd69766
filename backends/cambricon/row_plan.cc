// Runs a row. Descriptors are created with the plan; memory is passed to each call.
#include <algorithm>

#include "backends/cambricon/handle.h"
#include "backends/cambricon/operators.h"

namespace infini::vendor_runtime::cambricon {

extern const OperatorRow kRows[];
extern const int kRowCount;

namespace {

// A descriptor of an operator.
class ObjectHandle {
public:
    ObjectHandle(const Object &object) : object_(object) {
        using Create = int (*)(Handle *);
        good(need<Create>(object.create)(&handle_), object.create);
    }
    ~ObjectHandle() {
        if (handle_) need<int (*)(Handle)>(object_.destroy)(handle_);
    }
    ObjectHandle(const ObjectHandle &) = delete;
    ObjectHandle &operator=(const ObjectHandle &) = delete;
    operator Handle() const { return handle_; }

private:
    const Object &object_;
    Handle handle_ = nullptr;
};

const float *host_float(double value) {
    static constexpr float kValues[] = {-1, 0, 1};
    return &kValues[int(value) + 1];
}

class LibraryRow final : public RowPlan {
public:
    LibraryRow(int device, const Operation &operation, const OperatorRow &row)
        : RowPlan(device, operation, row), shared_(Shared::of(device)) {
        std::lock_guard guard(shared_.lock);
        for (int i = 0; i < tensors_.count(); ++i)
            if (const Shape &shape = tensors_.shape(i); shape && type_of(shape.dtype) >= 0)
                descriptors_.push_back(std::make_unique<Descriptor>(shape));
            else
                descriptors_.push_back(nullptr);
        for (const Object &object : row.objects) {
            auto made = std::make_unique<ObjectHandle>(object);
            Call call;
            call.pointer(*made);
            for (const Piece &piece : object.arguments) add_plain(call, piece, numbers_, tensors_);
            good(call(need_symbol(object.set)), object.set);
            objects_.push_back(std::move(made));
        }
        for (const Step &step : row.steps) {
            if (has_nothing(step, tensors_)) continue;
            functions_.push_back({&step, need_symbol(step.function), 0});
            if (!step.workspace_function) continue;
            size_t &bytes = functions_.back().bytes;
            const Call call = prepare(step.workspace_arguments, nullptr, 0, &bytes);
            good(call(need_symbol(step.workspace_function)), step.workspace_function);
            most_ = std::max(most_, bytes);
        }
        set_workspace(most_);
    }

    int run_steps(void *stream, const Arguments &arguments, const char **call) const override {
        std::lock_guard guard(shared_.lock);
        if (int code = shared_.use(stream)) return code;
        for (const Function &function : functions_) {
            *call = function.step->function;
            size_t ignored = 0;
            const Call made =
                prepare(function.step->arguments, &arguments, function.bytes, &ignored);
            if (int code = made(function.address)) return code;
        }
        return 0;
    }

private:
    struct Function {
        const Step *step;
        void *address;
        size_t bytes;  // of its workspace
    };

    Call prepare(const std::initializer_list<Piece> &pieces, const Arguments *arguments,
                 size_t bytes, size_t *bytes_out) const {
        Call call;
        for (const Piece &piece : pieces) {
            if (add_plain(call, piece, numbers_, tensors_)) continue;
            if (piece.kind == Piece::kHandle)
                call.pointer(shared_.handle);
            else if (piece.kind == Piece::kObject)
                call.pointer(*objects_[size_t(piece.index)]);
            else if (piece.kind == Piece::kHostFloat)
                call.pointer(host_float(piece.constant));
            else if (piece.kind == Piece::kWorkspace)
                call.pointer(bytes ? workspace_of(*arguments) : nullptr);
            else if (piece.kind == Piece::kWorkspaceBytes)
                call.word(bytes);
            else if (piece.kind == Piece::kBytesOut)
                call.pointer(bytes_out);
            else if (piece.kind == Piece::kData)
                call.pointer(tensors_.shape(piece.index) ? tensors_.data(piece.index, *arguments)
                                                         : nullptr);
            else
                call.pointer(descriptors_[size_t(piece.index)]
                                 ? Handle(*descriptors_[size_t(piece.index)])
                                 : nullptr);
        }
        return call;
    }

    Shared &shared_;
    std::vector<std::unique_ptr<Descriptor>> descriptors_;
    std::vector<std::unique_ptr<ObjectHandle>> objects_;
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

}  // namespace infini::vendor_runtime::cambricon
