"""Iterators, epochs, callbacks, synchronisation, error samples and debug mode."""

import numpy as np

from tests.parity.case import Case, each, table

CALLBACK = """
events = {{}}
def note(kind, c):
    events.setdefault(kind, []).append((c.cur_epoch_num, c.cur_step_num, c.cur_step_num_in_epoch))
class Look(ds.DSCallback):
    def ds_begin(self, c): note('begin', c)
    def ds_epoch_begin(self, c): note('epoch_begin', c)
    def ds_epoch_end(self, c): note('epoch_end', c)
    def ds_step_begin(self, c): note('step_begin', c)
    def ds_step_end(self, c): note('step_end', c)
over(num({rows}).map(lambda x: x, ['a'], num_parallel_workers=1, callbacks={callbacks}), {epochs})
result = {{kind: sorted(events[kind]) for kind in sorted(events)}}
"""

MODE = """
ds.config.set_error_samples_mode(ds.config.ErrorSamplesMode.{mode})
def work(x):
    if x in {bad}:
        raise ValueError('bad row')
    return x
d = num(5).map(work)
result = [col(d{then}), d.get_dataset_size()]
"""

HOOKED = """
class Hook(ds.debug.DebugHook):
    def compute(self, *args):
        print('hook', self.prev_op_name, self.is_first_op, len(args), [x.tolist() for x in args[0]])
ds.config.set_debug_mode(True, {hooks})
def double(x):
    return np.array(x * 2)
result = printed(lambda: col(num(2).map({operations}, ['a'])))
"""


def callbacks(name: str, rows: int, epochs: int, callbacks: str) -> Case:
    return Case(f"callback.{name}", CALLBACK.format(rows=rows, epochs=epochs, callbacks=callbacks))


def error_samples(mode: str, bad: str, then: str = "", **rest: object) -> Case:
    return Case(f"error samples.{mode}{bad}{then}", MODE.format(mode=mode, bad=bad, then=then), **rest)


CASES = [
    *each("epochs", "over(num(2), {})", "1; 3; 3, -1"),
    *table(
        "iterator",
        """
        names | [type(num().create_dict_iterator()).__name__, type(num().create_tuple_iterator()).__name__]
        tuple | list(abc().create_tuple_iterator(num_epochs=1, output_numpy=True))
        tuple columns | list(abc().create_tuple_iterator(['c', 'a'], num_epochs=1, output_numpy=True))
        tuple column | list(abc().create_tuple_iterator('c', num_epochs=1, output_numpy=True))
        plain | list(num(2))
        plain twice | d = num(2); result = [list(d), list(d)]
        tensors | rows(abc(), False)
        copied | list(num(2).create_dict_iterator(num_epochs=1, output_numpy=True, do_copy=True))
        column names | abc().create_dict_iterator().get_col_names()
        _get_next | it = num(1).create_dict_iterator(num_epochs=1, output_numpy=True); result = \
            [it._get_next(), it._get_next()]
        _get_next tuple | it = num(1).create_tuple_iterator(num_epochs=1, output_numpy=True); result = \
            [it._get_next(), it._get_next()]
        stop twice | it = num().create_dict_iterator(); it.stop(); result = it.stop()
        release | num().create_dict_iterator().release()
        parallel convert | ds.config.set_iterator_mode(parallel_convert=True); result = rows(abc(3))
        init step | d = num(5); d.set_init_step(2); result = over(d, 1)
        init step of batches | d = num(5).batch(2); d.set_init_step(1); result = over(d, 1)
        init step of later epochs | d = num(3); d.set_init_step(4); result = over(d, 2, 3)
        len after a pass | d = num(4); list(d); result = len(d)
    """,
    ),
    Case(
        "iterator.half an epoch",
        """
it = num(3).create_dict_iterator(num_epochs=2, output_numpy=True)
next(it)
result = [[r['a'].tolist() for r in it], [r['a'].tolist() for r in it]]
""",
    ),
    Case(
        "iterator.next at the end",
        """
it = num(1).create_dict_iterator(num_epochs=2, output_numpy=True)
next(it)
try:
    next(it)
except StopIteration:
    result = next(it)
""",
    ),
    Case(
        "iterator.two at once",
        """
d = num(2)
a, b = (d.create_dict_iterator(num_epochs=1, output_numpy=True) for _ in range(2))
result = [next(a), next(b), next(b), next(a)]
""",
    ),
    *table(
        "iterator",
        """
        one epoch too many | over(num(2), 2, 1) => epoch
        negative init step | d = num(3); d.set_init_step(-1); result = col(d) => step, -1
        unknown column | list(num().create_tuple_iterator(['q'], num_epochs=1)) => q
    """,
    ),
    Case(
        "iterator.after stop",
        "it = num().create_dict_iterator(); it.stop(); result = next(it)",
        better="MindSpore raises an AttributeError where it means a RuntimeError",
        raises=(RuntimeError,),
    ),
    callbacks("every row", 2, 2, "Look()"),
    callbacks("every second row", 5, 2, "Look(2)"),
    callbacks("step longer than an epoch", 3, 2, "[Look(4)]"),
    callbacks("two callbacks", 2, 1, "[Look(), Look(2)]"),
    Case(
        "callback.raises",
        """
class Fails(ds.DSCallback):
    def ds_epoch_begin(self, c):
        raise ValueError('boo')
result = rows(num().map(abs, callbacks=Fails()))
""",
        ("boo",),
    ),
    Case(
        "callback.attributes",
        """
names = []
class Look(ds.DSCallback):
    def ds_begin(self, c):
        names.extend(n for n in dir(c) if n.startswith('cur_'))
rows(num(1).map(abs, callbacks=Look()))
result = names
""",
    ),
    Case(
        "waited.no training",
        """
class Wait(ds.WaitedDSCallback):
    def sync_step_begin(self, train, c):
        pass
ds.config.set_callback_timeout(1)
result = rows(num(3).map(abs, callbacks=Wait()))
""",
        ("timed out",),
    ),
    Case(
        "waited.steps",
        """
seen = []
class Wait(ds.WaitedDSCallback):
    def sync_step_begin(self, train, c):
        seen.append((train, c.cur_step_num))
wait = Wait(1)
d = num(3).map(abs, num_parallel_workers=1, callbacks=wait)
it = d.create_dict_iterator(num_epochs=1, output_numpy=True)
out = []
for step, row in enumerate(it):
    out.append(row['a'].tolist())
    wait.step_end(f'step {step}')
result = [out, seen]
""",
    ),
    Case(
        "sync.steps",
        """
given = []
d = num(6).sync_wait('policy', callback=given.append).map(lambda x: x).batch(2)
out = []
for row in d.create_dict_iterator(num_epochs=1, output_numpy=True):
    out.append(row['a'].tolist())
    d.sync_update('policy', data={'step': len(out)})
result = [out, given]
""",
    ),
    Case(
        "sync.two batches",
        """
given = []
d = num(6).sync_wait('policy', num_batch=2, callback=given.append).batch(1)
out = []
for row in d.create_dict_iterator(num_epochs=1, output_numpy=True):
    out.append(row['a'].tolist())
    if len(out) % 2 == 0:
        d.sync_update('policy', num_batch=2, data=len(out))
result = [out, given]
""",
    ),
    error_samples("RETURN", "(2,)", words=("bad row",)),
    *[
        error_samples("SKIP", bad, then)
        for bad in ("()", "(2,)", "(0, 1)", "(3, 4)")
        for then in ("", ".batch(2)")
    ],
    *[error_samples("REPLACE", "()", then) for then in ("", ".batch(2)")],
    *[
        error_samples(
            "REPLACE",
            bad,
            then,
            better="a good row stands in the place of the bad one; MindSpore adds good rows at the end of the epoch",
            want=[[good[:2], good[2:4], good[4:]] if then else good, 5],
        )
        for bad, good in [("(2,)", [0, 1, 1, 3, 4]), ("(0, 1)", [2, 2, 2, 3, 4]), ("(3, 4)", [0, 1, 2, 2, 2])]
        for then in ("", ".batch(2)")
    ],
    error_samples("SKIP", "(0, 1, 2, 3, 4)"),
    error_samples("REPLACE", "(0, 1, 2, 3, 4)", words=("replace",)),
    Case(
        "error samples.source",
        """
ds.config.set_error_samples_mode(ds.config.ErrorSamplesMode.SKIP)
result = rows(gen(Indexed({0: 1, 2: 3})))
""",
        better="a row that its source cannot give is a bad row like any other",
        want=[{"a": np.array(1)}],
    ),
    *[
        Case(f"debug.{name}", HOOKED.format(hooks=hooks, operations=operations))
        for name, hooks, operations in [
            ("own hook", "[Hook()]", "[double, double]"),
            ("two hooks", "[Hook(), ds.debug.PrintDataHook()]", "double"),
            ("data", "[ds.debug.PrintDataHook()]", "[double, double]"),
            ("meta data", "[ds.debug.PrintMetaDataHook()]", "[double, double]"),
            ("by default", "None", "double"),
            ("in the list", "[ds.debug.PrintDataHook()]", "[double, Hook()]"),
        ]
    ],
    Case(
        "debug.same rows",
        """
ds.config.set_debug_mode(True, [ds.debug.PrintDataHook()])
result = []
printed(lambda: result.extend(rows(abc().map(lambda x: x * 2).batch(2))))
""",
    ),
    Case(
        "debug.thread",
        """
import threading
seen = []
ds.config.set_debug_mode(True)
def look(x):
    seen.append(threading.current_thread() is threading.main_thread())
    return x
printed(lambda: rows(num(2).map(look)))
result = seen
""",
    ),
    Case(
        "debug.error",
        "ds.config.set_debug_mode(True); result = printed(lambda: rows(num(1).map(lambda x: 1 / 0)))",
        ("division by zero",),
    ),
]
