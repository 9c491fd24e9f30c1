"""Writes the last results into docs/benchmarks.md, between its markers, and draws docs/benchmarks.png."""

from __future__ import annotations

from bench import plot, table, tuned
from bench.environments import ROOT
from bench.harness import Result, load
from bench.job import Job
from bench.workloads import find_jobs

PAGE = ROOT / "docs" / "benchmarks.md"
BEGIN, END = "<!-- begin: python -m bench report -->", "<!-- end: python -m bench report -->"


def write() -> None:
    """Replace the text between the markers; a job without results is marked as missing."""
    found: list[tuple[Job, list[Result]]] = []
    parts: list[str] = []
    origins: list[str] = []
    for job in find_jobs("all", []):
        loaded = load(job)
        if loaded is None:
            parts.append(f"### `{job.name}`\n\nNot measured yet: `python -m bench {job.name.split()[0]}`.")
            continue
        results, origin = loaded
        origins.append(origin)
        found.append((job, results))
        parts.append(table.markdown(job, results))
    head = [f"Measured on {origin}." for origin in dict.fromkeys(origins)]
    if found:
        plot.draw(found, ROOT / "docs" / "benchmarks.png")
        head.append("\n![The speed of every contender relative to the limit](benchmarks.png)")
    before, rest = PAGE.read_text().split(BEGIN)
    after = rest.split(END)[1]
    body = "\n\n".join(["\n".join(head), *parts, configurations()])
    PAGE.write_text(f"{before}{BEGIN}\n\n{body}\n\n{END}{after}")
    print(f"wrote {PAGE.relative_to(ROOT)} and docs/benchmarks.png")


def configurations() -> str:
    """Return a table of the configurations tried for each peer, and the best one."""
    lines = ["### The peers' configurations", "", "| job | contender | best | tried |", "| --- | --- | --- | --- |"]
    best = tuned.read()["jobs"]
    for job in find_jobs("all", []):
        for contender in job.contenders:
            if contender.candidates:
                chosen = best.get(job.name, {}).get(contender.label)
                tried = "; ".join(settings(candidate) for candidate in contender.candidates)
                said = "not tuned yet" if chosen is None else settings(chosen)
                lines.append(f"| `{job.name}` | {contender.label} | {said} | {tried} |")
    return "\n".join(lines)


def settings(options: object) -> str:
    assert isinstance(options, dict)
    return ", ".join(f"{name}={value}" for name, value in options.items()) or "as written"
