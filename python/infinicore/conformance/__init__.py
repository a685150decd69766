"""The conformance kit: tests what works on a device, case by case.

`infini conformance` runs the cases of eight levels in processes of their own and writes a report.

    command.py     the command
    cases/         the cases, a module for each level
    worker.py      the process that runs cases
    runner.py      starts workers, gives them cases, notices crashes and hangs
    patience.py the time that a process has had, excluding waits for a processor
    claims.py      the manifest: what a device claims, and its exceptions
    results.py results, and which level was reached
    report/        report.json, report.md, report.html, the comparison of two, docs/support.md
    new_backend.py writes a back end to start from (`infini new-backend`)
"""
