#include "operators.h"

#include <cmath>

namespace simulated {
namespace {

// Positions of the elements of a line along a dimension.
struct Lines {
    Lines(const Strided &t, int dim) : length(t.size[size_t(dim)]) {
        for (size_t i = size_t(dim) + 1; i < t.size.size(); ++i) step *= t.size[i];
        count = length ? t.count() / length : 0;
    }
    int64_t at(int64_t line, int64_t i) const {
        return line / step * step * length + line % step + i * step;
    }
    int64_t length, step = 1, count = 0;
};

bool there(const Strided &t, const Numbers &numbers) {
    return int64_t(numbers.size()) == t.count();
}

}  // namespace

bool rms_norm(const Strided &x, const Strided &w, double eps, const Strided &y, int device) {
    Numbers a = read(x, device), scale = read(w, device);
    if (!there(x, a) || !there(w, scale)) return false;
    const size_t n = size_t(x.last());
    for (size_t row = 0; row < a.size(); row += n) {
        double sum = 0;
        for (size_t i = 0; i < n; ++i) sum += a[row + i] * a[row + i];
        const double factor = 1 / std::sqrt(sum / double(n) + eps);
        for (size_t i = 0; i < n; ++i) a[row + i] *= factor * scale[i];
    }
    return write(y, a, device);
}

bool layer_norm(const Strided &x, const Strided *w, const Strided *b, double eps, const Strided &y,
                int device) {
    Numbers a = read(x, device), scale, bias;
    if (w) scale = read(*w, device);
    if (b) bias = read(*b, device);
    if (!there(x, a)) return false;
    const size_t n = size_t(x.last());
    for (size_t row = 0; row < a.size(); row += n) {
        double mean = 0, square = 0;
        for (size_t i = 0; i < n; ++i) mean += a[row + i] / double(n);
        for (size_t i = 0; i < n; ++i) square += (a[row + i] - mean) * (a[row + i] - mean);
        const double factor = 1 / std::sqrt(square / double(n) + eps);
        for (size_t i = 0; i < n; ++i)
            a[row + i] = (a[row + i] - mean) * factor * (scale.empty() ? 1 : scale[i]) +
                         (bias.empty() ? 0 : bias[i]);
    }
    return write(y, a, device);
}

bool softmax(const Strided &x, int dim, bool logarithm, const Strided &y, int device) {
    Numbers a = read(x, device);
    if (!there(x, a)) return false;
    const Lines lines(x, dim);
    for (int64_t line = 0; line < lines.count; ++line) {
        double most = -INFINITY, sum = 0;
        auto at = [&](int64_t i) -> double & { return a[size_t(lines.at(line, i))]; };
        for (int64_t i = 0; i < lines.length; ++i)
            most = at(i) > most || std::isnan(at(i)) ? at(i) : most;
        for (int64_t i = 0; i < lines.length; ++i) sum += std::exp(at(i) - most);
        for (int64_t i = 0; i < lines.length; ++i)
            at(i) = logarithm ? at(i) - most - std::log(sum) : std::exp(at(i) - most) / sum;
    }
    return write(y, a, device);
}

bool map(const Strided &x, const Strided &y, double (*function)(double), int device) {
    Numbers a = read(x, device);
    if (!there(x, a)) return false;
    for (double &number : a) number = function(number);
    return write(y, a, device);
}

bool copy_elements(const Strided &from, const Strided &to, int device) {
    const char *source = bytes_of(from.data, from.extent(), device);
    char *target = bytes_of(to.data, to.extent(), device);
    if (!source || !target) return false;
    const int64_t size = int64_t(to.element());
    std::vector<char> all(size_t(to.count() * size));
    Strided dense = from;  // positions of a tensor that may be broadcast
    for (int64_t i = 0; i < to.count(); ++i)
        memcpy(&all[size_t(i * size)], source + dense.offset(broadcast(to, from, i)) * size,
               size_t(size));
    for (int64_t i = 0; i < to.count(); ++i)
        memcpy(target + to.offset(i) * size, &all[size_t(i * size)], size_t(size));
    return true;
}

bool lookup(const Strided &table, const Strided &indices, const Strided &out, int device) {
    const Numbers which = read(indices, device);
    const char *from = bytes_of(table.data, table.extent(), device);
    char *to = bytes_of(out.data, out.extent(), device);
    if (!there(indices, which) || !from || !to) return false;
    const int64_t n = table.last(), size = int64_t(table.element());
    int64_t position = 0;
    for (double index : which) {
        if (index < 0 || int64_t(index) >= table.size[0]) {
            violate("an index that the table does not have");
            return false;
        }
        for (int64_t i = 0; i < n; ++i, ++position)  // bytes: they may be of another type
            memcpy(to + out.offset(position) * size,
                   from + table.offset(int64_t(index) * n + i) * size, size_t(size));
    }
    return true;
}

bool order(const Strided &x, int dim, bool descending, int64_t k, const Strided &values,
           const Strided &places, int device) {
    const Numbers a = read(x, device);
    if (!there(x, a)) return false;
    const Lines lines(x, dim), kept(values, dim);
    Numbers best(size_t(values.count())), where(size_t(values.count()));
    for (int64_t line = 0; line < lines.count; ++line) {
        std::vector<int64_t> by(size_t(lines.length));
        std::iota(by.begin(), by.end(), int64_t(0));
        auto at = [&](int64_t i) { return a[size_t(lines.at(line, i))]; };
        // NaN is the largest number.
        auto less = [&](double l, double r) {
            return std::isnan(r) ? !std::isnan(l) : !std::isnan(l) && l < r;
        };
        std::stable_sort(by.begin(), by.end(), [&](int64_t l, int64_t r) {
            return descending ? less(at(r), at(l)) : less(at(l), at(r));
        });
        for (int64_t i = 0; i < k; ++i) {
            best[size_t(kept.at(line, i))] = at(by[size_t(i)]);
            where[size_t(kept.at(line, i))] = double(by[size_t(i)]);
        }
    }
    return write(values, best, device) && write(places, where, device);
}

bool extreme(const Strided &x, int dim, bool largest, const Strided &places, int device) {
    const Numbers a = read(x, device);
    if (!there(x, a)) return false;
    const Lines lines(x, dim);
    Numbers where;
    for (int64_t line = 0; line < lines.count; ++line) {
        int64_t best = 0;
        auto at = [&](int64_t i) { return a[size_t(lines.at(line, i))]; };
        for (int64_t i = 1; i < lines.length && !std::isnan(at(best)); ++i)
            if (std::isnan(at(i)) || (largest ? at(i) > at(best) : at(i) < at(best))) best = i;
        where.push_back(double(best));
    }
    return write(places, where, device);
}

bool running_sum(const Strided &x, int dim, const Strided &y, int device) {
    Numbers a = read(x, device);
    if (!there(x, a)) return false;
    const Lines lines(x, dim);
    for (int64_t line = 0; line < lines.count; ++line)
        for (int64_t i = 1; i < lines.length; ++i)
            a[size_t(lines.at(line, i))] += a[size_t(lines.at(line, i - 1))];
    return write(y, a, device);
}

namespace {

// Copies bytes: y's element at coordinates `at` is x's with another index along `dim`.
template <class Which>
bool pick(const Strided &x, int dim, const Strided &y, int device, const Which &which) {
    const char *from = bytes_of(x.data, x.extent(), device);
    char *to = bytes_of(y.data, y.extent(), device);
    if (!from || !to) return false;
    const size_t rank = y.size.size(), size = y.element();
    for (int64_t position = 0; position < y.count(); ++position) {
        std::vector<int64_t> at(rank);
        int64_t rest = position, offset = 0;
        for (size_t i = rank; i-- > 0;) at[i] = rest % y.size[i], rest /= y.size[i];
        const int64_t index = which(position, at[size_t(dim)]);
        if (index < 0 || index >= x.size[size_t(dim)]) {
            violate("an index that the source does not have");
            return false;
        }
        at[size_t(dim)] = index;
        for (size_t i = 0; i < rank; ++i) offset += at[i] * x.stride[i];
        memcpy(to + y.offset(position) * int64_t(size), from + offset * int64_t(size), size);
    }
    return true;
}

}  // namespace

bool gather(const Strided &x, int dim, const Strided &indices, const Strided &y, int device) {
    const Numbers index = read(indices, device);
    return there(indices, index) && pick(x, dim, y, device, [&](int64_t position, int64_t) {
               return int64_t(index[size_t(position)]);
           });
}

bool select(const Strided &x, int dim, const Strided &indices, const Strided &y, int device) {
    const Numbers index = read(indices, device);
    return there(indices, index) && pick(x, dim, y, device, [&](int64_t, int64_t slice) {
               return int64_t(index[size_t(slice)]);
           });
}

bool combine(const Strided &a, const Strided &b, const Strided &y,
             double (*function)(double, double), int device) {
    const Numbers left = read(a, device), right = read(b, device);
    if (!there(a, left) || !there(b, right)) return false;
    Numbers result;
    for (int64_t i = 0; i < y.count(); ++i)
        result.push_back(
            function(left[size_t(broadcast(y, a, i))], right[size_t(broadcast(y, b, i))]));
    return write(y, result, device);
}

bool fill_where(const Strided &x, const Strided &mask, double value, int device) {
    const Numbers hidden = read(mask, device);
    char *bytes = bytes_of(x.data, x.extent(), device);
    if (!there(mask, hidden) || !bytes) return false;
    const auto storage = infini::plain::storage_of<double>(x.dtype);
    for (int64_t i = 0; i < x.count(); ++i)
        if (hidden[size_t(broadcast(x, mask, i))] != 0)
            storage.store(bytes + x.offset(i) * int64_t(x.element()), value);
    return true;
}

bool rotate(const Strided &x, const Strided &cos, const Strided &sin, bool halves, const Strided &y,
            int device) {
    const Numbers a = read(x, device), c = read(cos, device), s = read(sin, device);
    if (!there(x, a) || !there(cos, c) || !there(sin, s)) return false;
    const int64_t n = x.last(), half = n / 2;
    Numbers result(a.size());
    for (int64_t i = 0; i < x.count(); ++i) {
        const int64_t at = i % n;
        const bool first = halves ? at < half : at % 2 == 0;
        const int64_t step = halves ? half : 1;
        const double other = first ? -a[size_t(i + step)] : a[size_t(i - step)];
        result[size_t(i)] = a[size_t(i)] * c[size_t(broadcast(x, cos, i))] +
                            other * s[size_t(broadcast(x, sin, i))];
    }
    return write(y, result, device);
}

bool attend(const Strided &q, const Strided &k, const Strided &v, double scale, bool causal,
            const Strided &out, int device) {
    const Numbers a = read(q, device), b = read(k, device), c = read(v, device);
    if (!there(q, a) || !there(k, b) || !there(v, c)) return false;
    const int64_t heads = q.size[1], queries = q.size[2], n = q.size[3];
    const int64_t shared = heads / k.size[1], keys = k.size[2];
    Numbers result(size_t(out.count()));
    for (int64_t line = 0; line < q.size[0] * heads * queries; ++line) {
        const int64_t query = line % queries, head = line / queries % heads;
        const int64_t of = line / queries / heads * k.size[1] + head / shared;
        const int64_t seen = causal ? query + keys - queries + 1 : keys;
        Numbers weight;
        double most = -INFINITY, sum = 0;
        for (int64_t j = 0; j < seen; ++j) {
            double product = 0;
            for (int64_t i = 0; i < n; ++i)
                product += a[size_t(line * n + i)] * b[size_t((of * keys + j) * n + i)];
            weight.push_back(product * scale);
            most = std::max(most, weight.back());
        }
        for (double &each : weight) sum += each = std::exp(each - most);
        for (int64_t j = 0; j < seen; ++j)
            for (int64_t i = 0; i < n; ++i)
                result[size_t(line * n + i)] +=
                    weight[size_t(j)] / sum * c[size_t((of * keys + j) * n + i)];
    }
    return write(out, result, device);
}

bool attend_paged(const Strided &q, const Strided &k, const Strided &v, const Strided &table,
                  const std::vector<int64_t> &ends, const std::vector<int64_t> &lengths,
                  double scale, const Strided &out, int device) {
    const Numbers a = read(q, device), b = read(k, device), c = read(v, device);
    const Numbers blocks = read(table, device);
    if (!there(q, a) || !there(k, b) || !there(v, c) || !there(table, blocks)) return false;
    const int64_t heads = q.size[1], n = q.last(), rows = k.size[2], width = table.last();
    const int64_t shared = heads / k.size[1];
    Numbers result(a.size());
    for (size_t s = 0; s < ends.size(); ++s) {
        const int64_t begin = s ? ends[s - 1] : 0, count = ends[s] - begin;
        if (lengths[s] < count || lengths[s] > width * rows) {
            violate("a sequence with more queries than keys, or more keys than its table");
            return false;
        }
        for (int64_t line = begin * heads; line < ends[s] * heads; ++line) {
            const int64_t seen = lengths[s] - count + line / heads - begin + 1;
            Numbers weight;
            double most = -INFINITY, sum = 0;
            auto place = [&](int64_t key) {
                const auto block = int64_t(blocks[size_t(int64_t(s) * width + key / rows)]);
                if (block < 0 || block >= k.size[0])
                    violate("a block that the cache does not have");
                return ((block * k.size[1] + line % heads / shared) * rows + key % rows) * n;
            };
            for (int64_t j = 0; j < seen; ++j) {
                double product = 0;
                for (int64_t i = 0; i < n; ++i)
                    product += a[size_t(line * n + i)] * b[size_t(place(j) + i)];
                weight.push_back(product * scale);
                most = std::max(most, weight.back());
            }
            for (double &each : weight) sum += each = std::exp(each - most);
            for (int64_t j = 0; j < seen; ++j)
                for (int64_t i = 0; i < n; ++i)
                    result[size_t(line * n + i)] +=
                        weight[size_t(j)] / sum * c[size_t(place(j) + i)];
        }
    }
    return write(out, result, device);
}

}  // namespace simulated
