import numpy as np

from millrace._src.runtime.ops.nn import inference_attention as s
from tests.contracts.ops.samples import Call, Fails, samples
from tests.contracts.ops.samples.gather import i32


@samples(s.prompt_flash_attention)
def _(make):
    q = make(2, 3, 8)
    yield Call(q, make(2, 5, 8), make(2, 5, 8), num_heads=2, scale_value=0.5)
    yield Call(q, make(2, 3, 8), make(2, 3, 8), make(3, 3, dtype="bool"), num_heads=2)
    yield Call(
        q,
        make(2, 3, 4),
        make(2, 3, 4),
        None,
        [3, 3],
        [2, 3],
        num_heads=2,
        num_key_value_heads=1,
        sparse_mode=2,
    )
    yield Fails(q, make(2, 3, 8), make(2, 3, 8), input_layout="HSB")
    yield Fails(q, make(2, 3, 8), make(2, 3, 8), sparse_mode=9)


@samples(s.incre_flash_attention)
def _(make):
    yield Call(make(2, 1, 8), make(2, 5, 8), make(2, 5, 8), num_heads=2)
    yield Call(make(2, 1, 8), [make(2, 5, 8)], [make(2, 5, 8)], actual_seq_lengths=[3, 5], num_heads=4)
    yield Fails(make(2, 1, 8), make(2, 5, 8), make(2, 5, 8), input_layout="HSB")


@samples(s.fused_infer_attention_score)
def _(make):
    yield Call(make(2, 2, 3, 4), make(2, 2, 5, 4), make(2, 2, 5, 4), num_heads=2, input_layout="BNSD")
    yield Call(make(2, 3, 8), make(2, 5, 8), make(2, 5, 8), num_heads=2, softmax_lse_flag=True)
    yield Fails(make(2, 3, 8), make(2, 5, 8), make(2, 5, 8), input_layout="HSB")


@samples(s.speed_fusion_attention)
def _(make):
    yield Call(make(2, 3, 8), make(2, 5, 8), make(2, 5, 8), 2, "BSH", scale=0.5)
    yield Fails(make(2, 3, 8), make(2, 5, 8), make(2, 5, 8), 2, "BSH", keep_prob=2.0)


@samples(s.paged_attention)
def _(make):
    pages, lengths = np.array([[2, 0], [1, 3]], "int32"), i32(4, 6)
    options = {"head_num": 2, "scale_value": 0.5}
    yield Call(make(2, 1, 8), make(4, 3, 2, 4), make(4, 3, 2, 4), pages, lengths, kv_head_num=2, **options)
    short = [make(*shape, dtype="float16") for shape in ((2, 1, 8), (4, 3, 2, 4), (4, 3, 2, 4))]
    yield Fails(*short, pages, lengths, kv_head_num=3, **options)


@samples(s.reshape_and_cache)
def _(make):
    yield Call(make(2, 1, 8), make(2, 1, 8), make(4, 3, 2, 4), make(4, 3, 2, 4), i32(5, -1))
    yield Fails(make(2, 1, 8), make(2, 1, 8), make(4, 3, 2, 4), make(4, 3, 2, 4), i32(5, 1, 2))


@samples(s.ring_attention_update)
def _(make):
    top, total = make(2, 2, 3, 8), make(2, 2, 3, 8, low=1)
    yield Call(make(3, 2, 8), top, total, make(3, 2, 8), make(2, 2, 3, 8), make(2, 2, 3, 8, low=1))
    yield Fails(make(3, 2, 8), top, total, make(3, 2, 8), top, total, layout="BSH")
