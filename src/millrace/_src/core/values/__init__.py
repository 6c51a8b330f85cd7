"""Dtypes, storage and conversion of ``Tensor``, schemas, chunks, columns, batch buffers."""
