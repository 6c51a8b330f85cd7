"""What the machine could do: numbers that make sense, whatever they are."""

import numpy as np

from millrace._src.cli.bench import hardware_baseline as machine


def test_reading(tmp_path):
    files = []
    for number in range(3):
        path = tmp_path / str(number)
        path.write_bytes(b"x" * 100_000)
        files.append(str(path))
    rates = machine.read_rates([*files, str(tmp_path / "gone")])
    assert set(rates) == {"cold", "warm"}
    assert all(rate > 0 for rate in rates.values())
    assert machine.read_rates([]) == {}
    assert machine.read_rates([str(tmp_path / "gone")]) == {}


def test_decoding_takes_only_whole_jpegs(jpegs):
    arrays = [np.frombuffer(data, np.uint8) for data in jpegs]
    broken = arrays[0][:100]
    text = np.frombuffer(b"no image", np.uint8)
    samples = machine.samples_of([broken, text, *arrays])
    assert len(samples) == len(arrays)
    rates = machine.decode_rates(samples, seconds=0.03)
    assert rates["one"] > 0
    assert rates["all"] > 0
    assert machine.decode_rates([]) == {}


def test_samples_are_bounded(jpegs, monkeypatch):
    arrays = [np.frombuffer(data, np.uint8) for data in jpegs]
    monkeypatch.setattr(machine, "SAMPLES", 5)
    assert len(machine.samples_of(arrays)) == 5
    monkeypatch.setattr(machine, "SAMPLE_BYTES", len(jpegs[0]) + 1)
    assert len(machine.samples_of(arrays)) == 2


def test_copying():
    rates = machine.copy_rate(seconds=0.03)
    assert rates["one"] > 0
    assert rates["all"] > 0
