"""``mindspore._checkparam``: what MindSpore 2.7.0 answered, word for word."""
# ruff: noqa: E501 (its sentences are as long as they are)

import pytest

from millrace import float32, int32, int64
from millrace._src.compat import check_param as v


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        (lambda: v.check_positive_int(3), 3),
        (lambda: v.check_is_float(1.5, "n", "Op"), 1.5),
        (lambda: v.check_float(3.0, 4.0, v.LE, "n", "Op"), 3.0),
        (lambda: v.check_float_range(1.0, 0, 3, v.INC_RIGHT, "n", "Op"), 1.0),
        (lambda: v.check_bool(True, "n", "Op"), True),
        (lambda: v.check_string("b", ["b", "c"], "n", "Op"), "b"),
        (lambda: v.check_value_type("n", 3, int), 3),
        (lambda: v.check_type_name("n", float32, [float32], "Op"), float32),
        (lambda: v.check("n", 3, "m", 3), 3),
        (lambda: v.check_positive_int_sequence([1, 2], "n", "Op"), [1, 2]),
        (lambda: (v.once(3), v.twice(3), v.twice((1, 2)), v.triple(3)), ((3,), (3, 3), (1, 2), (3, 3, 3))),
        (lambda: v.check_str_by_regular("ab"), True),
        (lambda: v.check_axis_in_range(-1, 2), 1),
        (lambda: v.check_axis_valid(None, 2), (0, 1)),
        (lambda: v.check_subclass("n", float32, (float32, int32), "Op"), None),
        (lambda: v.Validator.check_int_range(1, 0, 3, v.Rel.INC_BOTH, "n", "Op"), 1),
    ],
)
def test_what_passes(call, answer):
    assert call() == answer


FOR = "For 'Op', the 'n' must be "


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: v.check_positive_int(0), ValueError, "The input value must be int and must > 0, but got '0' with type 'int'."),
        (lambda: v.check_positive_int(0, "n"), ValueError, "The 'n' must be int and must > 0, but got '0' with type 'int'."),
        (lambda: v.check_positive_int(True, "n", "Op"), TypeError, FOR + "int and must > 0, but got 'True' with type 'bool'."),
        (lambda: v.check_positive_int(1.0, "n", "Op"), TypeError, FOR + "int, but got 'float'"),
        (lambda: v.check_non_negative_int(-1, "n", "Op"), ValueError, FOR + "int and must >= 0, but got '-1' with type 'int'."),
        (lambda: v.check_positive_float(0.0, "n", "Op"), ValueError, FOR + "float and must > 0, but got '0.0' with type 'float'."),
        (lambda: v.check_is_int(1.0, "n", "Op"), TypeError, "For 'Op', the type of 'n' must be 'int', but got 'float'."),
        (lambda: v.check_equal_int(3, 4, "n", "Op"), ValueError, FOR + "int and must = 4, but got '3' with type 'int'."),
        (lambda: v.check_number("n", 3, 4, v.GT, "Op"), ValueError, "For 'Op', the argument 'n' must > 4, but got 3."),
        (lambda: v.check_int_range(5, 0, 3, v.INC_LEFT, "n", "Op"), ValueError, FOR + "in range of [0, 3), but got 5 with type 'int'."),
        (lambda: v.check_int_range(5.0, 0, 3, v.INC_LEFT, "n", "Op"), TypeError, FOR + "'int',  but got 'float'."),
        (lambda: v.check_bool(1, "n", "Op"), TypeError, FOR + "a bool, but got int."),
        (lambda: v.check_string(3, ["b"], "n", "Op"), ValueError, FOR + "str and must be in '['b']', but got '3'."),
        (lambda: v.check_value_type("n", 3, [str], "Op"), TypeError, "For 'Op', the type of 'n' should be 'str', but got type 'int'."),
        (lambda: v.check_value_type("n", True, [int, float], "Op"), TypeError, "For 'Op', the type of 'n' should be one of '['int', 'float']', but got type 'bool'."),
        (lambda: v.check_isinstance("n", 3, str), ValueError, "The parameter 'n' must be isinstance of <class 'str'>, but got 3."),
        (lambda: v.check("n", 3, "m", 4, v.GT, "Op"), ValueError, "For 'Op', the 'n' should be > m: 4, but got 3."),
        (lambda: v.check_positive_int_sequence([1, 0], "n", "Op"), ValueError, "For 'Op', the 'n[1]' must be int and must > 0, but got '0' with type 'int'."),
        (lambda: v.twice((1, 2, 3)), TypeError, "When expanding an int number to tuple, input tuple dimension must be 2, but got (1, 2, 3)"),
        (lambda: v.check_element_type_of_dict("n", {1: "a"}, [int], [int], "Op"), TypeError, "For 'Op', the type of 'n' should be int, but got 'a' with type 'str'."),
        (lambda: v.check_size_and_element_type_of_tuple("n", (1, 2), 3, int, "Op"), ValueError, "For 'Op', the 'n size' must be int and must = 3, but got '2' with type 'int'."),
        (lambda: v.check_axis_in_range(3, 2), ValueError, "The 'axis' must be in the range of [-2, 2), but got 3."),
        (lambda: v.check_axis_valid((0, 0), 2), ValueError, "The element of parameter 'axis' can not be duplicate, but got (0, 0)."),
        (lambda: v.check_type_name("n", float32, [int32, int64], "Op"), TypeError, "For 'Op', the 'n' should be one of [millrace.int32, millrace.int64], but got 'millrace.float32'."),
        (lambda: v.args_type_check(x=int)(lambda x: x)("a"), TypeError, "The parameter 'x' must be <class 'int'>, but got a"),
    ],
)  # fmt: skip
def test_what_is_refused(call, error, text):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == text
