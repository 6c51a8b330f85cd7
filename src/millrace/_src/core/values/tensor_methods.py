"""Names of the methods and properties of MindSpore's Tensor that the runtime defines."""

from __future__ import annotations

__all__ = ["METHODS"]

_NAMES = """
H abs absolute acos acosh add add_ addbmm addcdiv addcmul addmm addmm_ addmv addr adjoint all allclose amax amin
aminmax angle any approximate_equal arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax
argmax_with_value argmin argmin_with_value argsort argwhere asin asinh asnumpy_of_slice_persistent_data
assign_value assign_value_cpp atan atan2 atanh baddbmm bernoulli bernoulli_ bfloat16 bincount bitwise_and
bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor bmm bool broadcast_to byte cauchy ceil
cholesky cholesky_inverse cholesky_solve choose chunk clamp clamp_ clip clone col2im conj const_arg contiguous
convert_bytes_to_tensor copy_ copysign cos cosh count_nonzero cov cross cummax cummin cumprod cumsum data_ptr
data_sync deg2rad delta_seed det device diag diagflat diagonal diagonal_scatter diff digamma dim div div_ divide
dot double dsplit eigvals eq equal erf erfc erfinv erfinv_ exp exp_ expand expand_as expand_dims expm1
exponential_ fill fill_ fill_diagonal fill_diagonal_ fills flatten flip fliplr flipud float float_power floor
floor_ floor_divide floor_divide_ flush_from_cache fmax fmin fmod fold frac gather gather_elements gather_nd gcd
ge geqrf ger get_bytes getitem_index_info greater greater_equal gt half hardshrink has_init heaviside histc
hooks hsplit hypot i0 igamma igammac imag index_add index_add_ index_fill index_of_parent_ index_put index_put_
index_select init init_data init_finished init_flag inner inplace_update int inv inverse invert is_complex
is_contiguous is_floating_point is_init is_persistent_data is_signed isclose isfinite isinf isnan isneginf
isposinf isreal itemset kthvalue lcm ldexp le lerp less less_equal lgamma log log10 log1p log2 log_
log_matrix_determinant log_normal logaddexp logaddexp2 logcumsumexp logdet logical_and logical_not logical_or
logical_xor logit logsumexp long lstsq lt lu_solve mH mT masked_fill masked_fill_ masked_scatter masked_select
matmul matrix_determinant matrix_power max maximum mean median min minimum mm move_to moveaxis movedim msort mul
mul_ multinomial multiply mvlgamma nan_to_num nanmean nanmedian nanquantile nansum narrow ndimension ne neg
negative nelement new_empty new_full new_ones new_zeros nextafter nonzero norm normal_ not_equal numel offload
offload_file_path orgqr ormqr outer param_info parent_tensor_ permute persistent_data_from_numpy positive pow
prod ptp put_ qr quantile rad2deg random_ random_categorical ravel real reciprocal register_hook remainder
remainder_ remove_hook renorm repeat repeat_interleave reshape_as resize reverse reverse_sequence roll rot90
round rsqrt scatter scatter_ scatter_add scatter_add_ scatter_div scatter_max scatter_min scatter_mul
scatter_sub searchsorted select select_scatter set_cast_dtype set_const_arg set_device_address set_dtype
set_init_flag set_param_info setitem_index_info sgn short sigmoid sign signbit sin sinc sinh
slice_num_of_persistent_data slice_num_of_persistent_data_ slice_scatter slice_shape_of_persistent_data
slice_shape_of_persistent_data_ slogdet soft_shrink softmax sort split sqrt square squeeze std storage
storage_offset stride sub sub_ subtract sum sum_to_size svd swapaxes swapdims symbolic_shape t take tan tanh
tanh_ tensor_split tile to to_coo to_csr top_k topk trace transpose triangular_solve tril triu true_divide trunc
type type_as unbind unfold uniform uniform_ unique unique_consecutive unique_with_pad unsorted_segment_max
unsorted_segment_min unsorted_segment_prod unsqueeze untyped_storage value var view view_as virtual_flag vsplit
wait_pipeline where xdivy xlogy zero_
"""

METHODS = frozenset(_NAMES.split())
