"""``Model``: training, evaluation and prediction with a network, a loss and an optimizer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, OperationError
from millrace._src.core.log import get_logger
from millrace._src.core.public import public
from millrace._src.core.tracebacks import hides_internal_frames
from millrace._src.observe import training_registry as steps
from millrace._src.observe.training_report import TrainReport
from millrace._src.runtime.distributed.parallel_context import get_auto_parallel_context
from millrace._src.runtime.nn.argument_types import (
    check_argument_type,
    check_bool,
    check_int,
    check_positive_int,
)
from millrace._src.runtime.nn.cell import Cell
from millrace._src.runtime.nn.network_wrappers import WithEvalCell, WithLossCell

from .callbacks.callback import CallbackList, CallbackParams
from .callbacks.progress_bar import LiveValueReader, ProgressBar, should_show_progress
from .checkpoint.latest_checkpoint import resume_run
from .epoch_iterator import (
    EpochIterator,
    TrainingPosition,
    count_batches,
    is_epoch_sink_device,
    sink_size_warning,
)
from .loop import TrainingLoop, evaluate
from .metrics.metric_collection import MetricCollection, resolve_metrics
from .mixed_precision.train_network import build_train_network, check_level
from .model_arguments import check_loss_and_optimizer, check_predict_input, first_input_shape
from .shape_hints import explain_shape_errors

__all__ = ["Model"]

log = get_logger(__name__)

KNOWN_OPTIONS = ("loss_scale_manager", "keep_batchnorm_fp32", "boost_config_dict", "acc_level")
NO_EVALUATION = (
    "If `metrics` is set, `eval_network` must not be None. Do not set `metrics` if you don't want an evaluation.\n"
    "If evaluation is required, you need to specify `eval_network`, which will be used to evaluate the model; for one "
    "data, one label and one result, `loss_fn` is enough, and the evaluation network is made from `network` and "
    "`loss_fn`."
)


@public("train", "millrace")
class Model:
    """Trains, evaluates and predicts with a network.

    `loss_fn` takes the output of `network` and the label (omit it if the network returns the loss); `optimizer` updates
    the weights. `metrics` are names ({"acc", "loss"}, or a list of them) or a dict of Metric objects. `eval_network`
    replaces the network for evaluation, `eval_indexes` are the positions of loss, output and label in its outputs.
    `amp_level` is the mixed precision: "O0" none, "O1" a list of layers, "O2" all but normalization layers, "O3" all,
    "auto" by operation. `loss_scale_manager` and `keep_batchnorm_fp32` refine it; `boost_level` is ignored.

    In graph mode a step (forward, backward, optimizer) is captured once and replayed; in PyNative mode it runs
    operation by operation. Both give the same bits. The loss is only read on request.

    >>> import numpy as np
    >>> import millrace.dataset as ds
    >>> from millrace import Tensor, nn, train
    >>> x = np.arange(8, dtype=np.float32).reshape(8, 1)
    >>> data = ds.NumpySlicesDataset({"x": x, "y": 2 * x}, shuffle=False).batch(4)
    >>> net = nn.Dense(1, 1, weight_init="zeros", bias_init="zeros")
    >>> model = train.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.02), metrics={"mse"})
    >>> model.train(40, data)
    >>> model.eval(data)["mse"] < 0.2
    True
    >>> round(model.predict(Tensor([[10.0]])).item())
    20
    """

    def __init__(
        self,
        network: Any,
        loss_fn: Any = None,
        optimizer: Any = None,
        metrics: Any = None,
        eval_network: Any = None,
        eval_indexes: Any = None,
        amp_level: str = "O0",
        boost_level: str = "O0",
        **kwargs: Any,
    ) -> None:
        if not isinstance(network, Cell):
            raise ArgumentTypeError(
                f"The type of 'network' should be 'Cell', but got type '{type(network).__name__}'."
            )
        for name in kwargs:
            if name not in KNOWN_OPTIONS:
                raise ArgumentValueError(
                    "The argument in 'kwargs' should be 'loss_scale_manager' or 'keep_batchnorm_fp32' or "
                    f"'boost_config_dict' or 'acc_level', but got '{name}'. The others are network, loss_fn, "
                    "optimizer, metrics, eval_network, eval_indexes, amp_level and boost_level."
                )
        check_loss_and_optimizer(loss_fn, optimizer)
        self._network, self._loss_fn, self._optimizer = network, loss_fn, optimizer
        self._options = kwargs
        self._loss_scale_manager = kwargs.get("loss_scale_manager")
        if self._loss_scale_manager is not None and optimizer is None:
            raise ArgumentValueError(
                "The argument 'optimizer' can not be None when set 'loss_scale_manager'."
            )
        if optimizer is None and amp_level != "O0":
            raise ArgumentValueError(
                "Auto mixed precision will not work because 'optimizer' is None. Please set amp_level='O0' to disable "
                "auto mixed precision or set 'optimizer' not be None to use auto mixed precision."
            )
        self._amp_level, self._boost_level = check_level(amp_level), boost_level
        self._metric_fns = resolve_metrics(metrics)
        self._eval_indexes: list[int] | None = None
        self._train_network = self._build_train_network()
        self._eval_network: Any = None
        self._build_eval_network(eval_network, eval_indexes)
        self._predict_network = self._train_backbone()
        # last training mode that was set; another Model, or the user, may have changed it since
        self._trains: bool | None = None
        self._continue_at: TrainingPosition | None = None
        self._resumed_from: str | None = None
        # input shape of the training, without the number of rows
        self._shape_seen: tuple[Any, ...] | None = None
        self._training: TrainingLoop | None = None

    # --- networks --------------------------------------------------------------------------------------------

    def _build_train_network(self) -> Any:
        if self._optimizer is None:
            return self._network if self._loss_fn is None else WithLossCell(self._network, self._loss_fn)
        options = {key: self._options[key] for key in KNOWN_OPTIONS[:2] if key in self._options}
        return build_train_network(
            self._network, self._optimizer, self._loss_fn, self._amp_level, self._boost_level, **options
        )

    def _train_backbone(self) -> Any:
        """The network inside of the training network, with mixed precision."""
        if self._optimizer is None or self._amp_level == "O0":
            return self._network
        inner = self._train_network.network
        return inner.backbone_network if isinstance(inner, WithLossCell) else inner

    def _build_eval_network(self, eval_network: Any, eval_indexes: Any) -> None:
        if not self._metric_fns:
            return
        if eval_network is not None:
            if not isinstance(eval_network, Cell):
                raise ArgumentTypeError(
                    f"The type of 'eval_network' should be 'Cell', but got type '{type(eval_network).__name__}'."
                )
            if eval_indexes is not None and not (isinstance(eval_indexes, list) and len(eval_indexes) == 3):
                raise ArgumentValueError(
                    "The argument 'eval_indexes' must be a list or None. If 'eval_indexes' is a list, length of it "
                    f"must be three. But got 'eval_indexes' {eval_indexes}"
                )
            self._eval_network, self._eval_indexes = eval_network, eval_indexes
        elif self._loss_fn is None:
            raise ArgumentValueError(NO_EVALUATION)
        else:
            lower = self._amp_level in ("O2", "O3", "auto")
            self._eval_network = WithEvalCell(self._network, self._loss_fn, lower)
            self._eval_indexes = [0, 1, 2]

    @property
    def train_network(self) -> Any:
        """The training step cell: network, loss, gradients and optimizer."""
        return self._train_network

    @property
    def eval_network(self) -> Any:
        """The evaluation network; None without metrics."""
        return self._eval_network

    @property
    def predict_network(self) -> Any:
        """The prediction network."""
        return self._predict_network

    def _switch(self, trains: bool) -> Any:
        network = self._train_network if trains else (self._eval_network or self._predict_network)

        def switch() -> None:
            if self._trains is not trains:
                network.set_train(trains)
                self._trains = trains

        return switch

    # --- training --------------------------------------------------------------------------------------------

    @hides_internal_frames
    def train(
        self,
        epoch: int,
        train_dataset: Any,
        callbacks: Any = None,
        dataset_sink_mode: bool = False,
        sink_size: int = -1,
        initial_epoch: int = 0,
        *,
        resume: str | None = None,
    ) -> None:
        """Train for `epoch` epochs.

        With `dataset_sink_mode` batches are prefetched to the device while the previous step runs: the time is that of
        the slowest of data, transfer and steps, which ``report()`` shows. On a device, but not on a CPU, as in
        MindSpore, an epoch is then `sink_size` batches, independent of the dataset's epochs, and in graph mode
        callbacks are called once per epoch. A warning is logged if batches remain unused. `initial_epoch` is the number
        of finished epochs: the epochs from it to `epoch` are trained.

        `train_dataset` is a dataset, or any collection of batches. `resume` is a file that ``ModelCheckpoint`` wrote,
        or its folder: the run resumes from the newest intact file with the same bits as an uninterrupted run, or starts
        from the beginning if there is none. The folder is locked; another run in it is refused. The callbacks'
        ``enc_key`` decrypts.
        """
        self._check(epoch, dataset_sink_mode, sink_size, initial_epoch, "train", "argument")
        if self._loss_fn is not None and self._optimizer is None:
            log.warning(
                "a loss without an optimizer: weights will not change. Pass Model(..., optimizer=...)"
            )
        with self._resuming(resume, callbacks):
            self._train(epoch, train_dataset, callbacks, dataset_sink_mode, sink_size, initial_epoch)

    @hides_internal_frames
    def fit(
        self,
        epoch: int,
        train_dataset: Any,
        valid_dataset: Any = None,
        valid_frequency: Any = 1,
        callbacks: Any = None,
        dataset_sink_mode: bool = False,
        valid_dataset_sink_mode: bool = False,
        sink_size: int = -1,
        initial_epoch: int = 0,
        *,
        resume: str | None = None,
    ) -> None:
        """Train, with an evaluation on `valid_dataset` after every `valid_frequency` epochs, or after those listed.

        After an evaluation ``metrics`` and ``eval_results`` (the same, with ``eval_loss``) are in ``original_args()``
        until the end of the epoch.
        """
        self._check(epoch, dataset_sink_mode, sink_size, initial_epoch, "fit", "parameter")
        check_bool(valid_dataset_sink_mode, "valid_dataset_sink_mode", "Model.fit")
        if not isinstance(valid_frequency, (int, list)) or isinstance(valid_frequency, bool):
            raise ArgumentTypeError(
                "For 'Model.fit', the type of 'valid_frequency' must be a list or an integer, but got type "
                f"{type(valid_frequency)}."
            )
        if isinstance(valid_frequency, int) and valid_frequency < 1:
            raise ArgumentValueError(
                f"For 'Model.fit', 'valid_frequency' must be at least 1, but got {valid_frequency}."
            )
        if valid_dataset is not None and not self._metric_fns:
            raise ArgumentValueError(
                "For 'Model.fit', if valid_dataset is not None, the model argument 'metrics' can not be None or empty, "
                "you should set the argument 'metrics' for model."
            )

        def due(finished: int) -> bool:
            if isinstance(valid_frequency, int):
                return finished % valid_frequency == 0
            return finished in valid_frequency

        valid = None if valid_dataset is None else (valid_dataset, due, valid_dataset_sink_mode)
        with self._resuming(resume, callbacks):
            self._train(epoch, train_dataset, callbacks, dataset_sink_mode, sink_size, initial_epoch, valid)

    @contextmanager
    def _resuming(self, location: str | None, callbacks: Any) -> Iterator[None]:
        parts = (self._network, self._optimizer, self._loss_fn)
        with resume_run(location, self._train_network, parts, callbacks) as (self._run, restored):
            self._resumed_from, self._continue_at = restored or (None, self._continue_at)
            yield

    def _check(self, epoch: int, sinks: bool, sink_size: int, initial: int, method: str, term: str) -> None:
        owner = f"Model.{method}"
        check_positive_int(epoch, "epoch", owner)
        check_bool(sinks, "dataset_sink_mode", owner)
        check_argument_type(sink_size, "sink_size", owner, int)
        check_int(initial, "initial_epoch", owner, 0)
        if epoch <= initial:
            raise ArgumentValueError(
                f"For 'Model.{method}', the parameter 'epoch' must bigger than parameter 'initial_epoch', but got the "
                f"parameter 'epoch' is {epoch}, 'initial_epoch' is {initial}."
            )
        if sink_size < -1 or sink_size == 0:
            raise ArgumentValueError(
                f"For 'Model.{method}', The {term} 'sink_size' must be -1 or positive, but got {sink_size}."
            )

    def _train(
        self,
        epoch: int,
        dataset: Any,
        callbacks: Any,
        sinks: bool,
        sink_size: int,
        initial_epoch: int,
        valid: tuple[Any, Any, bool] | None = None,
    ) -> None:
        size = count_batches(dataset)
        sunk = sinks and is_epoch_sink_device()
        if sinks and sink_size > 0:
            warning = sink_size_warning(size, epoch - initial_epoch, sink_size)
            if not sunk:
                warning = f"on a CPU an epoch is that of the data, as in MindSpore: sink_size={sink_size} is not used"
            if warning:
                log.warning("%s", warning)
        at, self._continue_at = self._continue_at, None
        callback_list = CallbackList(callbacks)
        params = CallbackParams(
            cur_step_num=0 if at is None else at.step,
            batch_num=sink_size if sinks and sink_size > 0 else size,
            dataset_sink_mode=sunk,
            device_number=get_auto_parallel_context("device_num"),
            epoch_num=epoch - initial_epoch,
            initial_step=None,
            is_arf=False,
            last_save_ckpt_step=None,
            latest_ckpt_file=None,
            loss_fn=self._loss_fn,
            loss_scale_mananger=self._loss_scale_manager,
            mode="train",
            network=self._network,
            optimizer=self._optimizer,
            parallel_mode=get_auto_parallel_context("parallel_mode"),
            resumed_from=self._resumed_from,
            run_identity=self._run,
            train_dataset=dataset,
            train_dataset_element=None,
            train_network=self._train_network,
            list_callback=callback_list.callbacks,
        )
        first = initial_epoch if at is None else max(initial_epoch, at.epoch)
        with (
            self._create_epoch_iterator(dataset, -1 if sunk else epoch - initial_epoch, at, sinks) as feed,
            callback_list,
        ):
            self._trains = None
            training = self._training = TrainingLoop(params, callback_list, feed, self._switch(trains=True))
            training.sink = (sink_size if sink_size > 0 else size) if sunk else None
            params.training, training.resumed = training, at
            after = None if valid is None else partial(self._evaluate_between_epochs, training, *valid)
            if should_show_progress(callback_list.callbacks):
                callback_list.add(ProgressBar())
            if steps.has_subscribers():
                callback_list.add(LiveValueReader())
            training.run(first, epoch, 0 if at is None else at.step_in_epoch, after)
            self._shape_seen = first_input_shape(params.train_dataset_element) or self._shape_seen

    @contextmanager
    def _create_epoch_iterator(
        self, dataset: Any, epochs: int, at: TrainingPosition | None = None, sinks: bool = False
    ) -> Iterator[EpochIterator]:
        feed = EpochIterator(dataset, epochs, None if at is None else at.data, through_sink=sinks or None)
        try:
            yield feed
            feed.close(over=True)
        finally:
            feed.close()

    def _evaluate_between_epochs(
        self, training: TrainingLoop, valid_dataset: Any, due: Any, sinks: bool
    ) -> None:
        """Evaluate after a training epoch, then restore the training parameters of callbacks."""
        params = training.params
        if not due(params.cur_epoch_num):
            return
        kept = {name: params.get(name) for name in ("batch_num", "cur_step_num", "mode", "net_outputs")}
        params.eval_network, params.valid_dataset = self._eval_network, valid_dataset
        params.batch_num = count_batches(valid_dataset, "valid_dataset")
        self._evaluate(params, training.callbacks, valid_dataset, with_loss=True, sinks=sinks)
        params.update(kept)

    # --- evaluation ------------------------------------------------------------------------------------------

    @hides_internal_frames
    def eval(
        self, valid_dataset: Any, callbacks: Any = None, dataset_sink_mode: bool = False
    ) -> dict[str, Any]:
        """Evaluate; returns the results of the metrics by name."""
        check_bool(dataset_sink_mode, "dataset_sink_mode", "Model.eval")
        if not self._metric_fns:
            raise ArgumentValueError(
                "For Model.eval, the model argument 'metrics' can not be None or empty, you should set the argument "
                "'metrics' for model."
            )
        callback_list = CallbackList(callbacks)
        params = CallbackParams(
            eval_network=self._eval_network,
            valid_dataset=valid_dataset,
            batch_num=count_batches(valid_dataset, "valid_dataset"),
            mode="eval",
            cur_step_num=0,
            list_callback=callback_list.callbacks,
            network=self._network,
            dataset_sink_mode=False,
        )
        with callback_list:
            return self._evaluate(params, callback_list, valid_dataset, sinks=dataset_sink_mode)

    def _evaluate(
        self,
        params: CallbackParams,
        callback_list: CallbackList,
        dataset: Any,
        with_loss: bool = False,
        sinks: bool = False,
    ) -> dict[str, Any]:
        scores = MetricCollection(self._metric_fns, self._eval_indexes, with_loss)

        def results() -> None:
            params.metrics = scores.results()
            if with_loss:
                params.eval_results = {**params.metrics, **scores.loss()}

        with self._create_epoch_iterator(dataset, 1, sinks=sinks) as feed:
            evaluate(params, callback_list, feed, self._switch(trains=False), scores.update, results)
        return dict(params.metrics)

    # --- prediction ------------------------------------------------------------------------------------------

    @hides_internal_frames
    def predict(
        self, *predict_data: Any, backend: str | None = None, config: dict[str, Any] | None = None
    ) -> Any:
        """Compute the output of the network. The error of a wrong input shape names the transforms that fix it.

        `backend` "lite" is not supported.
        """
        if backend not in (None, "lite"):
            raise ArgumentValueError(f"For 'predict', 'backend' must be None or 'lite', but got {backend!r}.")
        if backend == "lite":
            raise ArgumentValueError(
                "For 'predict', backend='lite' needs MindSpore Lite, which is not supported. Omit it, or use "
                "millrace.export(..., file_format='ONNX') and an ONNX runtime."
            )
        for each in predict_data:
            check_predict_input(each)
        self._trains = None
        self._predict_network.set_train(False)
        with explain_shape_errors(self._network, predict_data, self._shape_seen):
            return self._predict_network(*predict_data)

    # --- compatibility ---------------------------------------------------------------------------------------

    def build(
        self,
        train_dataset: Any = None,
        valid_dataset: Any = None,
        sink_size: int = -1,
        epoch: int = 1,
        sink_mode: bool = True,
    ) -> None:
        """Check the arguments; the first step captures the graph in milliseconds, so nothing is built here."""
        if train_dataset is not None:
            count_batches(train_dataset)
        if valid_dataset is not None:
            if not self._metric_fns:
                raise ArgumentValueError(
                    "If valid_dataset is not None, metrics in model can not be None or empty."
                )
            count_batches(valid_dataset, "valid_dataset")

    def infer_train_layout(
        self, train_dataset: Any, dataset_sink_mode: bool = True, sink_size: int = -1
    ) -> Any:
        """Not supported: layouts belong to automatic parallel training."""
        raise OperationError(
            "'infer_train_layout' only supports 'semi_auto_parallel' and 'auto_parallel' mode, but got "
            f"{get_auto_parallel_context('parallel_mode')}. Data parallel training needs no layout."
        )

    def infer_predict_layout(self, *predict_data: Any, skip_backend_compile: bool = False) -> Any:
        """Not supported: layouts belong to automatic parallel training."""
        raise OperationError(
            "Infer predict layout only supports semi auto parallel and auto parallel mode. Data parallel training "
            "needs no layout."
        )

    def report(self) -> TrainReport:
        """Report of the last training: steps, times, whether the device waited for data, and the pipeline's report."""
        if self._training is None:
            raise OperationError("This Model has not been trained yet; call train() or fit() first.")
        return TrainReport(self._training)
