#include "program/native_fold.h"

#include <infini/expression.h>

#include <limits>

#include "convert.h"
#include "program/fold.h"
#include "program/fold_rows.h"
#include "types.h"

namespace infini::cpu::program {
namespace {

// A mask of the bits that make an element true: all bits except a float's sign.
template <class T>
struct Truth {
    using Storage = typename IntegerOf<sizeof(T)>::type;
    using U = std::make_unsigned_t<Storage>;
    template <class V>
    static V of(V x) {
        if constexpr (kIsFloat<T>)
            return V(x + x);
        else
            return x;
    }
};

struct Largest {
    template <class T>
    static constexpr T kStart = std::numeric_limits<T>::lowest();
    template <class V>
    static V combine(V a, V b) {
        return maximum(a, b);
    }
};
struct Smallest {
    template <class T>
    static constexpr T kStart = std::numeric_limits<T>::max();
    template <class V>
    static V combine(V a, V b) {
        return minimum(a, b);
    }
};

template <class T, class Which>
struct Extreme {
    using S = T;
    static constexpr T kStart = Which::template kStart<T>;
    template <class V>
    static V combine(V a, V b) {
        return Which::combine(a, b);
    }
    template <class V>
    static V read(V x) {
        return x;
    }
    template <class C>
    static C value(T state) {
        return C(state);
    }
};

// The state has a bit set if any element had one.
template <class T>
struct Any {
    using S = typename Truth<T>::U;
    static constexpr S kStart = 0;
    template <class V>
    static V combine(V a, V b) {
        return V(a | b);
    }
    template <class V>
    static V read(V x) {
        return Truth<T>::of(x);
    }
    template <class C>
    static C value(S state) {
        return C(state != 0);
    }
};

// The state is the minimum of these bits over all elements.
template <class T>
struct All {
    using S = typename Truth<T>::U;
    static constexpr S kStart = S(~S(0));
    template <class V>
    static V combine(V a, V b) {
        return minimum(a, b);
    }
    template <class V>
    static V read(V x) {
        return Truth<T>::of(x);
    }
    template <class C>
    static C value(S state) {
        return C(state != 0);
    }
};

template <class F>
constexpr NativeFold made() {
    using S = typename F::S;
    constexpr auto combine = [](auto a, auto b) { return F::combine(a, b); };
    constexpr auto read = [](const S *x) { return Vec<S>(F::read(load(x))); };
    return {
        sizeof(S),
        sizeof(S),
        [](void *state, const void *x, ptrdiff_t pitch, size_t rows, size_t n) {
            fold_rows(combine, F::kStart, static_cast<S *>(state), static_cast<const S *>(x), pitch,
                      rows, n, read);
        },
        [](void *state, const void *other, size_t n) {
            S *to = static_cast<S *>(state);
            const S *from = static_cast<const S *>(other);
            for (size_t i = 0; i < n; ++i) to[i] = F::combine(to[i], from[i]);
        },
        [](void *state, const void *x, size_t n) {
            S *to = static_cast<S *>(state);
            const S *from = static_cast<const S *>(x);
            size_t i = 0;
            for (; i + kWidth<S> <= n; i += kWidth<S>)
                store(to + i, F::combine(load(to + i), F::read(load(from + i))));
            for (; i < n; ++i) to[i] = F::combine(to[i], F::read(from[i]));
        },
        [](void *state, size_t n) { std::fill_n(static_cast<S *>(state), n, F::kStart); },
        [](ValueType type, void *values, const void *state, size_t n) {
            with_type(type, [&](auto zero) {
                using C = decltype(zero);
                for (size_t i = 0; i < n; ++i)
                    static_cast<C *>(values)[i] =
                        F::template value<C>(static_cast<const S *>(state)[i]);
            });
        },
    };
}

template <int fold, class V>
V fold_of_two(V a, V b) {
    if constexpr (fold == INFINI_FOLD_SUM) return a + b;
    if constexpr (fold == INFINI_FOLD_MAX) return maximum(a, b);
    if constexpr (fold == INFINI_FOLD_MIN) return minimum(a, b);
}

// A fold of 16-bit floats: the state is a float.
template <class H, int fold>
constexpr NativeFold made_of_halves() {
    constexpr auto combine = [](auto a, auto b) { return fold_of_two<fold>(a, b); };
    return {
        sizeof(H),
        sizeof(float),
        [](void *state, const void *x, ptrdiff_t pitch, size_t rows, size_t n) {
            fold_rows(combine, fold_start<float>(fold), static_cast<float *>(state),
                      static_cast<const H *>(x), pitch, rows, n,
                      [](const H *p) { return load_f32(p); });
        },
        [](void *state, const void *other, size_t n) {
            float *to = static_cast<float *>(state);
            const float *from = static_cast<const float *>(other);
            for (size_t i = 0; i < n; ++i) to[i] = fold_of_two<fold>(to[i], from[i]);
        },
        nullptr,
        [](void *state, size_t n) {
            std::fill_n(static_cast<float *>(state), n, fold_start<float>(fold));
        },
        [](ValueType type, void *values, const void *state, size_t n) {
            with_type(type, [&](auto zero) {
                using C = decltype(zero);
                for (size_t i = 0; i < n; ++i)
                    static_cast<C *>(values)[i] = C(static_cast<const float *>(state)[i]);
            });
        },
    };
}

template <class H>
const NativeFold *fold_of_halves(int fold) {
    static constexpr NativeFold kSum = made_of_halves<H, INFINI_FOLD_SUM>(),
                                kMax = made_of_halves<H, INFINI_FOLD_MAX>(),
                                kMin = made_of_halves<H, INFINI_FOLD_MIN>();
    switch (fold) {
        case INFINI_FOLD_SUM:
            return &kSum;
        case INFINI_FOLD_MAX:
            return &kMax;
        case INFINI_FOLD_MIN:
            return &kMin;
        default:
            return nullptr;
    }
}

template <class T>
const NativeFold *fold_of(int fold) {
    static constexpr NativeFold kAny = made<Any<T>>(), kAll = made<All<T>>();
    if (fold == INFINI_FOLD_ANY) return &kAny;
    if (fold == INFINI_FOLD_ALL) return &kAll;
    if constexpr (std::is_same_v<T, boolean>) {
        if (fold == INFINI_FOLD_MAX) return &kAny;
        if (fold == INFINI_FOLD_MIN) return &kAll;
    } else if constexpr (std::is_integral_v<T>) {
        static constexpr NativeFold kMax = made<Extreme<T, Largest>>(),
                                    kMin = made<Extreme<T, Smallest>>();
        if (fold == INFINI_FOLD_MAX) return &kMax;
        if (fold == INFINI_FOLD_MIN) return &kMin;
    } else if constexpr (kIsFloat<T> && sizeof(T) == 2) {
        return fold_of_halves<T>(fold);
    }
    return nullptr;
}

// not (x == 0)
bool asks_for_truth(const InfiniExpression &expression) {
    if (expression.result_count != 1) return false;
    const InfiniNode &negate = expression.nodes[expression.results[0]];
    if (negate.op != INFINI_NODE_NEGATE) return false;
    const InfiniNode &equal = expression.nodes[negate.args[0]];
    if (equal.op != INFINI_NODE_EQUAL) return false;
    const InfiniNode &x = expression.nodes[equal.args[0]], &zero = expression.nodes[equal.args[1]];
    return x.op == INFINI_NODE_INPUT && zero.op == INFINI_NODE_CONSTANT && zero.value == 0;
}

}  // namespace

const NativeFold *native_fold(const Stage &stage, const InfiniExpression &expression,
                              ValueType type, int dtype) {
    if (stage.inputs.size() != 1 || stage.outputs.size() != 1 || stage.outputs[0] >= 0)
        return nullptr;
    const int fold = stage.folds[0];
    const bool truth = fold == INFINI_FOLD_ANY || fold == INFINI_FOLD_ALL;
    if (truth ? !asks_for_truth(expression) : !stage.copies) return nullptr;
    const NativeFold *found = nullptr;
    visit_dtype(dtype, [&]<class T>(Type<T>) {
        if (!kIsSmallFloat<T> || type == kFloat) found = fold_of<T>(fold);
    });
    return found;
}

}  // namespace infini::cpu::program
