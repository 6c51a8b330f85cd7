"""TFRecord files and ``tf.train.Example`` messages."""
