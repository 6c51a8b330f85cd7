"""One declaration of a model and its transforms: a file through a pipeline and through a server gives the same bits."""

import json
import zipfile

import numpy as np
import pytest
from PIL import Image

import millrace.dataset as ds
from millrace import Tensor, export, float32, int32, nn
from millrace._src.serve.servable import load_model_file
from millrace.dataset import text, transforms, vision
from millrace.serve import ArgMax, Client, Config, Labels, Servable, Softmax, start
from tests.unit.serve.example_models import any_rows, config

STEPS = [
    vision.Decode(),
    vision.Resize(20),
    vision.CenterCrop((16, 16)),
    vision.Normalize([120.0, 110.0, 100.0], [60.0, 61.0, 62.0]),
    vision.HWC2CHW(),
]


class Words(nn.Cell):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(5, 2, embedding_table=Tensor(np.arange(10, dtype=np.float32).reshape(5, 2)))

    def construct(self, words):
        return self.table(words).sum(1)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    draw = np.random.default_rng(3)
    for number, (name, shape) in enumerate(
        (("a.jpg", (40, 50, 3)), ("b.png", (33, 20, 3)), ("c.jpg", (64, 31, 3)))
    ):
        pixels = draw.integers(0, 255, shape, np.uint8)
        (folder / str(number)).mkdir()
        Image.fromarray(pixels).save(folder / str(number) / name)
    return folder


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("servables")
    # what comes out of the transforms is sent back, so that they can be compared
    whole = Servable(nn.Identity(), inputs=[any_rows(3, 16, 16)], pre=STEPS)
    whole.save(str(folder / "pixels.mindir"))
    vocab = text.Vocab.from_list(["a", "dog", "cat", "runs", "<unk>"])
    words = Servable(
        Words(),
        inputs=[any_rows(3, dtype=int32)],
        pre=[text.WhitespaceTokenizer(), text.Lookup(vocab, "<unk>"), transforms.PadEnd([3], 0)],
        post=[Softmax(), ArgMax(), Labels(["bad", "good"])],
    )
    words.save(str(folder / "words.mindir"))
    models = {"pixels": str(folder / "pixels.mindir"), "words": str(folder / "words.mindir")}
    with start(config(models)) as running:
        yield running


def test_a_file_gives_the_same_bits_in_the_pipeline_and_through_the_server(pictures, served):
    data = ds.ImageFolderDataset(str(pictures), shuffle=False).map(STEPS, "image").batch(3)
    [batch] = data.create_dict_iterator(num_epochs=1, output_numpy=True)
    files = [path.read_bytes() for path in sorted(pictures.glob("*/*"))]
    with Client(served.url) as client:
        together = client.infer("pixels", files)
        alone = [client.infer("pixels", [file])[0] for file in files]
    assert together.dtype == batch["image"].dtype == np.float32
    assert together.tobytes() == batch["image"].tobytes()
    assert np.stack(alone).tobytes() == batch["image"].tobytes()


def test_text_goes_through_its_transforms_and_results_through_theirs(served):
    with Client(served.url) as client:
        about = client.metadata("words")
        assert about["inputs"] == [{"name": "words", "datatype": "BYTES", "shape": [-1]}]
        assert about["outputs"] == [{"name": "y", "datatype": "BYTES", "shape": [-1]}]
        assert client.infer("words", ["a dog runs", "the cat"]).tolist() == [b"good", b"good"]
        with pytest.raises(RuntimeError, match=r"'words', row 1, `pre`: .*"):
            client.infer("words", ["a dog", b"\xff\xfe"])


def test_a_file_that_is_no_picture_is_named_and_others_are_answered(pictures, served):
    good = next(pictures.glob("*/a.jpg")).read_bytes()
    with Client(served.url) as client:
        with pytest.raises(RuntimeError, match="'input', row 1, `pre`: Decode") as failed:
            client.infer("pixels", [good, b"no picture"])
        assert failed.value.status == 400
        assert client.infer("pixels", [good]).shape == (1, 3, 16, 16)


def test_the_archive_is_data_and_is_refused_where_it_names_anything_else(tmp_path, served):
    path = tmp_path / "net.mindir"
    Servable(nn.Identity(), inputs=[any_rows(3, 16, 16)], pre=STEPS).save(str(path))
    with zipfile.ZipFile(path) as archive:
        about = json.loads(archive.read("servable.json"))
        others = {name: archive.read(name) for name in archive.namelist() if name != "servable.json"}
    assert [step["tensor_op_name"] for step in about["pre"]["input"]][:2] == ["Decode", "Resize"]
    step = about["pre"]["input"][0]
    for changed in (
        {**about, "pre": {"input": [{**step, "tensor_op_name": "system", "python_module": "os"}]}},
        {**about, "pre": {"input": [{**step, "python_module": "millrace._src.data.transforms.nothing"}]}},
        {**about, "pre": {"other": [step]}},
        {**about, "pre": 3},
        {**about, "takes": {"input": 3}},
        {**about, "version": 9},
        3,
    ):
        with zipfile.ZipFile(tmp_path / "other.mindir", "w") as archive:
            archive.writestr("servable.json", json.dumps(changed))
            for name, data in others.items():
                archive.writestr(name, data)
        with pytest.raises(RuntimeError, match=r"other\.mindir"):
            load_model_file(str(tmp_path / "other.mindir"))


def test_an_onnx_file_takes_transforms_too(tmp_path):
    net = nn.Dense(2, 2, weight_init="ones", has_bias=False)
    export(net, any_rows(2), file_name=str(tmp_path / "net"), file_format="ONNX")
    made = Servable(
        tmp_path / "net.onnx", pre=[transforms.TypeCast(float32)], takes=("UINT8", (2,)), post=[ArgMax()]
    )
    made.save(str(tmp_path / "net.mindir"))
    again = load_model_file(str(tmp_path / "net.mindir"))
    assert again.runner.platform == "onnxruntime_onnx"
    assert (again.inputs[0].datatype, again.inputs[0].shape) == ("UINT8", (-1, 2))
    assert again.predict([np.array([[1, 2], [3, 4]], np.uint8)])[0].tolist() == [0, 0]
    # an archive can be given other transforms
    other = Servable(tmp_path / "net.mindir", post=[Softmax()])
    other.save(str(tmp_path / "other.mindir"))
    assert load_model_file(str(tmp_path / "other.mindir")).predict([np.ones((1, 2), np.float32)])[
        0
    ].tolist() == [[0.5, 0.5]]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (
            {"pre": [vision.RandomCrop(8)]},
            "RandomCrop in `pre` is random: a request must give the same result each time",
        ),
        ({"pre": [lambda x: x]}, "and of millrace.serve, got <function"),
        ({"pre": [transforms.Compose([lambda x: x])]}, "it is a Python function"),
        ({"pre": [vision.HWC2CHW()]}, "the transforms of 'input' need the type of a row"),
        ({"pre": {"other": [vision.Decode()]}}, "`pre` names 'other', but the tensors are input"),
        ({"pre": [vision.HWC2CHW()], "takes": ("UINT9", (3,))}, "'UINT9' is no datatype"),
        ({"pre": [vision.HWC2CHW()], "takes": 3}, "`takes` is a datatype and a shape"),
        ({"inputs": []}, "a network needs `inputs`"),
        ({"inputs": [Tensor([[1.0]])], "pre": STEPS}, "any number of rows"),
        ({"outputs": ["a", "b"]}, "names 2 outputs, but has 1"),
    ],
)
def test_what_cannot_be_declared_is_said_at_once(more, words):
    with pytest.raises((TypeError, ValueError, RuntimeError), match=r"\w") as failed:
        Servable(nn.Identity(), **{"inputs": [any_rows(3, 16, 16)], **more})
    assert words in str(failed.value)


def test_wrong_settings_are_said_at_once():
    for changes, words in (
        ({"models": {}}, "needs a model"),
        ({"max_batch": 0}, "max_batch is at least 1"),
        ({"timeout": 0}, "above 0"),
        ({"token": ""}, "the token is empty"),
        ({"key": "x"}, "both 'certificate' and 'key'"),
    ):
        with pytest.raises(ValueError, match=words):
            Config(**{"models": {"a": "a.onnx"}, **changes})


def test_a_net_whose_constants_follow_the_rows_is_refused_for_any_rows(tmp_path):
    class Kept(nn.Cell):
        def construct(self, x):
            return x + Tensor(np.ones((x.shape[0], 2), np.float32))

    with pytest.raises(RuntimeError, match="for any number of rows"):
        export(Kept(), any_rows(2), file_name=str(tmp_path / "net"), file_format="MINDIR")


def test_any_number_of_rows_gives_what_the_net_gives(tmp_path):
    net = nn.SequentialCell([nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten(), nn.Dense(32, 3)])
    export(net, any_rows(1, 4, 4), file_name=str(tmp_path / "net"), file_format="MINDIR")
    net.set_train(False)
    ready = load_model_file(str(tmp_path / "net.mindir"))
    from millrace import load

    cell = nn.GraphCell(load(str(tmp_path / "net.mindir")))
    for rows in (1, 2, 9):
        given = np.random.default_rng(rows).standard_normal((rows, 1, 4, 4)).astype(np.float32)
        want = net(Tensor(given)).asnumpy()
        np.testing.assert_array_equal(ready.predict([given])[0], want)
        np.testing.assert_array_equal(cell(Tensor(given)).asnumpy(), want)
