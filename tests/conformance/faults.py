"""Deliberate mistakes in a back end that `infini new-backend` wrote, chosen by MYCHIP_FAULT."""

from __future__ import annotations

from pathlib import Path

# File: the original text, and its replacement.
EDITS = {
    "src/queue.h": {
        "using Clock = std::chrono::steady_clock;\n": """\
using Clock = std::chrono::steady_clock;

inline bool fault(const char *name) {
    const char *asked = std::getenv("MYCHIP_FAULT");
    return asked && !std::strcmp(asked, name);
}
""",
        "#include <cstdint>\n": "#include <cstdint>\n#include <cstdlib>\n#include <cstring>\n",
        "        time_ = Clock::now(), done_ = true;\n": """\
        if (!fault("time-of-submit")) time_ = Clock::now();
        done_ = true;
""",
        "    Clock::time_point time_;\n": "    Clock::time_point time_ = Clock::now();\n",
        "        return last_ = std::make_shared<Record>();\n": """\
        auto made = std::make_shared<Record>();
        if (!last_ || last_->done() || !fault("first-record")) last_ = made;
        return made;
""",
        "                if (other != default_ && other->blocking) order(queue, other);\n": """\
                if (other != default_ && other->blocking && !fault("null-goes-ahead"))
                    order(queue, other);
""",
        "        } else if (queue.blocking) {\n": """\
        } else if (fault("free-waits-for-null") || (queue.blocking && !fault("null-is-ignored"))) {
""",
        "            if (waiting_.empty()) return;\n": """\
            if (waiting_.empty() || (closed_ && fault("destroyed-drops"))) return;
""",
    },
    "src/mychip.cc": {
        '#include "queue.h"\n': '#include "queue.h"\n#include "gemm.h"\n',
        "using infini_mychip::Event;\n": """\
using infini_mychip::Event;
using infini_mychip::fault;
""",
        "void copy(const InfiniCopy &box) {\n": """\
void copy(const InfiniCopy &given) {
    InfiniCopy box = given;
    if (fault("copy") && box.src_device >= 0 && box.dst_device >= 0) --box.width;
""",
        "    streams().wait();\n": """\
    if (!fault("no-device-synchronize")) streams().wait();
""",
        "    *stream = streams().make(!(flags & infinirtStreamNonBlocking));\n": """\
    static Queue *only = streams().make(false);
    *stream = fault("one-queue") ? only : streams().make(!(flags & infinirtStreamNonBlocking));
""",
        "    static_cast<Queue *>(stream)->close();\n": """\
    if (!fault("one-queue")) static_cast<Queue *>(stream)->close();
    if (fault("destroy-waits")) streams().wait(static_cast<Queue *>(stream));
""",
        "                items.push_back([box = work[i].as.copy] { copy(box); });\n": """\
                if (fault("copy-at-once")) copy(work[i].as.copy);
                else items.push_back([box = work[i].as.copy] { copy(box); });
""",
        "                items.push_back([box = work[i].as.fill] { fill(box); });\n": """\
                if (fault("fill-beside")) {
                    std::thread([box = work[i].as.fill] { fill(box); }).detach();
                    break;
                }
                items.push_back([box = work[i].as.fill] { fill(box); });
""",
        "[call = work[i].as.host] { call.function(call.data); }": """\
[call = work[i].as.host] {
                    if (fault("host-beside")) std::thread(call.function, call.data).detach();
                    else call.function(call.data);
                }""",
        """\
                items.push_back([record = static_cast<Event *>(work[i].as.event)->begin()] {
                    record->finish();
                });
""": """\
                items.push_back([record = static_cast<Event *>(work[i].as.event)->begin()] {
                    record->finish();
                });
                if (fault("record-at-once")) {
                    items.back()();
                    items.pop_back();
                }
""",
        "                if (auto record = static_cast<Event *>(work[i].as.event)->last())\n": """\
                if (fault("no-wait")) break;
                if (fault("late-wait")) {
                    items.push_back([event = static_cast<Event *>(work[i].as.event)] {
                        if (auto record = event->last()) record->wait();
                    });
                    break;
                }
                if (auto record = static_cast<Event *>(work[i].as.event)->last())
""",
        "    streams().submit(static_cast<Queue *>(stream), std::move(items));\n": """\
    auto *into = fault("into-null") ? nullptr : static_cast<Queue *>(stream);
    streams().submit(into, std::move(items));
    if (fault("submit-waits")) streams().wait(into);
""",
        "        made->program = infini::plain::plan(infini::Operation(*operation));\n": """\
        if (fault("crash") && !strcmp(operation->name, "silu")) std::abort();
        if (fault("hang") && !strcmp(operation->name, "silu"))
            for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
""",
    },
}

# Mistakes in streams and events, and a case that detects each of them in every run.
NOTICED = (
    ("submit-waits", "streams/asynchronous"),
    ("one-queue", "streams/independent"),
    ("into-null", "streams/independent"),
    ("copy-at-once", "streams/order"),
    ("fill-beside", "streams/order"),
    ("host-beside", "streams/host-function"),
    ("null-goes-ahead", "streams/default"),
    ("null-is-ignored", "streams/default"),
    ("free-waits-for-null", "streams/non-blocking"),
    ("destroy-waits", "streams/destroy-with-work"),
    ("destroyed-drops", "streams/destroy-with-work"),
    ("no-device-synchronize", "streams/device-synchronize"),
    ("record-at-once", "events/life"),
    ("no-wait", "events/wait"),
    ("no-wait", "events/chain"),
    ("late-wait", "events/last-record"),
    ("first-record", "events/last-record"),
    ("time-of-submit", "events/timing"),
    ("no-wait", "graphs/fork-and-join"),
    ("host-beside", "graphs/host-function"),
    ("host-beside", "graphs/nodes"),
    ("no-wait", "graphs/two-streams"),
)


def inject(folder: Path, instead_of_plan: str) -> None:
    """Edits the folder's sources. `instead_of_plan`: the lines that choose an operator's plan."""
    for name, edits in EDITS.items():
        text = (folder / name).read_text(encoding="utf-8")
        for old, new in edits.items():
            assert text.count(old) == 1, (name, old)
            text = text.replace(old, new + (instead_of_plan if "made->program" in old else ""))
        (folder / name).write_text(text, encoding="utf-8")
