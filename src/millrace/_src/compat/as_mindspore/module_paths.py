"""Module paths of the training API of MindSpore 2.7.0.

tests/parity/compat/test_mindspore_paths.py compares them with what was recorded from the wheel.
"""

from __future__ import annotations

__all__ = ["PATHS"]

# Packages and their modules.
_LISTED = """
mindspore: _checkparam amp boost common communication context default_config device_context device_manager
    experimental hal log mint nn numpy ops parallel profiler runtime scipy train utils version
mindspore.boost: adasum base boost boost_cell_wrapper dim_reduce grad_accumulation grad_freeze
    group_loss_scale_manager less_batch_normalization
mindspore.common: api dtype dump file_system generator hook_handle initializer jit_begin_end jit_config
    jit_context lazy_inline mindir_util mutable no_inline np_dtype parameter recompute seed sparse_tensor
    symbol tensor
mindspore.communication: comm_func management
mindspore.device_context: ascend cpu gpu
mindspore.device_context.ascend: device op_debug op_precision op_tuning
mindspore.device_context.cpu: device op_tuning
mindspore.device_context.gpu: device op_precision op_tuning
mindspore.experimental: optim
mindspore.experimental.optim: adadelta adagrad adam adamax adamw asgd lr_scheduler nadam optimizer radam
    rmsprop rprop sgd
mindspore.hal: contiguous_tensors_handle device event memory stream
mindspore.mint: distributed linalg nn optim special
mindspore.mint.distributed: distributed
mindspore.mint.nn: functional layer
mindspore.mint.nn.layer: activation basic conv normalization padding pooling
mindspore.mint.optim: adam adamw sgd
mindspore.nn: cell dynamic_lr grad layer learning_rate_schedule loss metrics optim probability reinforcement
    sparse utils wrap
mindspore.nn.grad: cell_grad
mindspore.nn.layer: activation basic channel_shuffle combined container conv dense embedding image math
    normalization padding pooling rnn_cells rnns thor_layer timedistributed transformer
mindspore.nn.loss: loss
mindspore.nn.optim: ada_grad adadelta adafactor adam adamax adasum asgd ftrl lamb lars lazyadam momentum
    optimizer proximal_ada_grad rmsprop rprop sgd tft_wrapper thor
mindspore.nn.probability: bijector bnn_layers distribution
mindspore.nn.probability.bijector: bijector exp gumbel_cdf invert power_transform scalar_affine softplus
mindspore.nn.probability.bnn_layers: bnn_cell_wrapper conv_variational dense_variational layer_distribution
mindspore.nn.probability.distribution: bernoulli beta categorical cauchy distribution exponential gamma
    geometric gumbel half_normal laplace log_normal logistic normal poisson student_t
    transformed_distribution uniform
mindspore.nn.reinforcement: tensor_array
mindspore.nn.sparse: sparse
mindspore.nn.utils: init
mindspore.nn.wrap: cell_wrapper grad_reducer loss_scale
mindspore.numpy: array_creations array_ops dtypes fft logic_ops math_ops
mindspore.ops: auto_generate composite deprecated function functional functional_overload operations
    primitive signature
mindspore.ops.auto_generate: gen_ops_def gen_ops_prim
mindspore.ops.composite: base env_ops math_ops multitype_ops
mindspore.ops.function: array_func clip_func debug_func fft_func grad image_func linalg_func math_func
    nn_func other_func parameter_func random_func reshard_func sparse_func sparse_unary_func spectral_func
    vmap_func
mindspore.ops.function.grad: grad_func
mindspore.ops.operations: array_ops comm_ops control_ops custom_ops debug_ops image_ops inner_ops linalg_ops
    math_ops nn_ops other_ops random_ops reshard_ops rl_ops sparse_ops spectral_ops
mindspore.parallel: algo_parameter_config auto_parallel checkpoint_convert checkpoint_transform function mpi
    nn parameter_broadcast shard transform_safetensors
mindspore.parallel.function: reshard_func
mindspore.parallel.nn: parallel_cell_wrapper parallel_grad_reducer
mindspore.runtime: device event executor memory stream thread_bind_core
mindspore.scipy: fft linalg optimize
mindspore.scipy.optimize: gradient_optimization_algorithm line_search linear_sum_assignment minimize
mindspore.train: amp callback data_sink dataset_helper loss_scale_manager metrics model serialization
    summary train_thor
mindspore.train.metrics: accuracy auc bleu_score confusion_matrix cosine_similarity dice error fbeta
    hausdorff_distance loss mean_surface_distance metric occlusion_sensitivity perplexity precision recall
    roc root_mean_square_surface_distance topk
mindspore.train.summary: enums summary_record writer
mindspore.train.train_thor: convert_utils dataset_helper model_thor
mindspore.utils: dryrun runtime_execution_order_check sdc_detect utils
"""


def _list_paths() -> list[str]:
    paths = []
    package = ""
    for entry in _LISTED.split():
        if entry.endswith(":"):
            package = entry[:-1]
        else:
            paths.append(f"{package}.{entry}")
    return paths


PATHS = _list_paths()
