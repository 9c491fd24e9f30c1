"""Train with Keras on the backend of KERAS_BACKEND; print what the model was trained on, as JSON."""

from __future__ import annotations

import copy
import json
import os
import pickle
import sys

if backend := os.environ["KERAS_BACKEND"]:  # Keras and TensorFlow import the others wherever they are there
    sys.modules.update(dict.fromkeys({"jax", "matplotlib", "pandas", "sklearn", "tensorflow", "torch"} - {backend}))

import keras
import numpy as np

from penstock import Dataset

X = np.random.default_rng(0).normal(size=(10, 4)).astype(np.float32)


def batches():
    """Rows of features, a class, and an id; a shuffled epoch of ten has four batches."""
    ds = Dataset.from_tensor_slices((X, np.arange(10) % 3, np.arange(10))).shuffle(seed=0)
    return ds.batch(3)


def model():
    made = keras.Sequential([keras.layers.Dense(3)])
    made.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return made


NETWORK = model()
"""What the parts train that need no model of their own: each model is compiled for a second."""


class Record(keras.callbacks.Callback):
    """Keep the ids of each epoch, and the positions after each batch."""

    def __init__(self, feed):
        super().__init__()
        self.feed, self.epochs, self.states = feed, [], []

    def on_train_batch_end(self, batch, logs=None):
        self.states.append(self.feed.state_dict())

    def on_epoch_end(self, epoch, logs=None):
        self.epochs.append(self.feed.aside.tolist())


class Stop(keras.callbacks.Callback):
    """End the training in the middle of an epoch."""

    def on_train_batch_end(self, batch, logs=None):
        if batch == 1:
            raise KeyboardInterrupt


def trained(result):
    """Epochs as Keras counts them, with an unbuilt model first; then a second fit, evaluate and predict."""
    feed = batches().to_keras(aside=2)
    record = Record(feed)
    NETWORK.fit(feed, epochs=2, verbose=0, callbacks=[feed.callback, record])
    NETWORK.fit(feed, epochs=1, verbose=0, callbacks=[feed.callback, record])
    result["ids"] = record.epochs
    result["rows"] = [(state["epoch"], state["row"]) for state in record.states]
    predictions = NETWORK.predict(feed, verbose=0)
    result["predicted"] = feed.aside.tolist()
    expected = keras.ops.convert_to_numpy(NETWORK(X[feed.aside]))
    result["predictions are of these ids"] = bool(np.allclose(predictions, expected, atol=1e-5))
    result["loss"] = float(NETWORK.evaluate(feed, verbose=0))


def without_a_word(result):
    """The dataset itself, as `x` and as `validation_data`."""
    pairs = batches().map(lambda x, y, i: (x, y))
    history = NETWORK.fit(pairs, epochs=2, verbose=0, validation_data=pairs)
    result["history"] = sorted(history.history)
    result["shape"] = NETWORK.predict(pairs, verbose=0).shape
    result["is a dataset"] = isinstance(pairs, Dataset) and issubclass(pairs.__class__, Dataset)


def seen_by_keras(result):
    """What a dataset is to Keras, which it takes for one of its adapters, and to all others."""
    from keras.src.trainers.data_adapters.data_adapter import DataAdapter

    ds = Dataset.range(6).batch(2)
    result["is an adapter"] = isinstance(ds, DataAdapter) and isinstance(ds, Dataset)
    result["type"] = [type(each) is Dataset for each in (ds, pickle.loads(pickle.dumps(ds)), copy.copy(ds))]
    result["batches"] = ds.num_batches
    result["first"] = next(iter(ds.take(1))).tolist()


def endless(result):
    seen = []

    def note(x, y, i):
        seen.append(i.tolist())
        return x, y, i

    endless = batches().repeat().map(note, vectorized=False).with_options(options())
    feed = endless.to_keras(aside=2)
    NETWORK.fit(feed, epochs=2, steps_per_epoch=3, verbose=0)
    result["six steps"] = len(feed.aside)


def options():
    from penstock import Options

    return Options(executor="inline")


def resumed(result):
    """Stop after two batches, and go on with another model and dataset."""
    feed = batches().to_keras(aside=2)
    try:
        model().fit(feed, epochs=2, verbose=0, callbacks=[feed.callback, Stop()])
    except KeyboardInterrupt:
        saved = feed.state_dict()
    again = batches().to_keras(aside=2)
    again.load_state_dict(json.loads(json.dumps(saved)))
    record = Record(again)
    NETWORK.fit(again, epochs=2, initial_epoch=again.epoch, verbose=0, callbacks=[again.callback, record])
    result["resumed"] = record.epochs


def weighed(result):
    pairs = batches().map(lambda x, y, i: (x, y))
    NETWORK.fit(pairs.to_keras(class_weight={0: 2.0, 1: 0.5}), verbose=0)
    (_, y, weight) = next(pairs.to_keras(class_weight={0: 2.0, 1: 0.5}).get_numpy_iterator())
    result["weights"] = weight.tolist() == [{0: 2.0, 1: 0.5}.get(int(each), 1.0) for each in y]


def refused(result):
    result["refused"] = []
    for wrong in (
        Dataset.from_tensor_slices((X, np.arange(10))),
        batches().map(lambda x, y, i: (x, y, y, i)),
        batches().map(lambda x, y, i: ({"x": x, "s": i.astype(str)}, y)),
    ):
        try:
            model().fit(wrong.to_keras(), verbose=0)
        except Exception as error:  # noqa: BLE001 - TensorFlow makes its own of an ElementError
            result["refused"].append(str(error))


def refused_calls(result):
    """The errors of calls that Keras itself would take in silence, or never end."""
    pairs, inputs = batches().map(lambda x, y, i: (x, y)), batches().map(lambda x, y, i: x)
    targets = np.arange(10)
    empty = pairs.filter(lambda x, y: False)
    calls = {
        "y": lambda: model().fit(pairs, targets),
        "y of evaluate": lambda: model().evaluate(pairs.to_keras(), targets),
        "sample_weight": lambda: model().fit(pairs, sample_weight=targets),
        "class_weight": lambda: model().fit(pairs, class_weight={0: 2.0}, verbose=0),
        "endless": lambda: model().fit(pairs.repeat()),
        "endless validation": lambda: model().fit(pairs, validation_data=pairs.repeat(), verbose=0),
        "endless predict": lambda: model().predict(inputs.repeat(), verbose=0),
        "empty": lambda: model().fit(pairs.take(0)),
        "empty stream": lambda: model().fit(empty, verbose=0),
        "padded": lambda: model().fit(pairs.unbatch().batch(3, remainder="pad"), verbose=0),
        "weights of x": lambda: model().fit(inputs.to_keras(class_weight={0: 2.0}), verbose=0),
        "nothing left": lambda: model().predict(inputs.map(lambda x: {"x": x}).to_keras(aside="x"), verbose=0),
    }
    result["calls"] = {}
    for name, call in calls.items():
        try:
            call()
            result["calls"][name] = "no error"
        except Exception as error:  # noqa: BLE001 - TensorFlow makes its own of an ElementError
            result["calls"][name] = str(error)


def positions_saved_before_the_callback(result):
    feed = batches().to_keras(aside=2)
    record = Record(feed)
    NETWORK.fit(feed, epochs=2, verbose=0, callbacks=[record, feed.callback])
    result["rows saved first"] = [(state["epoch"], state["row"]) for state in record.states]


def resumed_stream(result):
    """Stop a stream after two batches, and go on for two whole epochs more."""
    stream = batches().unbatch().filter(lambda x, y, i: True).batch(3)
    feed = stream.to_keras(aside=2)
    try:
        model().fit(feed, epochs=3, verbose=0, callbacks=[feed.callback, Stop()])
    except KeyboardInterrupt:
        saved = feed.state_dict()
    again = stream.to_keras(aside=2)
    again.load_state_dict(json.loads(json.dumps(saved)))
    record = Record(again)
    NETWORK.fit(again, epochs=3, initial_epoch=again.epoch, verbose=0, callbacks=[again.callback, record])
    result["resumed stream"] = record.epochs


def a_single_batch(result):
    """One batch an epoch, with unbuilt models; the second training goes on where the first stopped."""
    feed = batches().unbatch().batch(10).to_keras(aside=2)
    record = Record(feed)
    model().fit(feed, epochs=2, verbose=0, callbacks=[record])
    model().fit(feed, epochs=1, verbose=0, callbacks=[record])
    result["single"] = record.epochs


result: dict[str, object] = {"backend": keras.backend.backend()}
parts = (trained, without_a_word, seen_by_keras, endless, resumed, weighed, refused)
more = (refused_calls, positions_saved_before_the_callback, resumed_stream, a_single_batch)
for part in parts + more:
    part(result)
json.dump(result, sys.stdout)
