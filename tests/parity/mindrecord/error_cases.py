"""What MindSpore raises when its record classes are used wrongly: the cases, and the recording of the answers.

Run with a Python that has MindSpore, in an empty folder: ``python error_cases.py > errors_mindspore.json``.
"""

import json
import os
import sys

S = {"n": {"type": "int32"}, "b": {"type": "bytes"}}
ROW = {"n": 1, "b": b"x"}


def _schema(entry, second=None):
    def case(m):
        writer = m.FileWriter("s.mr", overwrite=True)
        writer.add_schema(entry)
        if second is not None:
            writer.add_schema(second)

    return case


def _index(fields, schema=S):
    def case(m):
        writer = m.FileWriter("i.mr", overwrite=True)
        if schema:
            writer.add_schema(schema)
        writer.add_index(fields)

    return case


def _write(rows, parallel=False, schema=S):
    def case(m):
        writer = m.FileWriter("w.mr", overwrite=True)
        if schema:
            writer.add_schema(schema)
        writer.write_raw_data(rows, parallel)

    return case


def _made(m):
    if not os.path.exists("made.mr"):
        writer = m.FileWriter("made.mr")
        writer.add_schema(S)
        writer.add_index(["n"])
        writer.write_raw_data([dict(ROW)])
        writer.commit()
    return "made.mr"


def _page(act):
    def case(m):
        page = m.MindPage(_made(m))
        try:
            act(page)
        finally:
            close = getattr(page, "close", None)
            if close:
                close()

    return case


def _chosen(act):
    def inner(page):
        page.category_field = "n"
        act(page)

    return _page(inner)


def _set(page, name, value):
    setattr(page, name, value)


def _after_commit(m):
    writer = m.FileWriter("c.mr", overwrite=True)
    writer.add_schema(S)
    writer.write_raw_data([dict(ROW)])
    writer.commit()
    writer.write_raw_data([dict(ROW)])


def _exists(m):
    writer = m.FileWriter(_made(m))
    writer.add_schema(S)
    writer.write_raw_data([dict(ROW)])


CASES = {
    "name: a bad character": lambda m: m.FileWriter("a:b.mr"),
    "name: a blank in front": lambda m: m.FileWriter(" a.mr"),
    "name: empty": lambda m: m.FileWriter(""),
    "name: None": lambda m: m.FileWriter(None),
    "name: a number": lambda m: m.FileWriter(5),
    "shard_num: 0": lambda m: m.FileWriter("a", 0),
    "shard_num: 1001": lambda m: m.FileWriter("a", 1001),
    "shard_num: text": lambda m: m.FileWriter("a", "1"),
    "overwrite: a number": lambda m: m.FileWriter("a", 1, 1),
    "schema: twice": _schema(S, S),
    "schema: a list": _schema([1]),
    "schema: empty": _schema({}),
    "schema: a bad field name": _schema({"a-b": {"type": "int32"}}),
    "schema: a bad type": _schema({"a": {"type": "uint8"}}),
    "schema: an extra attribute": _schema({"a": {"type": "int32", "x": 1}}),
    "schema: an entry that is no dict": _schema({"a": "int32"}),
    "schema: a tuple as shape": _schema({"a": {"type": "int32", "shape": (1,)}}),
    "schema: a shape on text": _schema({"a": {"type": "string", "shape": [1]}}),
    "schema: two open dimensions": _schema({"a": {"type": "int32", "shape": [-1, -1]}}),
    "schema: a dimension of 0": _schema({"a": {"type": "int32", "shape": [0]}}),
    "index: before the schema": _index(["n"], None),
    "index: empty": _index([]),
    "index: a str": _index("n"),
    "index: a blob": _index(["b"]),
    "index: unknown": _index(["zz"]),
    "index: twice": _index(["n", "n"]),
    "index: a number": _index([1]),
    "write: a dict": _write({"n": 1}),
    "write: no dicts": _write([1, 2]),
    "write: nothing": _write([]),
    "write: wrong types": _write([{"n": "x", "b": b"y"}]),
    "write: parallel_writer is a number": _write([dict(ROW)], 1),
    "write: no schema": _write([dict(ROW)], False, None),
    "write: after commit": _after_commit,
    "write: the file exists": _exists,
    "commit: no schema": lambda m: m.FileWriter("k.mr").commit(),
    "header size: text": lambda m: m.FileWriter("a").set_header_size("x"),
    "header size: too small": lambda m: m.FileWriter("a").set_header_size(10),
    "header size: odd": lambda m: m.FileWriter("a").set_header_size(16385),
    "page size: text": lambda m: m.FileWriter("a").set_page_size("x"),
    "page size: too small": lambda m: m.FileWriter("a").set_page_size(10),
    "append: no such file": lambda m: m.FileWriter.open_for_append("nothing.mr"),
    "append: None": lambda m: m.FileWriter.open_for_append(None),
    "reader: no such file": lambda m: m.FileReader("nothing.mr"),
    "reader: None": lambda m: m.FileReader(None),
    "reader: a number": lambda m: m.FileReader(5),
    "reader: num_consumer 0": lambda m: m.FileReader(_made(m), 0),
    "reader: num_consumer text": lambda m: m.FileReader(_made(m), "a"),
    "reader: columns a str": lambda m: m.FileReader(_made(m), columns="n"),
    "reader: columns of numbers": lambda m: m.FileReader(_made(m), columns=[1]),
    "reader: columns unknown": lambda m: m.FileReader(_made(m), columns=["zz"]),
    "page: no such file": lambda m: m.MindPage("nothing.mr"),
    "page: num_consumer 0": lambda m: m.MindPage(_made(m), 0),
    "page: category_field a number": _page(lambda p: _set(p, "category_field", 5)),
    "page: category_field unknown": _page(lambda p: _set(p, "category_field", "b")),
    "page: info before the field": _page(lambda p: p.read_category_info()),
    "page: by id -1": _chosen(lambda p: p.read_at_page_by_id(-1, 0, 1)),
    "page: by id text": _chosen(lambda p: p.read_at_page_by_id("x", 0, 1)),
    "page: by id 99": _chosen(lambda p: p.read_at_page_by_id(99, 0, 1)),
    "page: page -1": _chosen(lambda p: p.read_at_page_by_id(0, -1, 1)),
    "page: num_row 0": _chosen(lambda p: p.read_at_page_by_id(0, 0, 0)),
    "page: by name a number": _chosen(lambda p: p.read_at_page_by_name(5, 0, 1)),
    "page: by name unknown": _chosen(lambda p: p.read_at_page_by_name("zz", 0, 1)),
    "page: beyond the end": _chosen(lambda p: p.read_at_page_by_name("1", 9, 1)),
    "cifar10: no such folder": lambda m: m.Cifar10ToMR("nothing", "d.mr"),
    "cifar10: an empty folder": lambda m: m.Cifar10ToMR(_folder(), "d.mr"),
    "cifar100: no such folder": lambda m: m.Cifar100ToMR("nothing", "d.mr"),
    "cifar100: an empty folder": lambda m: m.Cifar100ToMR(_folder(), "d.mr"),
    "cifar10: fields a str": lambda m: m.Cifar10ToMR(_cifar(), "d.mr").transform("x"),
    "imagenet: no map file": lambda m: m.ImageNetToMR("nothing", _folder(), "d.mr"),
    "imagenet: no folder": lambda m: m.ImageNetToMR(_file(), "nothing", "d.mr"),
    "mnist: no such folder": lambda m: m.MnistToMR("nothing", "d.mr"),
    "mnist: partition_number 0": lambda m: m.MnistToMR(_folder(), "d.mr", 0),
    "csv: no such file": lambda m: m.CsvToMR("nothing.csv", "d.mr"),
    "csv: source a number": lambda m: m.CsvToMR(5, "d.mr"),
    "csv: columns a str": lambda m: m.CsvToMR(_file(), "d.mr", "a"),
    "key: a number": lambda m: m.set_enc_key(5),
    "key: a wrong length": lambda m: m.set_enc_key("abc"),
    "mode: unknown": lambda m: m.set_enc_mode("XYZ"),
    "decode mode: a number": lambda m: m.set_dec_mode(5),
}


def _folder():
    os.makedirs("folder", exist_ok=True)
    return "folder"


def _file():
    with open("file.csv", "w") as file:
        file.write("a,b\n1,x\n")
    return "file.csv"


def _cifar():
    os.makedirs("cifar", exist_ok=True)
    for name in [f"data_batch_{n}" for n in range(1, 6)] + ["test_batch"]:
        open(f"cifar/{name}", "w").close()
    return "cifar"


def answer(case, module):
    """Return the class, its ancestors and the text of what a case raises, or None."""
    try:
        case(module)
    except Exception as error:
        return [type(error).__name__, [base.__name__ for base in type(error).__mro__[1:-2]], str(error)[:300]]
    return None


def answers(module):
    return {name: answer(case, module) for name, case in CASES.items()}


if __name__ == "__main__":
    import mindspore.mindrecord

    json.dump(answers(mindspore.mindrecord), sys.stdout, indent=1)
