"""Recorded, but not run yet: cases about what Millrace does not have, waiting for the work that brings it.

A test asserts that each of them still comes out differently, so this list can only shrink: whoever brings the
device queue must move its cases to where they belong.
"""

from tests.parity.case import each, table

FLAGS = "1; 'x'; None; [True]"

CASES = [
    *each("device_que.send_epoch_end", "num().device_que({})", FLAGS),
    *each("device_que.create_data_info_queue", "num().device_que(True, {})", FLAGS),
    *each("device_que.queue_name", "num().device_que(True, False, {})", "1; None"),
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
        name | num().device_que(queue_name='z').queue_name
    """,
    ),
    *each("device_que.send", "num().device_que().send({})", "-2; '1'; 1.5; True; 2**31"),
]
