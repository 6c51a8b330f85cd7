"""The page of the documentation that a soak writes."""

from __future__ import annotations

from typing import Any

from benchmarks.soaking import EVENTS, SCALED
from benchmarks.soaking.deck import FAMILIES
from benchmarks.soaking.held import MORE_OBJECTS, NAMES
from tests.contracts.serve_protocols.hostile_requests import ATTACKS

__all__ = ["page"]


def page(results: dict[str, Any]) -> str:
    """All of it."""
    where, turns = results["machine"], sum(results["turns"].values())
    return f"""# The soak

**Question:** what do processes hold after a day of pipelines opened and closed, workers killed, files damaged, cache
servers restarted, trainings resumed, an object store that fails, and requests served?

`python benchmarks/soak.py{results["options"]} --page docs/design/soak.md` wrote this page on
{results["date"]}, from {results["started"]} on: {results["minutes"]:g} minutes on {where["cores"]} cores
({where["cpu"]}) that others used as well, with a load of {where["load_before"]} at its start and
{results["load_after"]} at its end, commit {where["commit"]}. Every turn checks its rows, weights or answers.
{_failed(results, turns)}

## A day, scaled

Eight hours of a busy machine are taken to be the events of the table, and a turn stands for some of them. What is
scaled is the work between them: epochs of some hundred rows, trainings of some dozen steps. What leaks once for each
pipeline, worker, server, checkpoint or request shows as it would in a day; what grows with the number of rows does
not, and the [note on scale](2026-11-16-scale.md) looks at that.

| | eight hours | this run | |
|---|---|---|---|
{_events(results["did"])}

| turn | what happens | times |
|---|---|---|
{_turns(results["turns"])}

## What is held

Every process of Millrace's that lives as long as the run is measured after each turn. The first quarter of the turns is
warm-up; the second is compared with the last: memory and objects by their medians, with {results["grown"]:g} MB and
{MORE_OBJECTS:g} thousand objects as the most that they may grow by, everything else by the least that was held, which
may not grow at all. Child processes of the soak are the servers that it needs.

{_held(results["held"])}

{_left(results["left"])}
{_hostile(results)}{_reloads(results)}"""


def _failed(results: dict[str, Any], turns: int) -> str:
    count = len(results["failures"])
    return f"None of {turns} turns failed." if not count else f"**{count} of {turns} turns failed.**"


def _left(lines: list[str]) -> str:
    return "Left behind: " + "; ".join(lines) if lines else "Nothing was left behind when all was closed."


def _events(did: dict[str, int]) -> str:
    lines = []
    for name, event in EVENTS.items():
        count = did.get(name, 0)
        share = f"{count / event.day:.1f} days" if name not in SCALED else "scaled"
        lines.append(f"| {name} | {event.day:,}: {event.why} | {count:,} | {share} |")
    return "\n".join(lines)


def _turns(turns: dict[str, int]) -> str:
    said = {name: getattr(family, name).__doc__ for family in FAMILIES for name in family.DAY}
    return "\n".join(f"| `{name}` | {said[name]} | {count} |" for name, count in turns.items())


def _held(held: dict[str, Any]) -> str:
    lines = [
        "| process | holds | after warm-up | at the end | most after any turn |",
        "|---|---|---|---|---|",
    ]
    for process, things in held.items():
        for name, v in things.items():
            end = f"{v['at the end']:g}" if v["flat"] else f"**{v['at the end']:g}**"
            lines.append(f"| {process} | {NAMES[name]} | {v['after warm-up']:g} | {end} | {v['most']:g} |")
    return "\n".join(lines)


def _hostile(results: dict[str, Any]) -> str:
    found = results.get("hostile")
    if found is None:
        return ""
    before, after = found["before"], found["after"]
    held = "\n".join(f"| {NAMES[name]} | {before[name]:g} | {after[name]:g} |" for name in before)
    kinds = "\n".join(
        f"| {str(ATTACKS[name].__doc__).strip()} | {sum(ended.values()):,} | "
        + ", ".join(f"{how}: {count:,}" for how, count in sorted(ended.items()))
        + " |"
        for name, ended in found["outcomes"].items()
    )
    return f"""
## {found["count"]:,} hostile requests

To a server that had answered {found["answered before"]:,} requests. What is refused is refused with a reason; "cut"
is a connection that just ends.
{found["slow"]} slow clients (a third each: no byte, half a head, half a body) were connected meanwhile, and let go by
the server. It computed right answers afterwards.

| sent | requests | ended with |
|---|---|---|
{kinds}

| the server holds | before | after |
|---|---|---|
{held}
"""


def _reloads(results: dict[str, Any]) -> str:
    found = results.get("reloads")
    if found is None:
        return ""
    return f"""
## {found["count"]} reloads under load

Four clients asked without a pause while the model was loaded anew {found["count"]} times: {found["requests"]:,}
requests, each answered by one of {found["versions"]} versions as a whole, {len(found["failed"])} failed.
"""
