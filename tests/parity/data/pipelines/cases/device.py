"""The queue to a device: which arguments it takes."""

from tests.parity.case import each, table

FLAGS = "1; 'x'; None; [True]"

CASES = [
    *each("device_que.send_epoch_end", "num().device_que({})", FLAGS),
    *each("device_que.create_data_info_queue", "num().device_que(True, {})", FLAGS),
    *each("device_que.queue_name", "num().device_que(True, False, {})", "1; None"),
    *table("device_que", "name | num().device_que(queue_name='z').queue_name"),
    *each("device_que.send", "num().device_que().send({})", "1.5; True; 2**31"),
]
