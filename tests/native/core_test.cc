// infinicore in C++: devices, streams, events, views, copies, text.
#include <cmath>
#include <numeric>
#include <random>
#include <sstream>
#include <thread>

#include "core_tools.h"
#include "seed.h"

namespace {

using context::getDevice;

// ---- Devices ------------------------------------------------------------------------------------

void devices() {
    CHECK(getDevice() == Device::cpu());
    CHECK_EQ(context::getDeviceCount(Device::Type::CPU), 1);
    CHECK_EQ(context::getDeviceCount(Device::Type::NVIDIA), 0);
    CHECK(Device::cpu().toString() == "CPU:0");
    CHECK(Device(Device::Type::HYGON, 3).toString() == "HYGON:3");
    CHECK(toString(DataType::BF16) == "BF16" && dsize(DataType::C128) == 16);
    context::setDevice(Device::cpu());
    CHECK(context::getStream() == nullptr);
    CHECK(context::getInfiniopHandle(Device::cpu()) != nullptr);
    CHECK(context::getInfiniopHandle(Device::cpu()) == context::getInfiniopHandle(Device::cpu()));
    THROWS(context::setDevice(Device(Device::Type::NVIDIA)), "setDevice", "nvidia");
    THROWS(context::setDevice(Device(Device::Type::CPU, 7)), "setDevice", "7");
    THROWS(context::setDevice(Device(Device::Type::CPU, 7000)), "setDevice", "7000");
    CHECK(getDevice() == Device::cpu());
    context::syncStream();
    context::syncDevice();
    std::thread([] { CHECK(getDevice() == Device::cpu()); }).join();
}

void copies_of_bytes() {
    char text[] = "twelve bytes", back[sizeof text] = {};
    auto memory = context::allocateMemory(sizeof text);
    auto other = context::allocateMemory(sizeof text);
    CHECK_EQ(memory->size(), sizeof text);
    CHECK(memory->device() == Device::cpu() && !memory->is_pinned());
    context::memcpyH2D(memory->data(), text, sizeof text);
    context::memcpyD2D(other->data(), memory->data(), sizeof text);
    context::memcpyD2H(back, other->data(), sizeof text);
    CHECK(std::strcmp(back, text) == 0);
    context::setDeviceMemory(memory->data(), 'x', 6);
    context::memcpyD2H(back, memory->data(), sizeof text);
    CHECK(std::strcmp(back, "xxxxxx bytes") == 0);
    context::memcpyH2H(back, text, sizeof text);
    CHECK(std::strcmp(back, text) == 0);
    context::memcpyH2D(nullptr, nullptr, 0);
    THROWS(context::memcpyH2D(nullptr, text, 4), "memcpyH2D", "null");
    THROWS(context::memcpyH2H(reinterpret_cast<void *>(8), text, 4), "memcpyH2H", "4 bytes");
    auto pinned = context::allocatePinnedHostMemory(100);
    CHECK(pinned->is_pinned() && pinned->device() == Device::cpu());
    auto host = context::allocateHostMemory(100);
    CHECK(!host->is_pinned() && host->data());
}

void events() {
    infinirtEvent_t start = context::createEvent(), end = context::createEvent();
    context::recordEvent(start);
    context::recordEvent(end);
    context::synchronizeEvent(end);
    CHECK(context::queryEvent(end));
    CHECK(context::elapsedTime(start, end) >= 0);
    context::streamWaitEvent(context::getStream(), end);
    context::destroyEvent(start);
    context::destroyEvent(end);
    THROWS(context::recordEvent(start), "recordEvent");
    THROWS(context::createEventWithFlags(99), "createEvent", "99");

    DeviceEvent first, second(Device::cpu()), third(INFINIRT_EVENT_DISABLE_TIMING);
    CHECK(!first.is_recorded() && first.device() == Device::cpu() && first.get());
    THROWS(first.elapsed_time(second), "first event was not recorded");
    first.record();
    THROWS(first.elapsed_time(second), "other event was not recorded");
    second.record();
    second.synchronize();
    CHECK(first.elapsed_time(second) >= 0 && second.query());
    DeviceEvent moved = std::move(first);
    CHECK(moved.is_recorded() && !first.is_recorded() && !first.get());
    moved.wait();
    third = std::move(moved);
    CHECK(third.is_recorded());
}

// ---- Views --------------------------------------------------------------------------------------

void views() {
    Tensor x = numbers({2, 3, 4});
    CHECK_EQ(x->numel(), 24);
    CHECK(x->is_contiguous() && x->nbytes() == 96 && x->stride(0) == 12 && x->size(2) == 4);
    THROWS(x->size(3), "size", "dim is 3");
    Tensor turned = x->permute({2, 0, 1});
    CHECK(turned->shape() == Shape({4, 2, 3}) && turned->strides() == Strides({1, 12, 4}));
    CHECK(!turned->is_contiguous() && turned->data() == x->data());
    THROWS(x->permute({0, 0, 1}), "permute", "[0, 0, 1]");
    THROWS(x->permute({0, 1}), "permute", "3 dimensions");
    Tensor part = x->narrow({{1, 1, 2}, {2, 3, 1}});
    CHECK(values(part) == std::vector<float>({7, 11, 19, 23}));
    THROWS(x->narrow({{1, 2, 2}}), "narrow", "leave dimension 1 of size 3");
    THROWS(x->narrow({{1, 1, SIZE_MAX}}), "narrow");
    THROWS(x->narrow({{5, 0, 1}}), "narrow", "dim is 5");
    CHECK_EQ(x->narrow({{0, 2, 0}})->numel(), 0);
    CHECK(part->squeeze(2)->shape() == Shape({2, 2}) && part->squeeze(0)->ndim() == 3);
    CHECK(x->unsqueeze(3)->shape() == Shape({2, 3, 4, 1}) && x->unsqueeze(0)->is_contiguous());
    THROWS(x->unsqueeze(4), "unsqueeze", "dim is 4");

    CHECK(x->view({6, 4})->strides() == Strides({4, 1}));
    CHECK(turned->view({4, 6})->strides() == Strides({1, 4}));
    CHECK(x->narrow({{2, 0, 2}})->view({6, 2})->strides() == Strides({4, 1}));
    CHECK(x->narrow({{2, 0, 2}})->view({6, 1, 2, 1})->numel() == 12);
    THROWS(turned->view({24}), "view", "contiguous()");
    THROWS(x->view({5, 5}), "view", "24 elements");
    THROWS(x->view({SIZE_MAX, 3}), "view");

    Tensor backwards = x->narrow({{0, 1, 1}, {1, 2, 1}, {2, 3, 1}})->as_strided({24}, {-1});
    CHECK_EQ(values(backwards)[0], 23);
    CHECK_EQ(values(backwards)[23], 0);
    CHECK(values(x->as_strided({2, 2}, {0, 1})) == std::vector<float>({0, 1, 0, 1}));
    THROWS(x->as_strided({25}, {1}), "as_strided", "96 bytes");
    THROWS(x->as_strided({2}, {-1}), "as_strided", "leaves the memory");
    THROWS(x->as_strided({2, 2}, {PTRDIFF_MAX, PTRDIFF_MAX}), "as_strided");
    THROWS(x->as_strided({2}, {PTRDIFF_MIN}), "as_strided");
    THROWS(x->as_strided({2, 2}, {1}), "as_strided", "expected 2");
    CHECK_EQ(x->view_as({24, 4}, {4, 1}, DataType::U8, 0)->numel(), 96);
    THROWS(x->view_as({1}, {1}, DataType::F32, 96), "view_as");
    THROWS(x->view_as({1}, {1}, DataType::F32, PTRDIFF_MAX), "view_as");
    THROWS(x->view_as({1}, {1}, DataType(77), 0), "view_as", "dtype");

    // A view keeps the memory.
    std::weak_ptr<Memory> memory = x->memory();
    x.reset();
    turned.reset();
    backwards.reset();
    CHECK(!memory.expired() && values(part)[0] == 7);
    part.reset();
    CHECK(memory.expired());
}

// Views of views at random: where view() gives one, it has the elements in order.
void random_views() {
    std::mt19937 random = random_numbers();
    int given = 0;
    for (int round = 0; round < 3000; ++round) {
        Tensor x = numbers({2, 3, 1, 4, 2});
        for (int steps = int(random() % 4); steps > 0; --steps) {
            Shape order(x->ndim());
            std::iota(order.begin(), order.end(), Size{0});
            if (random() % 2)
                std::swap(order[random() % order.size()], order[random() % order.size()]);
            x = x->permute(order);
            size_t dim = random() % x->ndim(), size = x->size(dim), start = random() % size;
            if (random() % 2) x = x->narrow({{dim, start, 1 + random() % (size - start)}});
            if (random() % 4 == 0) x = x->unsqueeze(random() % (x->ndim() + 1));
        }
        Shape shape;
        for (Size left = x->numel(); left > 1 || random() % 3 == 0;) {
            Size factor = 1 + random() % left;
            while (left % factor) --factor;
            shape.push_back(factor);
            left /= factor;
        }
        std::vector<float> expected = values(x);
        try {
            CHECK(values(x->view(shape)) == expected);
            ++given;
        } catch (const std::runtime_error &) {
            CHECK(!x->is_contiguous());
        }
        CHECK(values(x->contiguous()->view(shape)) == expected);
        CHECK(x->view(x->shape())->numel() == x->numel());
    }
    CHECK(given > 1000);
}

void making() {
    Tensor scalar = Tensor::zeros({}, DataType::F64, Device::cpu());
    CHECK(scalar->numel() == 1 && scalar->is_contiguous() &&
          *reinterpret_cast<double *>(scalar->data()) == 0);
    CHECK(values(Tensor::ones({2, 2}, DataType::F32, Device::cpu())) == std::vector<float>(4, 1));
    Tensor complex = Tensor::ones({3}, DataType::C64, Device::cpu());
    CHECK(values(complex->view_as({6}, {1}, DataType::F32, 0)) ==
          std::vector<float>({1, 0, 1, 0, 1, 0}));
    Tensor nothing = Tensor::empty({3, 0}, DataType::F32, Device::cpu());
    CHECK(nothing->numel() == 0 && nothing->is_contiguous() && !nothing->data());
    CHECK(Tensor::empty({4}, DataType::U8, Device::cpu(), true)->is_pinned());
    THROWS(Tensor::empty({SIZE_MAX, 2}, DataType::F32, Device::cpu()), "empty", "memory can have");
    THROWS(Tensor::empty({1u << 31, 1u << 31}, DataType::F32, Device::cpu()), "empty");
    THROWS(Tensor::empty({2}, DataType(0), Device::cpu()), "empty", "dtype");
    THROWS(Tensor::empty({2}, DataType::F32, Device(Device::Type::ASCEND)), "empty", "ascend");
    THROWS(Tensor::empty({2}, DataType::F32, Device(Device::Type::ASCEND), true), "pin_memory");
    Tensor gaps = Tensor::strided_empty({3, 2}, {-4, 1}, DataType::I16, Device::cpu());
    CHECK(gaps->memory()->size() == 20 && gaps->offset() == 16);
    float own[] = {1, 2, 3, 4};
    Tensor blob = Tensor::from_blob(own, {2, 2}, DataType::F32, Device::cpu());
    CHECK(blob->data() == reinterpret_cast<std::byte *>(own));
    THROWS(blob->as_strided({5}, {1}), "as_strided", "16 bytes");
    THROWS(Tensor::from_blob(nullptr, {2}, DataType::F32, Device::cpu()), "from_blob", "null");
    CHECK(values(Tensor::strided_from_blob(own + 3, {4}, {-1}, DataType::F32, Device::cpu())) ==
          std::vector<float>({4, 3, 2, 1}));
    Tensor handle;
    CHECK(!handle && handle.empty());
    handle = blob;
    CHECK(handle && handle.use_count() == 2);
    CHECK(blob->desc() != nullptr && blob->desc() == blob->desc());
}

void handles_that_do_not_hold() {
    Tensor x = numbers({4});
    Tensor blob = x->to_blob_();
    CHECK(blob->data() == x->data() && x->memory().use_count() == 1);
    Tensor again = blob->resume_from_blob_();
    CHECK(again->memory() == x->memory() && x->memory().use_count() == 2);
    THROWS(x->resume_from_blob_(), "resume_from_blob_", "none of to_blob_");
    x.reset();
    again.reset();
    THROWS(blob->resume_from_blob_(), "resume_from_blob_", "gone");
}

// ---- Copies -------------------------------------------------------------------------------------

void copies() {
    Tensor x = numbers({3, 4}), y = Tensor::empty({3, 4}, DataType::F32, Device::cpu());
    y->copy_from(x);
    CHECK(values(y) == values(x));
    Tensor turned = x->permute({1, 0});
    CHECK(!turned->is_contiguous() && turned->contiguous()->is_contiguous());
    CHECK(values(turned) == std::vector<float>({0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
    CHECK(x->contiguous().impl() == x.impl() && x->to(Device::cpu()).impl() == x.impl());
    Tensor column = y->narrow({{1, 1, 1}});
    column->copy_from(Tensor::zeros({3, 1}, DataType::F32, Device::cpu()));
    CHECK(values(y) == std::vector<float>({0, 0, 2, 3, 4, 0, 6, 7, 8, 0, 10, 11}));
    // Onto itself, shifted: as if all was read before.
    Tensor line = numbers({6});
    line->narrow({{0, 1, 5}})->copy_from(line->narrow({{0, 0, 5}}));
    CHECK(values(line) == std::vector<float>({0, 0, 1, 2, 3, 4}));
    THROWS(x->copy_from(turned), "copy_from", "[4, 3]", "[3, 4]");
    THROWS(x->copy_from(Tensor::zeros({3, 4}, DataType::F64, Device::cpu())), "copy_from", "F64");
    THROWS(x->copy_from(Tensor()), "copy_from", "empty");
    std::vector<float> own(12, 5);
    x->copy_from(Tensor::from_blob(own.data(), {3, 4}, DataType::F32, Device::cpu()));
    CHECK(values(x) == own);
    x->debug("core_test.bin");
    CHECK_EQ(std::remove("core_test.bin"), 0);
    THROWS(x->debug("/nowhere/at/all"), "debug", "/nowhere");
}

// ---- Text ---------------------------------------------------------------------------------------

std::string text(const Tensor &tensor) {
    std::ostringstream stream;
    stream << tensor;
    return stream.str();
}

void expect_text(const Tensor &tensor, const std::string &expected) {
    if (text(tensor) == expected) return;
    std::fprintf(stderr, "got\n%s\nexpected\n%s\n", text(tensor).c_str(), expected.c_str());
    std::exit(1);
}

void print() {
    expect_text(numbers({2, 3}),
                "tensor([[0., 1., 2.],\n        [3., 4., 5.]], dtype=F32, device=CPU:0)");
    expect_text(Tensor::empty({0, 2}, DataType::I32, Device::cpu()),
                "tensor([], size=[0, 2], dtype=I32, device=CPU:0)");
    float mixed[] = {1.5f, -2, NAN, INFINITY}, far[] = {1e-5f, 2000, 0};
    expect_text(Tensor::from_blob(mixed, {4}, DataType::F32, Device::cpu()),
                "tensor([ 1.5000, -2.0000,     nan,     inf], dtype=F32, device=CPU:0)");
    expect_text(Tensor::from_blob(far, {3}, DataType::F32, Device::cpu()),
                "tensor([1.0000e-05, 2.0000e+03, 0.0000e+00], dtype=F32, device=CPU:0)");
    bool truth[] = {true, false};
    expect_text(Tensor::from_blob(truth, {2}, DataType::BOOL, Device::cpu()),
                "tensor([ True, False], dtype=BOOL, device=CPU:0)");
    expect_text(Tensor::from_blob(mixed, {2, 1}, DataType::C64, Device::cpu()),
                "tensor([[ 1.5000-2.j],\n        [   nan+infj]], dtype=C64, device=CPU:0)");
    int64_t whole = -12;
    expect_text(Tensor::from_blob(&whole, {}, DataType::I64, Device::cpu()),
                "tensor(-12, dtype=I64, device=CPU:0)");
    uint16_t half[] = {0x3C00, 0xC000, 0x0001};
    expect_text(Tensor::from_blob(half, {2}, DataType::F16, Device::cpu()),
                "tensor([ 1., -2.], dtype=F16, device=CPU:0)");
    expect_text(numbers({2000}),
                "tensor([0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 1.9970e+03, 1.9980e+03,\n"
                "        1.9990e+03], dtype=F32, device=CPU:0)");
    print_options::set_edge_items(1);
    print_options::set_threshold(4);
    print_options::set_sci_mode(0);
    expect_text(numbers({3, 3, 2}),
                "tensor([[[ 0.,  1.],\n         ...,\n         [ 4.,  5.]],\n\n        ...,\n\n"
                "        [[12., 13.],\n         ...,\n         [16., 17.]]], dtype=F32, "
                "device=CPU:0)");
    print_options::set_precision(2);
    print_options::set_line_width(20);
    mixed[1] = 2.25f;
    expect_text(Tensor::from_blob(mixed, {2}, DataType::F32, Device::cpu()),
                "tensor([1.50, 2.25],\n       dtype=F32,\n       device=CPU:0)");
    THROWS(print_options::set_precision(-1), "set_precision", "-1");
    THROWS(print_options::set_sci_mode(2), "set_sci_mode");
    CHECK(numbers({2})->info().find("shape [2]") != std::string::npos);
}

}  // namespace

int main() {
    RUN(devices);
    RUN(copies_of_bytes);
    RUN(events);
    RUN(views);
    RUN(random_views);
    RUN(making);
    RUN(handles_that_do_not_hold);
    RUN(copies);
    RUN(print);
    return 0;
}
