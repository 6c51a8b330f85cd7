"""Operations on the shape, layout and indexing of tensors."""
