"""A program of two ranks: embeddings between requests. Prints what rank 0 has, as JSON."""

from __future__ import annotations

import json
import sys

from infinicore.llm import LLM


def main() -> None:
    llm = LLM(sys.argv[1], cache_tokens=256, block_size=8, tp=2)
    if llm.engine.rank:  # type: ignore[attr-defined]
        llm.engine.follow()  # type: ignore[attr-defined]
        return
    first = llm.generate([[5, 6, 7]], max_tokens=4)[0].tokens
    rows = llm.embed([[1, 2, 3], [9, 8]]).tolist()
    try:
        llm.embed([[999]])
    except ValueError:
        rows.append([])
    running = llm.engine.add([4] * 200)
    llm.engine.step()
    try:
        llm.embed([[1] * 100])
    except MemoryError:  # the other ranks do not see it
        rows.append([])
    llm.engine.cancel(running)
    second = llm.generate([[5, 6, 7]], max_tokens=4, temperature=1.0)[0].tokens
    third = llm.generate([[5, 6, 7]], max_tokens=4, temperature=1.0, seed=3)[0].tokens
    print(json.dumps({"tokens": [first, second, third], "rows": rows}))
    llm.engine.close()  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
