"""A speech loader: batches chosen by a sampler of lists, put together by a function of the script."""

import mindspore.dataset as ds
import numpy as np
from report import attempt, report, rows


class Utterances:
    def __init__(self):
        self.lengths = [3, 7, 4, 6, 2, 8]

    def __getitem__(self, index):
        wave = np.linspace(0, 1, self.lengths[index], dtype=np.float32)
        return wave, np.int32(self.lengths[index]), f"text {index}"

    def __len__(self):
        return len(self.lengths)


class ByLength:
    """Bins of utterances that are about as long as each other."""

    def __init__(self, lengths, size):
        order = sorted(range(len(lengths)), key=lambda k: lengths[k])
        self.bins = [order[k : k + size] for k in range(0, len(order), size)]

    def __iter__(self):
        yield from self.bins

    def __len__(self):
        return len(self.bins)


def collate(waves, lengths, texts, info):
    longest = max(len(wave) for wave in waves)
    padded = [np.pad(wave, (0, longest - len(wave))) for wave in waves]
    return np.stack(padded), np.stack(lengths), np.array(texts)


def together(waves, lengths, texts):
    return collate(waves, lengths, texts, None)


def main(folder):
    names = ["wave", "length", "text"]
    source = Utterances()
    batched = ds.GeneratorDataset(source, names, shuffle=False).batch(
        2, per_batch_map=collate, input_columns=names
    )
    binned = ds.GeneratorDataset(
        source, names, batch_sampler=ByLength(source.lengths, 2), collate_fn=together
    )
    wide = ds.GeneratorDataset(source, names, shuffle=False)
    wide = wide.map(lambda wave: np.pad(wave, (0, 8 - len(wave))), ["wave"]).batch(3, True)
    return {
        "batched": rows(batched),
        "binned": attempt(lambda: rows(binned)),
        "binned size": attempt(binned.get_dataset_size),
        "wide": rows(wide),
        "wide shapes": wide.output_shapes(),
        "loud": rows(
            ds.GeneratorDataset(source, names, shuffle=False)
            .filter(lambda n: n > 4, ["length"])
            .project("text")
        ),
    }


if __name__ == "__main__":
    report(main)
