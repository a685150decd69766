#include "kernels/dnn/objects.h"

namespace infini::cuda::dnn {
namespace {

// The status as text, with the library's reason.
std::string words(int status) {
    char sentence[512] = "";
    library().last_sentence(sentence, sizeof sentence);
    return std::string(library().name_of(status)) + (*sentence ? ": " : "") + sentence;
}

}  // namespace

const GraphLibrary &library() {
    static const GraphLibrary library;
    return library;
}

void check(int status, const char *what) {
    if (status != 0) throw Declined{std::string(what) + ": " + words(status)};
}

Object::Object(int kind) { check(library().make(kind, &handle_), "an object"); }

Object::~Object() {
    if (handle_) library().destroy(handle_);
}

void Object::put(int attribute, int type, int64_t count, const void *values) {
    check(library().set(handle_, attribute, type, count, values), "an attribute");
}

void Object::put(int attribute, const Object &object) {
    put(attribute, kOfObject, 1, &object.handle_);
}

void Object::put(int attribute, int64_t value) { put(attribute, kOfInteger, 1, &value); }

void Object::put(int attribute, bool value) { put(attribute, kOfBoolean, 1, &value); }

void Object::finish() { check(library().finish(handle_), "an object"); }

void Object::fetch(const Object &of, int attribute) {
    int64_t count = 0;
    check(library().get(of.handle_, attribute, kOfObject, 1, &count, &handle_), "an attribute");
}

int64_t Object::integer(int attribute) const {
    int64_t value = 0, count = 0;
    check(library().get(handle_, attribute, kOfInteger, 1, &count, &value), "an attribute");
    return value;
}

std::vector<int> Object::numbers(int attribute, int type) const {
    int64_t count = 0;
    check(library().get(handle_, attribute, type, 0, &count, nullptr), "an attribute");
    std::vector<int> values(size_t(count), 0);
    if (count > 0)
        check(library().get(handle_, attribute, type, count, &count, values.data()),
              "an attribute");
    values.resize(size_t(count));
    return values;
}

std::string Object::text(int attribute) const {
    int64_t count = 0;
    check(library().get(handle_, attribute, kOfCharacter, 0, &count, nullptr), "a text");
    std::string text(size_t(count), '\0');
    check(library().get(handle_, attribute, kOfCharacter, count, &count, text.data()), "a text");
    return text;
}

}  // namespace infini::cuda::dnn
