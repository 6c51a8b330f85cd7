"""Recorded, and different here: what MindSpore refuses of a queue to a device, and a queue here answers.

A test asserts that each of them still comes out differently, so this list can only shrink.
"""

from tests.parity.case import each, table

CASES = [
    *table(
        "device_que",
        """
        dict | num().device_que().create_dict_iterator()
        tuple | num().device_que().create_tuple_iterator()
        iter | iter(num().device_que())
        shapes | num().device_que().output_shapes()
        types | num().device_que().output_types()
        info | num().device_que().get_data_info()
        queue size | num().device_que().get_mbuf_queue_size()
        send info | num().device_que().get_send_info()
    """,
    ),
    *each("device_que.send", "num().device_que().send({})", "-2; '1'"),
]
