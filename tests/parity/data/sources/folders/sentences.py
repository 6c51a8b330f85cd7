"""Data sets of tagged words and of translations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .base import case, put


def conll(folder: Path) -> dict[str, Any]:
    sentence = "Confidence NN B-NP\nin IN B-PP\nthe DT B-NP\n. . O\n\n"
    put(folder / "train.txt", sentence + "Chancellor NNP O\n's POS B-NP\n\nA B C\n\n")
    put(folder / "test.txt", "Rockwell NNP B-NP\nsaid VBD B-VP\n\nThe DT B-NP\n\n")
    return {"dataset_dir": str(folder)}


case("CoNLL2000Dataset")(conll)
case("CoNLL2000Dataset", "test")(lambda folder: conll(folder) | {"usage": "test"})


def udpos(folder: Path) -> dict[str, Any]:
    for part in ("train", "dev", "test"):
        rows = f"Al\tPROPN\tNNP\n-\tPUNCT\tHYPH\n{part}\tNOUN\tNN\n\nOne\tNUM\tCD\n\nTwo words\tX\tFW\nb\tADJ\tJJ\n\n"
        put(folder / f"en-ud-tag.v2.{part}.txt", rows)
    return {"dataset_dir": str(folder)}


case("UDPOSDataset")(udpos)
case("UDPOSDataset", "valid")(lambda folder: udpos(folder) | {"usage": "valid"})


def multi30k(folder: Path) -> dict[str, Any]:
    for place, stem in (("training", "train"), ("validation", "val"), ("mmt16_task1_test", "test")):
        put(folder / place / f"{stem}.en", f"Two young men in {stem}.\nA man in a blue shirt. \n\nlast\n")
        put(
            folder / place / f"{stem}.de", f"Zwei junge Männer {stem}.\nEin Mann im blauen Hemd.\n\nletzter\n"
        )
    return {"dataset_dir": str(folder)}


case("Multi30kDataset")(multi30k)
case("Multi30kDataset", "test de en")(
    lambda f: multi30k(f) | {"usage": "test", "language_pair": ["de", "en"]}
)
case("Multi30kDataset", "train")(lambda f: multi30k(f) | {"usage": "train"})

TAGS = """<url>http://www.ted.com/talks/1</url>
<keywords>talks</keywords>
<title>{0}: title</title>
{0} first line.
 {0} second & line.\x20
<reviewer>x</reviewer>
<translator>y</translator>
{0} third
"""
XML = """<?xml version="1.0" encoding="UTF-8"?>
<mteval>
<srcset setid="t" srclang="x">
<doc docid="1" genre="lectures">
<url>http://www.ted.com</url>
<title>{0}</title>
<seg id="1"> {0} one &amp; two </seg>
<seg id="2">{0} two.</seg>
</doc>
<doc docid="2" genre="lectures">
<seg id="1"> {0} three </seg>
</doc>
</srcset>
</mteval>
"""


def _iwslt(folder: Path, year: str, sets: tuple[str, ...]) -> None:
    for one, two in (("de", "en"), ("en", "de")):
        pair = f"{one}-{two}"
        if year == "16":
            place = folder / "texts" / one / two / pair
        else:
            place = folder / "texts" / "DeEnItNlRo" / "DeEnItNlRo" / "DeEnItNlRo-DeEnItNlRo"
        for language in (one, two):
            put(place / f"train.tags.{pair}.{language}", TAGS.format(f"{pair} {language}"))
            for name in sets:
                put(place / f"IWSLT{year}.TED.{name}.{pair}.{language}.xml", XML.format(f"{name} {language}"))


def iwslt2016(folder: Path) -> dict[str, Any]:
    _iwslt(folder, "16", ("dev2010", "tst2010", "tst2011", "tst2012", "tst2013", "tst2014"))
    return {"dataset_dir": str(folder)}


def iwslt2017(folder: Path) -> dict[str, Any]:
    _iwslt(folder, "17", ("dev2010", "tst2010", "tst2011", "tst2012", "tst2013", "tst2014", "tst2015"))
    return {"dataset_dir": str(folder)}


case("IWSLT2016Dataset")(iwslt2016)
case("IWSLT2016Dataset", "train")(lambda f: iwslt2016(f) | {"usage": "train", "language_pair": ["de", "en"]})
case("IWSLT2016Dataset", "valid")(lambda f: iwslt2016(f) | {"usage": "valid", "valid_set": "dev2010"})
case("IWSLT2016Dataset", "test")(
    lambda f: iwslt2016(f) | {"usage": "test", "test_set": "tst2012", "language_pair": ("en", "de")}
)
case("IWSLT2017Dataset")(iwslt2017)
case("IWSLT2017Dataset", "train")(lambda f: iwslt2017(f) | {"usage": "train"})
case("IWSLT2017Dataset", "valid")(lambda f: iwslt2017(f) | {"usage": "valid", "language_pair": ["en", "de"]})
case("IWSLT2017Dataset", "test")(lambda f: iwslt2017(f) | {"usage": "test"})
