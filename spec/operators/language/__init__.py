"""What operators are declared in: tensors and shapes, expressions, folds, and their programs."""
