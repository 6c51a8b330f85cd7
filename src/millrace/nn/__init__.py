"""Cells: nets and the layers that they are made of: ``from millrace import nn``."""

# Written by `python -m tests.contracts.public_api.make_faces` from the table of operations: change that, not this file.

from __future__ import annotations

from millrace._src.core.lazy import lazy
from millrace._src.compat.unsupported_optimizers import (
    OptTFTWrapper,
)
from millrace._src.runtime.nn.activation import (
    FastGelu,
    HSigmoid,
    HSwish,
    LogSigmoid,
    Mish,
    ReLU,
    ReLU6,
    SeLU,
    SiLU,
    Sigmoid,
    Softsign,
    Tanh,
    Tanhshrink,
    get_activation,
)
from millrace._src.runtime.nn.activation_shaped import (
    CELU,
    ELU,
    GELU,
    GLU,
    HShrink,
    Hardtanh,
    LeakyReLU,
    LogSoftmax,
    PReLU,
    RReLU,
    SoftShrink,
    Softmax,
    Softmax2d,
    Softmin,
    Threshold,
)
from millrace._src.runtime.nn.adaptive_pooling import (
    AdaptiveAvgPool1d,
    AdaptiveAvgPool2d,
    AdaptiveAvgPool3d,
    AdaptiveMaxPool1d,
    AdaptiveMaxPool2d,
    AdaptiveMaxPool3d,
)
from millrace._src.runtime.nn.array_layers import (
    ClipByNorm,
    Flatten,
    L1Regularizer,
    MatrixDiag,
    MatrixDiagPart,
    MatrixSetDiag,
    Norm,
    OneHot,
    Pad,
    Roll,
    TimeDistributed,
    Tril,
    Triu,
    Unflatten,
    Unfold,
)
from millrace._src.runtime.nn.cell import (
    Cell,
)
from millrace._src.runtime.nn.containers import (
    CellDict,
    CellList,
    Identity,
    SequentialCell,
)
from millrace._src.runtime.nn.conv import (
    Conv1d,
    Conv2d,
    Conv3d,
)
from millrace._src.runtime.nn.conv_bn_act import (
    Conv2dBnAct,
    DenseBnAct,
)
from millrace._src.runtime.nn.conv_transpose import (
    Conv1dTranspose,
    Conv2dTranspose,
    Conv3dTranspose,
)
from millrace._src.runtime.nn.dataset_queue import (
    GetNextSingleOp,
)
from millrace._src.runtime.nn.deferred_init import (
    no_init_parameters,
)
from millrace._src.runtime.nn.dropout import (
    Dropout,
    Dropout1d,
    Dropout2d,
    Dropout3d,
)
from millrace._src.runtime.nn.embedding import (
    Embedding,
    EmbeddingLookup,
    MultiFieldEmbeddingLookup,
)
from millrace._src.runtime.nn.gradient_reducer import (
    DistributedGradReducer,
    PipelineGradReducer,
)
from millrace._src.runtime.nn.graph_cell import (
    GraphCell,
)
from millrace._src.runtime.nn.image import (
    CentralCrop,
    ChannelShuffle,
    ImageGradients,
    MSSSIM,
    PSNR,
    PixelShuffle,
    PixelUnshuffle,
    SSIM,
)
from millrace._src.runtime.nn.linear import (
    BiDense,
    Dense,
)
from millrace._src.runtime.nn.loss import (
    BCELoss,
    BCEWithLogitsLoss,
    CTCLoss,
    CrossEntropyLoss,
    DiceLoss,
    FocalLoss,
    GaussianNLLLoss,
    HuberLoss,
    KLDivLoss,
    L1Loss,
    LossBase,
    MAELoss,
    MSELoss,
    MultiClassDiceLoss,
    NLLLoss,
    PoissonNLLLoss,
    RMSELoss,
    SmoothL1Loss,
    SoftmaxCrossEntropyWithLogits,
)
from millrace._src.runtime.nn.loss_scale import (
    DynamicLossScaleUpdateCell,
    FixedLossScaleUpdateCell,
    TrainOneStepWithLossScaleCell,
)
from millrace._src.runtime.nn.margin_loss import (
    CosineEmbeddingLoss,
    HingeEmbeddingLoss,
    MarginRankingLoss,
    MultiLabelSoftMarginLoss,
    MultiMarginLoss,
    MultilabelMarginLoss,
    SoftMarginLoss,
    TripletMarginLoss,
    TripletMarginWithDistanceLoss,
)
from millrace._src.runtime.nn.math_layers import (
    DiGamma,
    IGamma,
    LBeta,
    LGamma,
    MatDet,
    MatInverse,
    MatMul,
    Moments,
    Range,
    ReduceLogSumExp,
)
from millrace._src.runtime.nn.mint.activation import (
    LogSoftmaxExt,
    PReLUExt,
)
from millrace._src.runtime.nn.mint.dropout import (
    DropoutExt,
)
from millrace._src.runtime.nn.mint.embedding import (
    EmbeddingExt,
)
from millrace._src.runtime.nn.mint.loss import (
    L1LossExt,
)
from millrace._src.runtime.nn.mint.normalization import (
    LayerNormExt,
)
from millrace._src.runtime.nn.mint.pooling import (
    AvgPool1dExt,
    AvgPool2dExt,
    AvgPool3dExt,
    MaxPool2dExt,
)
from millrace._src.runtime.nn.mint.same import (
    Linear,
)
from millrace._src.runtime.nn.network_wrappers import (
    ForwardValueAndGrad,
    GradAccumulationCell,
    Jvp,
    MicroBatchInterleaved,
    ParameterUpdate,
    PipelineCell,
    TrainOneStepCell,
    VirtualDatasetCellTriple,
    Vjp,
    WithEvalCell,
    WithGradCell,
    WithLossCell,
)
from millrace._src.runtime.nn.normalization import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    GroupNorm,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    LRN,
    LayerNorm,
    SyncBatchNorm,
)
from millrace._src.runtime.nn.padding import (
    ConstantPad1d,
    ConstantPad2d,
    ConstantPad3d,
    ReflectionPad1d,
    ReflectionPad2d,
    ReflectionPad3d,
    ReplicationPad1d,
    ReplicationPad2d,
    ReplicationPad3d,
    ZeroPad2d,
)
from millrace._src.runtime.nn.pooling import (
    AvgPool1d,
    AvgPool2d,
    AvgPool3d,
    FractionalMaxPool2d,
    FractionalMaxPool3d,
    LPPool1d,
    LPPool2d,
    MaxPool1d,
    MaxPool2d,
    MaxPool3d,
)
from millrace._src.runtime.nn.recurrent import (
    GRU,
    GRUCell,
    LSTM,
    LSTMCell,
    RNN,
    RNNCell,
)
from millrace._src.runtime.nn.sampled_softmax_loss import (
    SampledSoftmaxLoss,
)
from millrace._src.runtime.nn.sparse import (
    SparseTensorDenseMatmul,
    SparseToDense,
)
from millrace._src.runtime.nn.tensor_array import (
    TensorArray,
)
from millrace._src.runtime.nn.thor_layers import (
    Conv2dThor,
    DenseThor,
    EmbeddingLookupThor,
    EmbeddingThor,
)
from millrace._src.runtime.nn.transformer import (
    MultiheadAttention,
    Transformer,
    TransformerDecoder,
    TransformerDecoderLayer,
    TransformerEncoder,
    TransformerEncoderLayer,
)
from millrace._src.runtime.nn.unpooling import (
    MaxUnpool1d,
    MaxUnpool2d,
    MaxUnpool3d,
)
from millrace._src.runtime.nn.upsample import (
    Upsample,
)
from millrace._src.runtime.optim.adadelta import (
    Adadelta,
)
from millrace._src.runtime.optim.adafactor import (
    AdaFactor,
)
from millrace._src.runtime.optim.adagrad import (
    Adagrad,
)
from millrace._src.runtime.optim.adam import (
    Adam,
    AdamOffload,
    AdamWeightDecay,
    LazyAdam,
)
from millrace._src.runtime.optim.adamax import (
    AdaMax,
)
from millrace._src.runtime.optim.adasum import (
    AdaSumByDeltaWeightWrapCell,
    AdaSumByGradWrapCell,
)
from millrace._src.runtime.optim.asgd import (
    ASGD,
)
from millrace._src.runtime.optim.dynamic_lr import (
    cosine_decay_lr,
    exponential_decay_lr,
    inverse_decay_lr,
    natural_exp_decay_lr,
    piecewise_constant_lr,
    polynomial_decay_lr,
    warmup_lr,
)
from millrace._src.runtime.optim.ftrl import (
    FTRL,
)
from millrace._src.runtime.optim.lamb import (
    Lamb,
)
from millrace._src.runtime.optim.lars import (
    LARS,
)
from millrace._src.runtime.optim.learning_rate_schedule import (
    CosineDecayLR,
    ExponentialDecayLR,
    InverseDecayLR,
    NaturalExpDecayLR,
    PolynomialDecayLR,
    WarmUpLR,
)
from millrace._src.runtime.optim.momentum import (
    Momentum,
)
from millrace._src.runtime.optim.optimizer import (
    Optimizer,
)
from millrace._src.runtime.optim.proximal_adagrad import (
    ProximalAdagrad,
)
from millrace._src.runtime.optim.rmsprop import (
    RMSProp,
)
from millrace._src.runtime.optim.rprop import (
    Rprop,
)
from millrace._src.runtime.optim.sgd import (
    SGD,
)
from millrace._src.runtime.optim.thor import (
    thor,
)

__all__ = [
    "ASGD",
    "Accuracy",
    "AdaFactor",
    "AdaMax",
    "AdaSumByDeltaWeightWrapCell",
    "AdaSumByGradWrapCell",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamOffload",
    "AdamWeightDecay",
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool1dExt",
    "AvgPool2d",
    "AvgPool2dExt",
    "AvgPool3d",
    "AvgPool3dExt",
    "BCELoss",
    "BCEWithLogitsLoss",
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "BiDense",
    "BleuScore",
    "CELU",
    "CTCLoss",
    "Cell",
    "CellDict",
    "CellList",
    "CentralCrop",
    "ChannelShuffle",
    "ClipByNorm",
    "ConfusionMatrix",
    "ConfusionMatrixMetric",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "Conv1d",
    "Conv1dTranspose",
    "Conv2d",
    "Conv2dBnAct",
    "Conv2dThor",
    "Conv2dTranspose",
    "Conv3d",
    "Conv3dTranspose",
    "CosineDecayLR",
    "CosineEmbeddingLoss",
    "CosineSimilarity",
    "CrossEntropyLoss",
    "Dense",
    "DenseBnAct",
    "DenseThor",
    "DiGamma",
    "Dice",
    "DiceLoss",
    "DistributedGradReducer",
    "Dropout",
    "Dropout1d",
    "Dropout2d",
    "Dropout3d",
    "DropoutExt",
    "DynamicLossScaleUpdateCell",
    "ELU",
    "Embedding",
    "EmbeddingExt",
    "EmbeddingLookup",
    "EmbeddingLookupThor",
    "EmbeddingThor",
    "ExponentialDecayLR",
    "F1",
    "FTRL",
    "FastGelu",
    "Fbeta",
    "FixedLossScaleUpdateCell",
    "Flatten",
    "FocalLoss",
    "ForwardValueAndGrad",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "GELU",
    "GLU",
    "GRU",
    "GRUCell",
    "GaussianNLLLoss",
    "GetNextSingleOp",
    "GradAccumulationCell",
    "GraphCell",
    "GroupNorm",
    "HShrink",
    "HSigmoid",
    "HSwish",
    "Hardtanh",
    "HausdorffDistance",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "IGamma",
    "Identity",
    "ImageGradients",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "InverseDecayLR",
    "Jvp",
    "KLDivLoss",
    "L1Loss",
    "L1LossExt",
    "L1Regularizer",
    "LARS",
    "LBeta",
    "LGamma",
    "LPPool1d",
    "LPPool2d",
    "LRN",
    "LSTM",
    "LSTMCell",
    "Lamb",
    "LayerNorm",
    "LayerNormExt",
    "LazyAdam",
    "LeakyReLU",
    "Linear",
    "LogSigmoid",
    "LogSoftmax",
    "LogSoftmaxExt",
    "Loss",
    "LossBase",
    "MAE",
    "MAELoss",
    "MSE",
    "MSELoss",
    "MSSSIM",
    "MarginRankingLoss",
    "MatDet",
    "MatInverse",
    "MatMul",
    "MatrixDiag",
    "MatrixDiagPart",
    "MatrixSetDiag",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool2dExt",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
    "MeanSurfaceDistance",
    "Metric",
    "MicroBatchInterleaved",
    "Mish",
    "Moments",
    "Momentum",
    "MultiClassDiceLoss",
    "MultiFieldEmbeddingLookup",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "MultiheadAttention",
    "MultilabelMarginLoss",
    "NLLLoss",
    "NaturalExpDecayLR",
    "Norm",
    "OcclusionSensitivity",
    "OneHot",
    "OptTFTWrapper",
    "Optimizer",
    "PReLU",
    "PReLUExt",
    "PSNR",
    "Pad",
    "ParameterUpdate",
    "Perplexity",
    "PipelineCell",
    "PipelineGradReducer",
    "PixelShuffle",
    "PixelUnshuffle",
    "PoissonNLLLoss",
    "PolynomialDecayLR",
    "Precision",
    "ProximalAdagrad",
    "RMSELoss",
    "RMSProp",
    "RNN",
    "RNNCell",
    "ROC",
    "RReLU",
    "Range",
    "ReLU",
    "ReLU6",
    "Recall",
    "ReduceLogSumExp",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "Roll",
    "RootMeanSquareDistance",
    "Rprop",
    "SGD",
    "SSIM",
    "SampledSoftmaxLoss",
    "SeLU",
    "SequentialCell",
    "SiLU",
    "Sigmoid",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "SoftShrink",
    "Softmax",
    "Softmax2d",
    "SoftmaxCrossEntropyWithLogits",
    "Softmin",
    "Softsign",
    "SparseTensorDenseMatmul",
    "SparseToDense",
    "SyncBatchNorm",
    "Tanh",
    "Tanhshrink",
    "TensorArray",
    "Threshold",
    "TimeDistributed",
    "Top1CategoricalAccuracy",
    "Top5CategoricalAccuracy",
    "TopKCategoricalAccuracy",
    "TrainOneStepCell",
    "TrainOneStepWithLossScaleCell",
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "Tril",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
    "Triu",
    "Unflatten",
    "Unfold",
    "Upsample",
    "VirtualDatasetCellTriple",
    "Vjp",
    "WarmUpLR",
    "WithEvalCell",
    "WithGradCell",
    "WithLossCell",
    "ZeroPad2d",
    "auc",
    "cosine_decay_lr",
    "exponential_decay_lr",
    "get_activation",
    "get_metric_fn",
    "get_metrics",
    "inverse_decay_lr",
    "names",
    "natural_exp_decay_lr",
    "no_init_parameters",
    "piecewise_constant_lr",
    "polynomial_decay_lr",
    "probability",
    "rearrange_inputs",
    "thor",
    "warmup_lr",
]

# These stand above this room.
__getattr__ = lazy(
    __name__,
    {
        "Accuracy": "millrace._src.train.metrics.registry",
        "BleuScore": "millrace._src.train.metrics.registry",
        "ConfusionMatrix": "millrace._src.train.metrics.registry",
        "ConfusionMatrixMetric": "millrace._src.train.metrics.registry",
        "CosineSimilarity": "millrace._src.train.metrics.registry",
        "Dice": "millrace._src.train.metrics.registry",
        "F1": "millrace._src.train.metrics.registry",
        "Fbeta": "millrace._src.train.metrics.registry",
        "HausdorffDistance": "millrace._src.train.metrics.registry",
        "Loss": "millrace._src.train.metrics.registry",
        "MAE": "millrace._src.train.metrics.registry",
        "MSE": "millrace._src.train.metrics.registry",
        "MeanSurfaceDistance": "millrace._src.train.metrics.registry",
        "Metric": "millrace._src.train.metrics.registry",
        "OcclusionSensitivity": "millrace._src.train.metrics.registry",
        "Perplexity": "millrace._src.train.metrics.registry",
        "Precision": "millrace._src.train.metrics.registry",
        "ROC": "millrace._src.train.metrics.registry",
        "Recall": "millrace._src.train.metrics.registry",
        "RootMeanSquareDistance": "millrace._src.train.metrics.registry",
        "Top1CategoricalAccuracy": "millrace._src.train.metrics.registry",
        "Top5CategoricalAccuracy": "millrace._src.train.metrics.registry",
        "TopKCategoricalAccuracy": "millrace._src.train.metrics.registry",
        "auc": "millrace._src.train.metrics.registry",
        "get_metric_fn": "millrace._src.train.metrics.registry",
        "get_metrics": "millrace._src.train.metrics.registry",
        "names": "millrace._src.train.metrics.registry",
        "probability": "millrace.nn.probability",
        "rearrange_inputs": "millrace._src.train.metrics.registry",
    },
)
