"""What happens to a row that fails: stop (and say everything), skip it, or replace it; and the list of what was lost.

Run it with: python examples/error_modes.py
"""

import numpy as np

import millrace.dataset as ds


class Files:
    """Two hundred "files", of which five are damaged."""

    def __init__(self):
        self.files = [f"images/{number:03}.jpg" for number in range(200)]

    def __getitem__(self, index):
        return np.full((4, 4), index, np.uint8), np.int32(index)

    def __len__(self):
        return len(self.files)


def decode(image):
    if image[0, 0] % 40 == 7:
        raise ValueError("not a JPEG file: it starts with b'<html>'")
    return image.astype(np.float32)


def pipeline():
    data = ds.GeneratorDataset(Files(), ["image", "number"], shuffle=False)
    return data.map(decode, input_columns="image").batch(10)


def rows(data):
    return [
        int(n)
        for batch in data.create_dict_iterator(num_epochs=1, output_numpy=True)
        for n in batch["number"]
    ]


# 1. As it is: the run ends with an error that names the operation, the row, the column and the file.
try:
    rows(pipeline())
except RuntimeError as error:
    print("--- the error, without the traceback below it")
    print(str(error).partition("  the error inside")[0].rstrip())

# 2. Leave such rows out.
ds.config.set_error_samples_mode(ds.config.ErrorSamplesMode.SKIP)
data = pipeline()
print("\n--- skipped")
print(len(rows(data)), "rows came through")
for entry in data.skipped():
    print(f"  {entry.action}: row {entry.row}, {entry.file}: {entry.reason}")

# 3. Put other rows in their place, so that the number of steps stays the same.
ds.config.set_error_samples_mode(ds.config.ErrorSamplesMode.REPLACE)
data = pipeline()
got = rows(data)
print("\n--- replaced")
print(len(got), "rows came through, of which", len(got) - len(set(got)), "twice")

# 4. Too many of them is a mistake, whatever the mode: at most 1 % here.
ds.config.set_error_samples_limit(0.01)
try:
    rows(pipeline())
except RuntimeError as error:
    print("\n--- the limit")
    print(str(error).splitlines()[0])
