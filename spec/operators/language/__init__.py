"""The language of operator declarations: tensors and shapes, expressions, folds, and programs."""
