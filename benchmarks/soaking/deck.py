"""All families, and the turns of one day."""

from __future__ import annotations

from benchmarks.soaking import Family
from benchmarks.soaking.caches import Caches
from benchmarks.soaking.pipelines import Pipelines
from benchmarks.soaking.serving import Serving
from benchmarks.soaking.stores import Stores
from benchmarks.soaking.trainings import Trainings

__all__ = ["DAY", "FAMILIES"]

FAMILIES: tuple[type[Family], ...] = (Pipelines, Caches, Trainings, Stores, Serving)
DAY = {name: times for family in FAMILIES for name, times in family.DAY.items()}
