"""Encoding of MindRecord rows: MessagePack, blob fields and packed integers."""
