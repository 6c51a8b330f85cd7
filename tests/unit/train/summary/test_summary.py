"""Summaries, read back with the real TensorBoard."""

import numpy as np
import pytest

pytest.importorskip("torch")

from millrace import GRAPH_MODE, PYNATIVE_MODE, Tensor, nn, ops, set_context, train
from millrace._src.train.summary import tensorboard_events as events
from tests.unit.train.small_networks import data, dense


def read(folder):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    found = accumulator.EventAccumulator(
        str(folder), size_guidance={"images": 0, "histograms": 0, "scalars": 0}
    )
    found.Reload()
    return found


def test_numbers_pictures_histograms_and_words_come_back(tmp_path):
    picture = np.arange(2 * 3 * 4 * 5, dtype=np.uint8).reshape(2, 3, 4, 5)
    with train.SummaryRecord(str(tmp_path)) as record:
        record.add_value("scalar", "loss", Tensor(0.5))
        record.add_value("image", "pictures", Tensor(picture))
        record.add_value("histogram", "weights", Tensor(np.array([0.0, 1.0, 1.0, np.inf], np.float32)))
        record.add_value("custom_lineage_data", "note", {"batch": 2})
        assert record.record(3)
        record.add_value("scalar", "loss", 0.25)
        record.record(4)
    found = read(tmp_path)
    assert [(each.step, each.value) for each in found.Scalars("loss")] == [(3, 0.5), (4, 0.25)]
    image = found.Images("pictures")[0]
    assert (image.width, image.height) == (5, 4)
    from io import BytesIO

    from PIL import Image

    pixels = np.asarray(Image.open(BytesIO(image.encoded_image_string)))
    np.testing.assert_array_equal(pixels, picture[0].transpose(1, 2, 0))
    spread = found.Histograms("weights")[0].histogram_value
    assert (spread.num, spread.min, spread.max, spread.sum) == (3, 0.0, 1.0, 2.0)
    assert sum(spread.bucket) == 3
    assert found.Tensors("note/text_summary" if "note/text_summary" in found.Tags()["tensors"] else "note")


def test_the_net_comes_back_as_a_graph(tmp_path):
    net = nn.SequentialCell(nn.Dense(2, 3), nn.ReLU())
    with train.SummaryRecord(str(tmp_path), network=net) as record:
        record.record(1)
    graph = read(tmp_path).Graph()
    assert {node.name: node.op for node in graph.node}["SequentialCell/1/ReLU"] == "ReLU"
    dense_node = next(node for node in graph.node if node.op == "Dense")
    assert list(dense_node.input) == ["SequentialCell/0/weight", "SequentialCell/0/bias"]


@pytest.mark.parametrize("mode", [PYNATIVE_MODE, GRAPH_MODE])
def test_what_a_net_summarises_is_written_in_every_step(tmp_path, mode):
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.fc, self.summary = nn.Dense(3, 1, weight_init="ones"), ops.ScalarSummary()

        def construct(self, x, y):
            loss = ops.abs(self.fc(x) - y).mean()
            self.summary("inside", loss)
            return loss

    net = Net()
    set_context(mode=mode)
    try:
        with train.SummaryRecord(str(tmp_path)) as record:

            class Keep(train.Callback):
                def on_train_step_end(self, run_context):
                    record.record(run_context.original_args().cur_step_num)

            train.Model(net, None, nn.SGD(net.trainable_params(), 0.1)).train(1, data(), callbacks=Keep())
    finally:
        set_context(mode=PYNATIVE_MODE)
    assert [each.step for each in read(tmp_path).Scalars("inside")] == [1, 2, 3]


def test_the_collector_keeps_the_usual_things(tmp_path):
    model = dense(metrics={"mae"})
    collector = train.SummaryCollector(
        str(tmp_path),
        collect_freq=2,
        collect_tensor_freq=3,
        collect_specified_data={"histogram_regular": "weight"},
    )
    model.fit(2, data(), data(), callbacks=collector)
    found = read(tmp_path)
    assert [each.step for each in found.Scalars("loss")] == [1, 2, 4, 6]
    assert [each.step for each in found.Scalars("eval/mae")] == [1, 2]
    assert [each.step for each in found.Histograms("weight/auto")] == [1, 3, 6]
    assert any(node.op == "Dense" for node in found.Graph().node)


def test_a_large_file_is_followed_by_another(tmp_path):
    with train.SummaryRecord(str(tmp_path), max_file_size=200) as record:
        for step in range(9):
            record.add_value("scalar", "loss", 1.0)
            record.record(step)
    assert len(list(tmp_path.iterdir())) > 1


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda record: record.add_value("sound", "x", 1.0), ValueError, "No such plugin of 'sound'"),
        (lambda record: record.add_value("scalar", "", 1.0), ValueError, "must not be empty"),
        (lambda record: record.add_value("scalar", 3, 1.0), TypeError, "'name'"),
        (lambda record: record.add_value("scalar", "x", "y"), TypeError, "must be a Tensor"),
        (lambda record: record.add_value("image", "x", Tensor([1.0])), ValueError, "N, C, H, W"),
        (lambda record: record.record("one"), TypeError, "'step'"),
        (lambda record: record.set_mode("test"), ValueError, "'train' or 'eval'"),
    ],
)
def test_wrong_calls_are_refused(tmp_path, call, error, words):
    with train.SummaryRecord(str(tmp_path)) as record, pytest.raises(error, match=words):
        call(record)


def test_a_closed_record_takes_nothing(tmp_path):
    record = train.SummaryRecord(str(tmp_path))
    record.close()
    record.close()
    with pytest.raises(ValueError, match="closed"):
        record.record(1)


def test_a_picture_as_png_is_the_same_picture():
    from io import BytesIO

    from PIL import Image

    pixels = np.random.default_rng(0).integers(0, 256, (5, 7, 3), np.uint8)
    np.testing.assert_array_equal(np.asarray(Image.open(BytesIO(events.png(pixels)))), pixels)
