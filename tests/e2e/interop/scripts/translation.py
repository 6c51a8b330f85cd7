"""A translator's loader: two text files zipped, a vocabulary, filters, padding and buckets by length."""

import mindspore.dataset as ds
import numpy as np
from report import report, rows

LEFT = ["a small house", "the mill", "water runs down to the wheel", "ok", "two  spaces", ""]
RIGHT = ["ein kleines haus", "die mühle", "wasser läuft zum rad hinab", "gut", "zwei leerzeichen", "leer"]


def write(folder):
    (folder / "left.txt").write_text("\n".join(LEFT) + "\n", encoding="utf-8")
    (folder / "right.txt").write_text("\n".join(RIGHT), encoding="utf-8")
    lines = "".join(f"{k},{text},{k / 8}\n" for k, text in enumerate(RIGHT))
    (folder / "table.csv").write_text(lines, encoding="utf-8")


class Vocabulary:
    def __init__(self, texts):
        words = sorted({word for text in texts for word in text.split()})
        self.numbers = {word: k + 2 for k, word in enumerate(words)}

    def __call__(self, text):
        return np.array([self.numbers.get(word, 1) for word in str(text).split()] + [0], np.int32)


def with_length(left, right):
    return left, right, np.int32(len(left)), np.int32(len(right))


def pairs(folder):
    left = ds.TextFileDataset(str(folder / "left.txt"), shuffle=False).rename("text", "left")
    right = ds.TextFileDataset(str(folder / "right.txt"), shuffle=False).rename("text", "right")
    return ds.zip((left, right))


def coded(folder):
    data = pairs(folder).map(Vocabulary(LEFT), "left").map(Vocabulary(RIGHT), ["right"])
    data = data.map(with_length, ["left", "right"], ["left", "right", "left_length", "right_length"])
    return data.filter(lambda length: length > 1, input_columns=["left_length"])


def main(folder):
    write(folder)
    padded = coded(folder).padded_batch(
        2, drop_remainder=False, pad_info={"left": ([7], 0), "right": ([None], -1)}
    )
    buckets = coded(folder).bucket_batch_by_length(
        ["left", "right"], [3, 5], [2, 2, 1], element_length_function=lambda x, y: max(len(x), len(y)),
        pad_info={"left": ([None], 0), "right": ([None], 0)},
    )  # fmt: skip
    table = ds.CSVDataset(
        str(folder / "table.csv"),
        column_defaults=[0, "", 0.0],
        column_names=["id", "text", "score"],
        shuffle=False,
    )
    return {
        "pairs": rows(pairs(folder)),
        "coded": rows(coded(folder)),
        "padded": rows(padded),
        "buckets": rows(buckets),
        "table": rows(table.batch(4)),
        "table names": table.get_col_names(),
        "table size": table.get_dataset_size(),
        "words": [str(row["text"]).split() for row in rows(table)],
    }


if __name__ == "__main__":
    report(main)
