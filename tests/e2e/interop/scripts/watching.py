"""Callbacks, epochs in a loop, feedback from training into the pipeline."""

import mindspore.dataset as ds
import numpy as np
from report import report


class Notes(ds.DSCallback):
    def __init__(self, step_size=1):
        super().__init__(step_size=step_size)
        self.events, self.begun, self.ended = [], [], []

    def ds_begin(self, ds_run_context):
        self.events.append("begin")

    def ds_epoch_begin(self, ds_run_context):
        self.events.append(["epoch begin", ds_run_context.cur_epoch_num])

    def ds_epoch_end(self, ds_run_context):
        self.events.append(["epoch end", ds_run_context.cur_epoch_num])

    def ds_step_begin(self, ds_run_context):
        self.begun.append([ds_run_context.cur_step_num, ds_run_context.cur_step_num_in_epoch])

    def ds_step_end(self, ds_run_context):
        self.ended.append(ds_run_context.cur_step_num)


class Curriculum:
    """What training tells the pipeline through sync_update."""

    def __init__(self):
        self.level = 1

    def update(self, data):
        self.level = data["level"]

    def apply(self, x):
        return x * self.level


def main(folder):
    notes, few = Notes(), Notes(2)
    data = ds.NumpySlicesDataset({"a": np.arange(4)}, shuffle=False)
    watched = data.map(lambda x: x + 1, "a", callbacks=[notes, few], num_parallel_workers=1)
    iterator = watched.create_dict_iterator(num_epochs=2, output_numpy=True)
    seen = [[int(row["a"]) for row in iterator] for _ in range(2)]
    teacher = Curriculum()
    synced = ds.NumpySlicesDataset({"a": np.arange(1, 4)}, shuffle=False)
    synced = synced.sync_wait(condition_name="level", callback=teacher.update)
    synced = synced.map(teacher.apply, "a")
    learnt = []
    for row in synced.create_dict_iterator(num_epochs=1, output_numpy=True):
        learnt.append(int(row["a"]))
        synced.sync_update("level", data={"level": len(learnt) + 1})
    epochs = []
    for _ in range(2):
        epochs.append(
            [[int(v) for v in row] for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]
        )
    endless = data.create_dict_iterator(num_epochs=-1, output_numpy=True)
    thrice = [[int(row["a"]) for row in endless] for _ in range(3)]
    by_hand = data.create_tuple_iterator(num_epochs=1, output_numpy=True)
    return {
        "seen": seen,
        "notes": [notes.events, notes.begun, notes.ended],
        "few": [few.events, few.begun, few.ended],
        "learnt": learnt,
        "epochs": epochs,
        "thrice": thrice,
        "next": [int(next(by_hand)[0]), int(next(by_hand)[0])],
    }


if __name__ == "__main__":
    report(main)
